package compact

import (
	"errors"
	"math"

	"millrace/segment"
)

// candidate is a log that may be compacted.
type candidate struct {
	log   *segment.Log
	state segment.Cleanable // with the segments that min.compaction.lag.ms leaves
	ratio float64           // dirty bytes of all
	due   bool
	now   bool // whatever the ratio: max.compaction.lag.ms, or more is left of the last pass
}

// choose takes the log that is due and has the largest share of dirty bytes, and marks it as running. It also counts what
// the metrics tell.
func (c *Cleaner) choose() (best candidate, ok bool) {
	logs := c.opts.Logs()
	present := make(map[*segment.Log]bool, len(logs))
	largest := 0.0
	for _, l := range logs {
		present[l] = true
		x, err := c.look(l)
		if err != nil {
			c.failedToLook(l, err)
			continue
		}
		if x.state.Config.Compact {
			largest = max(largest, x.ratio)
		}
		if x.due && c.mayRun(l) && (!ok || x.now && !best.now || x.now == best.now && x.ratio > best.ratio) {
			best, ok = x, true
		}
	}
	c.stats.dirtiest.Store(math.Float64bits(largest))
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.memory {
		if !present[l] {
			delete(c.memory, l)
		}
	}
	if ok {
		c.running[best.log] = true
	}
	return best, ok
}

// mayRun says that no pass is under way, and that the log does not rest because one has failed.
func (c *Cleaner) mayRun(l *segment.Log) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.memory[l]
	return !c.running[l] && (m == nil || !c.opts.Now().Before(m.retryAt))
}

// failedToLook treats a log whose indexes or first batches cannot be read as one whose pass failed.
func (c *Cleaner) failedToLook(l *segment.Log, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.remember(l)
	if m.failed == nil && !errors.Is(err, segment.ErrSegmentGone) {
		c.opts.Logger.Error("log cannot be compacted; it is tried again later", "topic", l.Topic(), "partition", l.Partition(), "error", err)
	}
	c.judge(m, err)
}

// look decides whether a log is due.
func (c *Cleaner) look(l *segment.Log) (x candidate, err error) {
	x = candidate{log: l, state: l.Cleanable(c.opts.Bound(l))}
	if len(x.state.Segments) == 0 || !c.mayRun(l) {
		return x, nil
	}
	nowMs := c.opts.Now().UnixMilli()
	if err := x.leaveRecent(nowMs); err != nil {
		return x, err
	}
	var clean, dirty int64
	for _, s := range x.state.Segments {
		if s.NextOffset <= x.state.FirstDirty {
			clean += s.Size
		} else {
			dirty += s.Size
		}
	}
	if clean+dirty == 0 {
		return x, nil
	}
	x.ratio = float64(dirty) / float64(clean+dirty)
	late, err := x.tooLate(nowMs)
	if err != nil {
		return x, err
	}
	c.mu.Lock()
	more := c.memory[l] != nil && c.memory[l].more
	c.mu.Unlock()
	x.now = dirty > 0 && (late || more)
	// Tombstones go though nothing new comes.
	x.due = x.now || x.ratio > x.state.Config.MinDirtyRatio || x.state.HorizonMs <= nowMs
	return x, nil
}

// leaveRecent leaves out the segments from the first dirty one on that has a record younger than min.compaction.lag.ms.
func (x *candidate) leaveRecent(nowMs int64) error {
	lag := x.state.Config.MinCompactionLagMs
	if lag <= 0 {
		return nil
	}
	for i, s := range x.state.Segments {
		if s.NextOffset <= x.state.FirstDirty {
			continue
		}
		ts, err := s.LargestTimestamp()
		if err != nil {
			return err
		}
		if ts > nowMs-lag {
			x.state.Segments = x.state.Segments[:i]
			return nil
		}
	}
	return nil
}

// tooLate says that a dirty segment begins with a record older than max.compaction.lag.ms.
func (x *candidate) tooLate(nowMs int64) (bool, error) {
	lag := x.state.Config.MaxCompactionLagMs
	if lag <= 0 || lag >= nowMs {
		return false, nil
	}
	for _, s := range x.state.Segments {
		if s.NextOffset <= x.state.FirstDirty {
			continue
		}
		ts, err := s.FirstTimestamp()
		if err != nil {
			return false, err
		}
		if ts > 0 && ts < nowMs-lag {
			return true, nil
		}
	}
	return false, nil
}
