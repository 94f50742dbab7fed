package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/panjf2000/gnet/v2"
	"golang.org/x/sys/unix"
)

// events is what gnet calls. The context of a connection is its *Conn, or the *loop
// if it is a doorbell.
type events struct {
	gnet.BuiltinEventEngine
	s *Server
}

func (e *events) OnOpen(g gnet.Conn) ([]byte, gnet.Action) {
	switch c := g.Context().(type) {
	case *loop:
		c.ev, c.bellConn = g.EventLoop(), g
	case *Conn:
		l := e.s.loopOf(g.EventLoop())
		if l == nil {
			return nil, gnet.Close
		}
		c.g, c.fd, c.loop, c.out = g, g.Fd(), l, l
		l.now = time.Now()
		c.active = l.now
		l.add(c)
		c.opened.Store(true)
		if l.draining {
			return nil, gnet.Close
		}
	}
	return nil, gnet.None
}

// OnTraffic runs when gnet has read from a connection.
func (e *events) OnTraffic(g gnet.Conn) gnet.Action {
	switch c := g.Context().(type) {
	case *loop:
		if _, err := g.Discard(-1); err != nil {
			return gnet.Close
		}
		c.pass()
		c.linger()
	case *witness:
		if _, err := g.Discard(-1); err != nil {
			return gnet.Close
		}
		c.read <- struct{}{}
	case *Conn:
		action := c.loop.traffic(c)
		if action == gnet.None {
			c.loop.linger()
		}
		return action
	}
	return gnet.None
}

// OnClose runs on the loop while the descriptor is still open.
func (e *events) OnClose(g gnet.Conn, err error) gnet.Action {
	if c, ok := g.Context().(*Conn); ok && c.loop != nil {
		c.loop.closed(c)
	}
	return gnet.None
}

// socketPair returns both ends of a doorbell. Ours is not known to the runtime's poller:
// with each byte that is read at the other end that would hear that it can be written
// again, and wake a thread for it.
func socketPair() (ours *os.File, theirs net.Conn, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	ours = os.NewFile(uintptr(fds[0]), "doorbell")
	if theirs, err = fdConn(fds[1]); err != nil {
		_ = ours.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// gnetLog passes on what gnet has to say. Its warnings are about events of connections
// that were closed in the same turn, which is how they are closed here.
type gnetLog struct{ log *slog.Logger }

func (g gnetLog) Debugf(f string, a ...any) {}
func (g gnetLog) Infof(f string, a ...any)  { g.log.Debug("gnet: " + fmt.Sprintf(f, a...)) }
func (g gnetLog) Warnf(f string, a ...any)  { g.log.Debug("gnet: " + fmt.Sprintf(f, a...)) }
func (g gnetLog) Errorf(f string, a ...any) { g.log.Error("gnet: " + fmt.Sprintf(f, a...)) }
func (g gnetLog) Fatalf(f string, a ...any) { g.log.Error("gnet: " + fmt.Sprintf(f, a...)) }

// fdConn makes a net.Conn of a socket and takes it over.
func fdConn(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "doorbell")
	if f == nil {
		return nil, errors.New("doorbell: bad descriptor")
	}
	defer f.Close() // net.FileConn duplicates it
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("doorbell: %w", err)
	}
	return c, nil
}
