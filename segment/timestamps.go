package segment

import (
	"errors"

	"millrace/segment/batch"
)

// maxDecompressed bounds what a look-up by time decompresses of one batch, bytes.
const maxDecompressed = 256 << 20

// errFound ends a walk over batches.
var errFound = errors.New("found")

// OffsetForTimestamp finds the first record, in offset order, whose timestamp is at or above ts. Offset -1: there is
// none. Blocking.
func (l *Log) OffsetForTimestamp(ts int64) (TimestampOffset, error) {
	none := TimestampOffset{-1, -1, -1}
	segments, err := l.timed()
	if err != nil {
		return none, err
	}
	for _, s := range segments {
		if s.maxTimestamp < ts {
			continue
		}
		from := s.seg.baseOffset
		if x, err := l.indexesOf(s.seg, true); err != nil && !errors.Is(err, errReplaced) {
			return none, err
		} else if x != nil {
			_, from = x.times.Lookup(ts)
		}
		found, err := l.firstAtOrAfter(max(from, l.start.Load()), s.next, ts)
		if err != nil || found.Offset >= 0 {
			return found, err
		}
	}
	return none, nil
}

// MaxTimestamp finds the first record that has the largest timestamp of the log. Blocking.
func (l *Log) MaxTimestamp() (TimestampOffset, error) {
	for {
		found, seg, err := l.newest()
		if err != nil || found.Offset >= 0 || seg == nil || !seg.replaced.Load() {
			return found, err
		}
		// Compaction has taken the record away meanwhile.
	}
}

// newest finds the record in the segment, nil if none has a record, that has the largest timestamp.
func (l *Log) newest() (TimestampOffset, *segment, error) {
	none := TimestampOffset{-1, -1, -1}
	segments, err := l.timed()
	if err != nil {
		return none, nil, err
	}
	best := -1
	for i, s := range segments {
		if s.maxTimestamp >= 0 && (best < 0 || s.maxTimestamp > segments[best].maxTimestamp) {
			best = i
		}
	}
	if best < 0 {
		return none, nil, nil
	}
	s := segments[best]
	found, err := l.firstAtOrAfter(max(s.batchOf, l.start.Load()), s.next, s.maxTimestamp)
	return found, s.seg, err
}

// timedSegment is what is known about a segment's times.
type timedSegment struct {
	seg          *segment
	next         int64
	maxTimestamp int64
	batchOf      int64 // an offset in, or before, the batch that has it
}

// timed lists the segments with their largest timestamps.
func (l *Log) timed() ([]timedSegment, error) {
	for {
		out, err := l.timedNow()
		if !errors.Is(err, errReplaced) {
			return out, err
		}
	}
}

func (l *Log) timedNow() ([]timedSegment, error) {
	l.mu.Lock()
	if err := l.readable(true); err != nil {
		l.mu.Unlock()
		return nil, err
	}
	segments := append([]*segment(nil), l.segments...)
	l.mu.Unlock()
	out := make([]timedSegment, 0, len(segments))
	for _, s := range segments {
		ts, at, err := l.largestTimestamp(s)
		if errors.Is(err, ErrOffsetOutOfRange) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		out = append(out, timedSegment{s, s.nextOffset, ts, max(at, s.baseOffset)})
		l.mu.Unlock()
	}
	return out, nil
}

// firstAtOrAfter walks batches in [from, upTo) for the first record with a timestamp of at least ts.
func (l *Log) firstAtOrAfter(from, upTo, ts int64) (TimestampOffset, error) {
	found := TimestampOffset{-1, -1, -1}
	start := l.start.Load()
	err := l.ReadBatches(from, upTo, func(b batch.Batch) error {
		if b.MaxTimestamp() < ts || b.Count() == 0 {
			return nil
		}
		if b.IsLogAppendTime() {
			found = TimestampOffset{b.MaxTimestamp(), max(b.BaseOffset(), start), b.LeaderEpoch()}
			return errFound
		}
		if b.Codec() != batch.None { // a batch takes up to maxDecompressed: not one for each client that asks
			l.dir.unpacking <- struct{}{}
			defer func() { <-l.dir.unpacking }()
		}
		return batch.ForEach(b, maxDecompressed, func(r *batch.Record) error {
			timestamp, offset := b.BaseTimestamp()+r.TimestampDelta, b.BaseOffset()+int64(r.OffsetDelta)
			if timestamp < ts || offset < start {
				return nil
			}
			found = TimestampOffset{timestamp, offset, b.LeaderEpoch()}
			return errFound
		})
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return found, err
}
