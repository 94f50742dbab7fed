package segment

import (
	"errors"
	"math"
	"path/filepath"
)

// Checkpoints of compaction in a log dir. The first is Kafka's; the second has its format, and milliseconds in the place
// of offsets.
const (
	firstDirtyFile = "cleaner-offset-checkpoint"
	horizonFile    = "delete-horizon-checkpoint"
)

// NoHorizon: nothing that compaction has left waits for its delete horizon.
const NoHorizon = math.MaxInt64

// compactionState is how far the logs of a dir are compacted.
//
// firstDirty has the offset from which on a log was never compacted. Its entry is on the disk before a log's first segment
// is replaced, so that one without has no gaps between its offsets. horizons has the earliest delete horizon that a pass
// has left in a log. It has an entry once all that Kafka may have compacted has been compacted again here: Kafka leaves
// gaps between segments, and Millrace does not.
type compactionState struct {
	firstDirty, horizons *offsetCheckpoint
}

func (c *compactionState) load(d *Dir) (err error) {
	read := func(name string) (*offsetCheckpoint, error) {
		x, err := loadOffsetCheckpoint(d.disk, filepath.Join(d.opts.Path, name))
		if errors.Is(err, ErrCorrupt) {
			d.log.Warn("checkpoint of compaction unreadable; logs are compacted from their start", "err", err)
			err = nil
		}
		return x, err
	}
	if c.firstDirty, err = read(firstDirtyFile); err != nil {
		return err
	}
	c.horizons, err = read(horizonFile)
	return err
}

// gapsBelow is the offset below which a log may have gaps between its segments, 0 if nowhere.
func (c *compactionState) gapsBelow(l *Log) int64 {
	if _, ours := c.horizons.get(l.topic, l.partition); ours {
		return 0
	}
	offset, _ := c.firstDirty.get(l.topic, l.partition)
	return offset
}

func (c *compactionState) remove(l *Log) {
	c.firstDirty.remove(l.topic, l.partition)
	c.horizons.remove(l.topic, l.partition)
}

// checkpoints are all that have an entry for a log.
func (d *Dir) checkpoints() []*offsetCheckpoint {
	return []*offsetCheckpoint{d.startOffsets, d.recoveryPoints, d.compaction.firstDirty, d.compaction.horizons}
}

// take enters for l, a copy of another log, what is known of that.
func (c *compactionState) take(l *Log, from *compactionState, other *Log) {
	dirty, ok := from.firstDirty.get(other.topic, other.partition)
	if !ok {
		return
	}
	horizon, ok := from.horizons.get(other.topic, other.partition)
	if !ok {
		horizon = NoHorizon
	}
	c.firstDirty.set(l.topic, l.partition, dirty)
	c.horizons.set(l.topic, l.partition, horizon)
}

// PauseCompaction keeps the log's segments from being replaced until ResumeCompaction, which is to be called as often:
// while somebody copies the log, a tombstone must not vanish between what it deletes and itself. It waits for a
// replacement under way, for milliseconds.
func (l *Log) PauseCompaction() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uncompacted++
	for l.swapping {
		l.idle.Wait()
	}
}

// ResumeCompaction ends a PauseCompaction.
func (l *Log) ResumeCompaction() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uncompacted--
}

// forget is remove, and when it returns nil there is no entry on the disk either.
func (c *compactionState) forget(l *Log) error {
	return errors.Join(c.firstDirty.forget(l.topic, l.partition), c.horizons.forget(l.topic, l.partition))
}

// cutEnd notes that a log ends at offset.
func (c *compactionState) cutEnd(l *Log, offset int64) {
	if o, ok := c.firstDirty.get(l.topic, l.partition); ok && o > offset {
		c.firstDirty.set(l.topic, l.partition, offset)
	}
}

// write makes all changes before it durable.
func (c *compactionState) write() error {
	return errors.Join(c.firstDirty.write(), c.horizons.write())
}

// SyncRecoveryPoints makes the recovery points reached so far durable: what is below them will not be written again by a
// restart.
func (d *Dir) SyncRecoveryPoints() error { return d.recoveryPoints.write() }

// BeginCompaction makes it durable, once, that the log may have gaps between its offsets from now on. Before Replace.
func (l *Log) BeginCompaction(firstDirty int64) error {
	c := &l.dir.compaction
	if _, ok := c.firstDirty.get(l.topic, l.partition); !ok {
		c.firstDirty.set(l.topic, l.partition, firstDirty)
		c.horizons.set(l.topic, l.partition, NoHorizon)
	}
	return c.write()
}

// Compacted notes that a pass over the whole log is done: everything below firstDirty is compacted, and the earliest
// delete horizon of what is left is horizonMs, or NoHorizon. It is durable when nil is returned.
func (l *Log) Compacted(firstDirty, horizonMs int64) error {
	c := &l.dir.compaction
	l.mu.Lock()
	if l.closed { // the entries may be those of a successor
		l.mu.Unlock()
		return ErrClosed
	}
	c.firstDirty.set(l.topic, l.partition, min(firstDirty, l.end.Load()))
	c.horizons.set(l.topic, l.partition, max(horizonMs, 0))
	l.gapsBelow = 0
	l.mu.Unlock()
	return c.write()
}
