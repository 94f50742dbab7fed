package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"
	"unsafe"

	"github.com/panjf2000/gnet/v2"
	"golang.org/x/sys/unix"
)

// gnet reads whatever arrives and has no way to stop. So the read interest of a
// connection is taken away under it, in the loop's own epoll, whose descriptor is
// found by reflection (reading unexported integers is allowed). That is safe only
// because nothing here calls gnet's Write, which would put the interest back, and it
// leans on gnet's insides: the version is pinned, and each loop proves at start that
// it works (checkPause), on its doorbell.

const (
	eventsNone = 0
	eventsRead = unix.EPOLLIN | unix.EPOLLPRI // as gnet registers connections
)

// epollOf finds the epoll descriptor of the loop that owns g.
func epollOf(g gnet.Conn) (int, error) {
	v := reflect.ValueOf(g)
	for _, name := range []string{"loop", "poller"} {
		if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
			return 0, fmt.Errorf("gnet connection: no struct that has %s", name)
		}
		v = v.Elem().FieldByName(name)
	}
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return 0, errors.New("gnet connection: no poller")
	}
	v = v.Elem().FieldByName("fd")
	if v.Kind() != reflect.Int {
		return 0, errors.New("gnet poller: no descriptor")
	}
	return int(v.Int()), nil
}

func (l *loop) interest(fd int, events uint32) error {
	err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_MOD, fd, &unix.EpollEvent{Fd: int32(fd), Events: events})
	if err != nil {
		return fmt.Errorf("epoll_ctl mod on the loop's epoll: %w", err)
	}
	return nil
}

// pause takes away the read interest of c. It happens between two frames, but for the
// last pause of all, when the server shuts down.
func (l *loop) pause(c *Conn) error {
	if c.paused {
		return nil
	}
	if err := l.interest(c.fd, eventsNone); err != nil {
		return err
	}
	c.paused = true
	l.n.paused.Add(1)
	return nil
}

// resume takes up what was held back of c's input and, unless that was enough to pause
// it again, gives the read interest back. Within a turn.
func (l *loop) resume(c *Conn) error {
	c.paused = false
	l.n.paused.Add(-1)
	if err := l.interest(c.fd, eventsRead); err != nil {
		return err
	}
	return l.takeRest(c)
}

// holdMore adds data to what is held back.
func (in *input) holdMore(data []byte) {
	all := getBuffer(in.restN + len(data))
	n := copy(all.b, in.rest.b[:in.restN])
	n += copy(all.b[n:], data)
	in.rest.free()
	in.rest, in.restN = all, n
}

// checkTimeout is how long a loop has for each step of checkPause. It is long because
// a busy machine must not be taken for a gnet that works another way.
const checkTimeout = 30 * time.Second

var errLoopStuck = errors.New("the event loop does not turn")

// checkPause proves that read interest can be taken away and given back on l. With the
// interest in the doorbell gone, its byte must lie there while the loop goes on reading
// another connection, the witness; with it back, it must arrive.
func (l *loop) checkPause() error {
	var err error
	if l.epoll, err = epollOf(l.bellConn); err != nil {
		return err
	}
	w, err := l.enrollWitness()
	if err != nil {
		return err
	}
	defer w.ours.Close()
	fd := l.bellConn.Fd()
	if err := l.interest(fd, eventsNone); err != nil {
		return err
	}
	rang := make(chan struct{})
	l.post(taskFunc(func() { close(rang) }))
	for range 2 { // the byte may come after the witness in one turn, not in two
		if err := w.turn(); err != nil {
			return err
		}
	}
	select {
	case <-rang:
		return errors.New("a connection without read interest was read")
	default:
	}
	if err := l.interest(fd, eventsRead); err != nil {
		return err
	}
	select {
	case <-rang:
		return nil
	case <-time.After(checkTimeout):
		return errors.New("a connection was not read when its read interest was given back")
	}
}

// socketsReady reports whether a socket of the loop has an event, which stays there for
// gnet.
func (l *loop) socketsReady() bool {
	l.poll[0] = unix.PollFd{Fd: int32(l.epoll), Events: unix.POLLIN}
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&l.poll[0])), 1, uintptr(unsafe.Pointer(&l.noTime)), 0, 0, 0)
	return errno != 0 || n > 0
}

// witness is a connection that shows that its loop has gone through epoll_wait. A task
// in gnet's queue would not: many may run between two waits.
type witness struct {
	ours *os.File
	read chan struct{}
}

// enrollWitness puts a witness on l.
func (l *loop) enrollWitness() (*witness, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	w := &witness{ours: ours, read: make(chan struct{}, 1)}
	result, err := l.ev.Enroll(gnet.NewContext(context.Background(), w), theirs)
	if err == nil {
		err = (<-result).Err
	}
	if err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("enroll a connection on the event loop: %w", err)
	}
	return w, nil
}

// turn has the loop read a byte.
func (w *witness) turn() error {
	if _, err := w.ours.Write([]byte{1}); err != nil {
		return fmt.Errorf("write to the event loop: %w", err)
	}
	select {
	case <-w.read:
		return nil
	case <-time.After(checkTimeout):
		return errLoopStuck
	}
}
