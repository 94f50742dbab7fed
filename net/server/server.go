package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/panjf2000/gnet/v2"
)

// readBuffer is what gnet reads at a time, per loop, bytes.
const readBuffer = 64 << 10

// Server is a set of listeners and the loops that serve their connections.
type Server struct {
	o         Options
	handler   Handler
	log       *slog.Logger
	gnet      *gnet.Client // its loops, without its acceptor: see the package comment
	loops     []*loop
	listeners []*Listener
	writable  *writable
	readers   *readers
	limits    limits

	stopping   atomic.Bool  // gnet is being stopped
	tasks      atomic.Int32 // loops may have tasks in gnet's queue (linger_linux.go)
	inputBytes atomic.Int64 // memory of requests that are not answered
	lastConn   atomic.Uint64

	accepted, refused, acceptErrors atomic.Int64
	acceptLog, refuseLog, hintLog   onceAMinute

	stop      chan struct{} // closed when shutdown begins
	stopOnce  sync.Once
	acceptors sync.WaitGroup
	wg        sync.WaitGroup // the ticker
	down      sync.Mutex     // one shutdown at a time
	isDown    bool           // guarded by down
}

// Start binds all listeners and serves them; it returns when they are listening. An
// error names the listener that could not be bound, or what of gnet is not as it must
// be, and leaves nothing running.
func Start(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	s := &Server{o: o, handler: o.Handler, log: o.Logger, stop: make(chan struct{})}
	s.limits = limits{max: o.MaxConnections, maxIP: o.MaxConnectionsIP, empty: make(chan struct{}, 1), ip: map[netip.Addr]int{}}
	for _, lc := range o.Listeners {
		ln, err := listen(lc)
		if err != nil {
			s.closeListeners()
			return nil, err
		}
		s.listeners = append(s.listeners, ln)
	}
	var err error
	if s.writable, err = startWritable(); err != nil {
		s.closeListeners()
		return nil, fmt.Errorf("server: %w", err)
	}
	s.readers = startReaders(o.Readers)
	if err := s.startLoops(); err != nil {
		s.closeListeners()
		s.stopAll()
		return nil, fmt.Errorf("server: %w", err)
	}
	s.wg.Add(1)
	go s.tickLoops()
	for _, ln := range s.listeners {
		s.acceptors.Add(1)
		go s.accept(ln)
	}
	return s, nil
}

// startLoops starts gnet's loops and gives each its doorbell.
func (s *Server) startLoops() error {
	client, err := gnet.NewClient(&events{s: s}, gnet.WithNumEventLoop(s.o.Loops), gnet.WithReadBufferCap(readBuffer),
		gnet.WithLogger(gnetLog{s.log}))
	if err != nil {
		return fmt.Errorf("event loops: %w", err)
	}
	if err := client.Start(); err != nil {
		return fmt.Errorf("event loops: %w", err)
	}
	s.gnet = client
	s.tasks.Add(1)
	defer s.tasks.Add(-1)
	for i := range s.o.Loops {
		l := &loop{s: s, index: i}
		ours, theirs, err := socketPair()
		if err != nil {
			return err
		}
		l.bell = ours
		s.loops = append(s.loops, l)
		// gnet gives a connection to the loop that has fewest, so this goes round.
		if _, err := client.EnrollContext(theirs, l); err != nil {
			return fmt.Errorf("doorbell of event loop %d: %w", i, err)
		}
		if l.ev == nil || s.loopOf(l.ev) != l {
			return fmt.Errorf("doorbell of event loop %d: gnet does not spread connections as it did", i)
		}
		if err := l.checkPause(); err != nil {
			return fmt.Errorf("event loop %d: reading cannot be paused, this gnet is not the one that was tested: %w", i, err)
		}
	}
	return nil
}

// loopOf returns the loop of a gnet loop.
func (s *Server) loopOf(ev gnet.EventLoop) *loop {
	for _, l := range s.loops {
		if l.ev == ev {
			return l
		}
	}
	return nil
}

// Listeners returns the listeners in the order of Options.
func (s *Server) Listeners() []*Listener { return s.listeners }

func (s *Server) closeListeners() {
	for _, ln := range s.listeners {
		_ = ln.ln.Close()
	}
}

// Shutdown stops accepting and reading, lets requests that have begun be answered and
// sent until ctx is done, and closes what is left. When it returns no goroutine of the
// server runs; replies that come later are dropped. It returns ctx's error if it had
// to cut connections off.
func (s *Server) Shutdown(ctx context.Context) error {
	s.down.Lock()
	defer s.down.Unlock()
	if s.isDown {
		return nil
	}
	s.isDown = true
	s.stopOnce.Do(func() { close(s.stop) })
	s.closeListeners()
	s.acceptors.Wait()
	for _, l := range s.loops {
		l.post(taskFunc(l.drain))
	}
	err := s.awaitDrained(ctx)
	s.wg.Wait()
	s.stopAll()
	return err
}

func (s *Server) awaitDrained(ctx context.Context) error {
	for s.limits.open.Load() > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("shutdown: %d connections cut off: %w", s.limits.open.Load(), ctx.Err())
		case <-s.limits.empty:
		}
	}
	return nil
}

// drain takes no more frames and closes each connection when its queue is empty.
func (l *loop) drain() {
	l.draining = true
	for _, c := range append([]*Conn(nil), l.conns...) {
		if err := l.pause(c); err != nil {
			l.close(c, err)
			continue
		}
		l.markDirty(c)
	}
}

// stopAll ends loops, readers and the writable set, and does what is left in the
// loops' lists.
func (s *Server) stopAll() {
	if s.gnet != nil {
		s.tasks.Add(1) // for good
		s.stopping.Store(true)
		if err := s.gnet.Stop(); err != nil {
			s.log.Debug("event loops stopped", "err", err)
		}
	}
	for _, l := range s.loops {
		l.stopped.Store(true)
		_ = l.bell.Close()
	}
	s.readers.close()
	s.writable.close()
	for _, l := range s.loops {
		l.finish()
	}
}
