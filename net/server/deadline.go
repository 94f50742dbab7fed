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
	case c.armed && l.now.Sub(c.progress) > o.SlowReaderTimeout:
		l.n.slowReaders.Add(1)
		return errSlowReader
	case c.paused:
		return nil
	case !c.in.between():
		arrived := time.Duration(c.in.fill) * time.Second / time.Duration(o.MinFrameRate)
		if l.now.Sub(c.in.began) > o.FrameTimeout+arrived {
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
