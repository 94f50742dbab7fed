package compact

import (
	"math"
	"sync/atomic"
	"time"
)

// stats are the counters behind Stats.
type stats struct {
	runs, failures, noSpace atomic.Int64
	read, written           atomic.Int64
	lastRun                 atomic.Int64  // seconds since 1970
	dirtiest                atomic.Uint64 // bits of a float64
}

// Stats is a snapshot of the counters since the start.
type Stats struct {
	Runs          int64 // passes that went well
	Failures      int64 // passes that failed and made their log uncleanable
	NoSpace       int64 // passes ended by a full disk
	ReadBytes     int64
	WrittenBytes  int64
	MaxDirtyRatio float64   // of all compacted logs, when they were last looked at
	LastRun       time.Time // end of the last pass that went well; zero: none yet
	Active        int       // passes under way
	Uncleanable   int       // logs whose last pass failed
}

// Stats reads the counters, each by itself.
func (c *Cleaner) Stats() Stats {
	s := Stats{
		Runs: c.stats.runs.Load(), Failures: c.stats.failures.Load(), NoSpace: c.stats.noSpace.Load(),
		ReadBytes: c.stats.read.Load(), WrittenBytes: c.stats.written.Load(),
		MaxDirtyRatio: math.Float64frombits(c.stats.dirtiest.Load()),
	}
	if at := c.stats.lastRun.Load(); at > 0 {
		s.LastRun = time.Unix(at, 0)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Active = len(c.running)
	for _, m := range c.memory {
		if m.failed != nil {
			s.Uncleanable++
		}
	}
	return s
}
