package server

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// gnet asks its epoll without waiting after each turn, and if there is nothing, yields to the Go scheduler before it waits.
// On a machine that is not busy, yielding wakes another thread, which takes the loop over: several switches for each
// request, which are longer than the request. So a loop waits for its sockets itself, at the end of what gnet calls it for,
// and gnet then finds something to do. Measured at 1,000 records/s end to end: see ARCHITECTURE.md.
//
// gnet may have more for it to do in the same turn. Sockets and doorbells tell, because their events stay until they are
// read. Tasks in gnet's own queue do not: they come only from enrolling and stopping, and while either is under way nobody
// lingers (Server.tasks).

const (
	// lingerTime bounds the wait. A loop that nobody wants for so long waits in gnet.
	lingerTime = 10 * time.Millisecond
	// lingerSkip is how many turns a loop does not linger after it has found something at once: it is busy.
	lingerSkip = 16
	// lingerBusy is how soon is at once.
	lingerBusy = 3 * time.Microsecond
	// yieldAfter is how often a loop yields all the same. The scheduler's monitor takes the processor from a goroutine that
	// has not for 10 ms, when it next makes a system call, and each time looks every 20 us for a while: 14 to 20 % of the
	// broker's CPU at full load.
	yieldAfter = 5 * time.Millisecond
)

// linger waits until a socket of the loop has an event. At the end of a turn, on the loop.
func (l *loop) linger() {
	if l.now.Sub(l.yielded) > yieldAfter {
		l.yielded = l.now
		runtime.Gosched()
	}
	if l.skip > 0 {
		l.skip--
		return
	}
	if l.s.tasks.Load() > 0 {
		return
	}
	begun := time.Now()
	l.poll[0] = unix.PollFd{Fd: int32(l.epoll), Events: unix.POLLIN}
	l.lingerFor = unix.NsecToTimespec(int64(lingerTime))
	// Whatever comes of it, gnet looks for itself.
	_, _ = unix.Ppoll(l.poll[:], &l.lingerFor, nil)
	if time.Since(begun) < lingerBusy {
		l.skip = lingerSkip
	}
}
