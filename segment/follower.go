package segment

import (
	"fmt"
	"math"

	"millrace/segment/batch"
)

// AppendAsFollower appends one batch that another log has given its offsets and leader epoch, both of which it keeps.
// Offsets may leave gaps, as compaction does, but never go back: ErrOffsetOutOfRange; nor does the epoch. A log that has
// no segments yet begins at the batch. The other log has checked the producer's sequence; here its state only follows.
// Otherwise as Append, which must not be used on the log at the same time.
func (l *Log) AppendAsFollower(b batch.Batch) error {
	if len(b) < batch.HeaderSize || b.Size() != len(b) || b.LastOffsetDelta() < 0 || b.BaseOffset() < 0 {
		return ErrInvalidBatch
	}
	if !b.ValidCRC() {
		return fmt.Errorf("append to %s: %w: batch at offset %d", l.path, batch.ErrCorrupt, b.BaseOffset())
	}
	l.mu.Lock()
	next, err := l.appendAt(b)
	l.mu.Unlock()
	if next.ring {
		l.dir.writer.ring()
	}
	if next.durable {
		l.notifyDurable(b.NextOffset())
	}
	return err
}

func (l *Log) appendAt(b batch.Batch) (next afterAppend, err error) {
	base, last := b.BaseOffset(), b.LastOffset()
	if err := l.writable(b.LeaderEpoch()); err != nil {
		return next, err
	}
	if end := l.end.Load(); base < end {
		return next, fmt.Errorf("append to %s at offset %d, end is %d: %w", l.path, base, end, ErrOffsetOutOfRange)
	}
	l.skipTo(base, last)
	now := l.dir.nowMs()
	seg, err := l.segmentFor(b, last, now)
	if err != nil {
		return next, l.outOfFiles(err)
	}
	if !l.tail.reserve(seg, len(b)) {
		l.dir.wantMemory()
		return next, ErrBusy
	}
	l.copyIn(seg, b, base, b.LeaderEpoch())
	l.account(seg, b, base, last, b.LeaderEpoch(), now)
	return l.hand(seg), nil
}

// skipTo lets the next segment begin at base where a gap before it would be in the way: offsets in a segment are 32 bits
// relative to its base, and a log begins where its first batch does.
func (l *Log) skipTo(base, last int64) {
	switch seg := l.active(); {
	case len(l.segments) == 0 && base > l.end.Load():
		l.start.Store(base)
		l.end.Store(base)
		l.durable.Store(base)
	case seg != nil && last-seg.baseOffset > math.MaxInt32:
		l.end.Store(base) // the segment is rolled there
	}
}
