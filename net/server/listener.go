package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Listener is one address that the server listens on.
type Listener struct {
	Name           string
	Addr           netip.AddrPort // bound
	AdvertisedHost string
	AdvertisedPort int32

	ln net.Listener
}

// listen binds c's address.
func listen(c ListenerConfig) (*Listener, error) {
	host := strings.TrimSuffix(strings.TrimPrefix(c.Host, "["), "]")
	addr := net.JoinHostPort(host, strconv.Itoa(c.Port))
	var lc net.ListenConfig
	ln, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listener %s: cannot listen on %s: %w", c.Name, addr, err)
	}
	bound := unmapped(ln.Addr().(*net.TCPAddr).AddrPort())
	l := &Listener{Name: c.Name, Addr: bound, AdvertisedHost: c.AdvertisedHost, AdvertisedPort: c.AdvertisedPort, ln: ln}
	if l.AdvertisedPort == 0 {
		l.AdvertisedPort = int32(bound.Port())
	}
	if l.AdvertisedHost == "" {
		l.AdvertisedHost = host
		if host == "" || bound.Addr().IsUnspecified() {
			if l.AdvertisedHost, err = os.Hostname(); err != nil {
				_ = ln.Close()
				return nil, fmt.Errorf("listener %s: no advertised host, and no host name: %w", c.Name, err)
			}
		}
	}
	return l, nil
}

// unmapped turns an IPv4 address that came in on an IPv6 socket back into one.
func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// Waiting after accept has failed, doubled each time.
const (
	acceptWaitMin = 5 * time.Millisecond
	acceptWaitMax = time.Second
)

// accept hands connections to the loops until the listener is closed. When accept
// fails, for want of descriptors mostly, it waits: what is connected goes on, and what
// wants to connect stays in the kernel's queue.
func (s *Server) accept(ln *Listener) {
	defer s.acceptors.Done()
	wait := acceptWaitMin
	for {
		nc, err := ln.ln.Accept()
		if err == nil {
			err = s.enroll(ln, nc)
		}
		if err == nil {
			wait = acceptWaitMin
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		s.acceptErrors.Add(1)
		if s.acceptLog.ok(time.Now()) {
			s.log.Error("cannot accept connections; will retry", "listener", ln.Name, "err", err)
		}
		select {
		case <-s.stop:
			return
		case <-time.After(wait):
		}
		wait = min(2*wait, acceptWaitMax)
	}
}

// enroll puts an accepted connection on a loop, if the limits allow. nc is closed in
// any case: gnet duplicates the descriptor.
func (s *Server) enroll(ln *Listener, nc net.Conn) error {
	remote := unmapped(nc.RemoteAddr().(*net.TCPAddr).AddrPort())
	if !s.limits.enter(remote.Addr()) {
		s.refused.Add(1)
		if s.refuseLog.ok(time.Now()) {
			s.log.Warn("connection refused: too many", "remote", remote, "listener", ln.Name, "open", s.limits.open.Load())
		}
		_ = nc.Close()
		return nil
	}
	c := &Conn{id: s.lastConn.Add(1), listener: ln, remote: remote, host: remote.Addr().String()}
	s.tasks.Add(1)
	_, err := s.gnet.EnrollContext(nc, c)
	s.tasks.Add(-1)
	if err != nil {
		err = fmt.Errorf("take over a connection: %w", err)
	} else if !c.opened.Load() {
		err = errors.New("take over a connection: the event loop could not watch it")
	}
	if err != nil {
		s.limits.leave(remote.Addr())
		return err
	}
	s.accepted.Add(1)
	return nil
}

// limits counts connections, in all and by address.
type limits struct {
	max, maxIP int // 0: no limit
	open       atomic.Int64
	empty      chan struct{} // gets a value when the last connection leaves

	mu sync.Mutex
	ip map[netip.Addr]int // guarded by mu
}

// enter counts a connection from ip, unless that would be too many.
func (m *limits) enter(ip netip.Addr) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.ip[ip]
	if m.max > 0 && m.open.Load() >= int64(m.max) || m.maxIP > 0 && n >= m.maxIP {
		return false
	}
	m.ip[ip] = n + 1
	m.open.Add(1)
	return true
}

func (m *limits) leave(ip netip.Addr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open.Add(-1) == 0 {
		select {
		case m.empty <- struct{}{}:
		default:
		}
	}
	if m.ip[ip]--; m.ip[ip] == 0 {
		delete(m.ip, ip)
	}
}
