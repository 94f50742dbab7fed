package server

import (
	"errors"
	"time"
)

var (
	errSlowSender = errors.New("request took too long to arrive")
	errSlowReader = errors.New("client takes no output")
	errIdle       = errors.New("idle")
)

// stall is how output goes that did not fit into the socket.
type stall struct {
	since time.Time // when it first did not; zero if everything fits
	moved time.Time // when it last went on
	sent  int       // bytes since then
}

// wait notes that the socket is full.
func (s *stall) wait(now time.Time) {
	if s.since.IsZero() {
		*s = stall{since: now, moved: now}
	}
}

// slow reports whether the client takes too little: nothing for limit, or less than rate
// bytes per second for longer. Queued output holds memory that others need.
func (s *stall) slow(now time.Time, limit time.Duration, rate int) bool {
	if s.since.IsZero() {
		return false
	}
	return now.Sub(s.moved) > limit || now.Sub(s.since) > limit+duration(s.sent, rate)
}

// duration is how long n bytes take at rate bytes per second.
func duration(n, rate int) time.Duration {
	return time.Duration(float64(n) / float64(rate) * float64(time.Second))
}

// sweep looks at a part of the loop's connections for deadlines that have passed; after
// sweepParts ticks it has seen them all. A linear look at a few thousand structs costs
// less than keeping timers for each request would.
func (l *loop) sweep() {
	n := len(l.conns)/sweepParts + 1
	for range min(n, len(l.conns)) {
		if l.sweepAt >= len(l.conns) {
			l.sweepAt = 0
			if len(l.conns) == 0 {
				return
			}
		}
		c := l.conns[l.sweepAt]
		if err := l.overdue(c); err != nil {
			l.close(c, err) // moves another connection to its place
			continue
		}
		l.sweepAt++
	}
}

// overdue returns why c is to be closed for its age, or nil.
func (l *loop) overdue(c *Conn) error {
	o := &l.s.o
	switch {
	case c.armed && c.stall.slow(l.now, o.SlowReaderTimeout, o.MinByteRate):
		l.n.slowReaders.Add(1)
		return errSlowReader
	case c.paused:
		return nil
	case !c.in.between():
		if l.now.Sub(c.in.began) > o.FrameTimeout+duration(c.in.fill, o.MinByteRate) {
			l.n.slowSenders.Add(1)
			return errSlowSender
		}
	case c.head == nil && l.now.Sub(c.active) > o.MaxIdle:
		l.n.idle.Add(1)
		return errIdle
	}
	return nil
}

// tickLoops has each loop sweep, until stop is closed.
func (s *Server) tickLoops() {
	defer s.wg.Done()
	t := time.NewTicker(s.o.tick())
	defer t.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-t.C:
		}
		for _, l := range s.loops {
			if !l.ticked.Swap(true) {
				l.ring()
			}
		}
	}
}
