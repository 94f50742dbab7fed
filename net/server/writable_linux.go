package server

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// writable is the auxiliary epoll of the process. gnet has no callback for a socket
// that can be written again, so a connection whose socket is full is armed here,
// one-shot, on the same descriptor. The event carries the id of the connection, which
// is never used twice, and not the descriptor, which is.
type writable struct {
	epoll int
	stop  int // eventfd that ends the goroutine
	mu    sync.Mutex
	conns map[uint64]*Conn // guarded by mu
	done  chan struct{}
}

func startWritable() (*writable, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create: %w", err)
	}
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(epoll)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	// Ids begin at 1: 0 is the eventfd.
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, stop, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
		_, _ = unix.Close(epoll), unix.Close(stop)
		return nil, fmt.Errorf("epoll_ctl add eventfd: %w", err)
	}
	w := &writable{epoll: epoll, stop: stop, conns: map[uint64]*Conn{}, done: make(chan struct{})}
	go w.run()
	return w, nil
}

// run wakes the loops of connections that have become writable. It sits in epoll_wait
// on a thread of its own: through the runtime's poller the wake-up would come late
// when all processors are busy.
func (w *writable) run() {
	defer close(w.done)
	events := make([]unix.EpollEvent, 256)
	for {
		n, err := unix.EpollWait(w.epoll, events, -1)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			panic(fmt.Sprintf("server: epoll_wait on descriptor %d: %v", w.epoll, err))
		}
		for i := range events[:n] {
			id := eventID(&events[i])
			if id == 0 {
				return
			}
			w.mu.Lock()
			c := w.conns[id]
			w.mu.Unlock()
			if c != nil {
				c.loop.wake(c, wakeWritable)
			}
		}
	}
}

func eventID(e *unix.EpollEvent) uint64 { return uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32 }

// arm has c woken when its socket has room. Loop only.
func (w *writable) arm(c *Conn) error {
	ev := unix.EpollEvent{Events: unix.EPOLLOUT | unix.EPOLLONESHOT, Fd: int32(uint32(c.id)), Pad: int32(uint32(c.id >> 32))}
	op := unix.EPOLL_CTL_MOD
	if !c.inEpoll {
		op = unix.EPOLL_CTL_ADD
		w.mu.Lock()
		w.conns[c.id] = c
		w.mu.Unlock()
		c.inEpoll = true
	}
	c.armed = true
	c.stall.wait(c.loop.now)
	if err := unix.EpollCtl(w.epoll, op, c.fd, &ev); err != nil {
		return fmt.Errorf("epoll_ctl on the writable set: %w", err)
	}
	return nil
}

// forget removes a connection whose descriptor is about to be closed. Loop only.
func (w *writable) forget(c *Conn) {
	if !c.inEpoll {
		return
	}
	c.inEpoll = false
	_ = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_DEL, c.fd, nil) // it is in no other state than gone
	w.mu.Lock()
	delete(w.conns, c.id)
	w.mu.Unlock()
}

// close ends the goroutine.
func (w *writable) close() {
	_, _ = unix.Write(w.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	<-w.done
	_, _ = unix.Close(w.epoll), unix.Close(w.stop)
}
