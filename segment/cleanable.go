package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"millrace/index"
	"millrace/segment/batch"
	"millrace/segment/producer"
)

// What package compact sees of a log.

// Sealed is a segment that will not be appended to. Its fields do not change; the segment itself may be gone when it is
// used, which answers ErrSegmentGone.
type Sealed struct {
	BaseOffset, NextOffset int64
	Size                   int64 // bytes

	log *Log
	seg *segment
}

// Cleanable is what there is to compact in a log.
type Cleanable struct {
	Config     LogConfig
	FirstDirty int64 // never compacted from here on
	HorizonMs  int64 // the earliest delete horizon that the last pass has left, NoHorizon if none
	// Segments are all of the log, from that with the start offset on, that may be compacted, in order.
	Segments []Sealed
}

// AbortedTxn is an aborted transaction.
type AbortedTxn = index.AbortedTxn

// LastRecord is what is remembered of a producer.
type LastRecord = producer.LastRecord

// Logs returns the open logs of the dir, in no order.
func (d *Dir) Logs() []*Log { return d.all() }

// Config is the configuration the log acts on now.
func (l *Log) Config() LogConfig {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cfg
}

// Cleanable says what may be compacted: sealed segments below bound, below the first open transaction and below the
// recovery point. Nothing if the log does not compact or cannot be written.
func (l *Log) Cleanable(bound int64) Cleanable {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := Cleanable{Config: l.cfg, HorizonMs: NoHorizon}
	if !l.cfg.Compact || l.uncompacted > 0 || l.closed || l.closing || l.cutting || l.dir.offline() != nil {
		return c
	}
	start := l.start.Load()
	c.FirstDirty = start
	if o, ok := l.dir.compaction.firstDirty.get(l.topic, l.partition); ok && o <= l.end.Load() {
		c.FirstDirty = max(o, start)
	}
	if ms, ok := l.dir.compaction.horizons.get(l.topic, l.partition); ok {
		c.HorizonMs = ms
	}
	bound = min(bound, l.durable.Load(), l.recoveryPoint)
	if unstable, ok := l.producers.FirstUnstableOffset(); ok {
		bound = min(bound, unstable)
	}
	for _, s := range l.segments {
		if !s.sealed || s.nextOffset > bound {
			break
		}
		if s.nextOffset > start {
			c.Segments = append(c.Segments, Sealed{s.baseOffset, s.nextOffset, s.size, l, s})
		}
	}
	return c
}

// LastRecords appends, for each active producer, the last batch of it that is in the log.
func (l *Log) LastRecords(dst []LastRecord) []LastRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.producers.LastRecords(dst)
}

// LargestTimestamp is the segment's largest timestamp, -1 if it has none. Blocking.
func (s Sealed) LargestTimestamp() (int64, error) {
	ts, _, err := s.log.largestTimestamp(s.seg)
	return ts, s.unlessGone(err)
}

// FirstTimestamp is the largest timestamp of the segment's first batch, -1 if it has none. Blocking.
func (s Sealed) FirstTimestamp() (int64, error) {
	s.log.mu.Lock()
	ts := s.seg.firstTimestamp
	s.log.mu.Unlock()
	if ts >= 0 {
		return ts, nil
	}
	scan, f, err := s.log.scanFile(s.seg)
	if err != nil {
		return 0, s.unlessGone(err)
	}
	defer f.Release()
	defer scan.close()
	b, err := scan.batchAt(0, s.BaseOffset, math.MinInt32, false)
	if err != nil || b == nil {
		return -1, s.unlessGone(err)
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.seg.firstTimestamp = b.MaxTimestamp()
	return s.seg.firstTimestamp, nil
}

// Scan calls f with each batch of the segment, from the one that holds offset from on, checked by CRC; it is valid during
// the call. It reads past the page cache where the dir has direct I/O, a few hundred KiB at a time, and stops at the first
// error. ErrCorrupt: the segment is damaged, or does not end where the next one begins. Blocking.
func (s Sealed) Scan(from int64, f func(batch.Batch) error) error {
	if err := s.scan(from, f); err != nil {
		return fmt.Errorf("scan %s: %w", s.seg.path+logSuffix, s.unlessGone(err))
	}
	return nil
}

func (s Sealed) scan(from int64, f func(batch.Batch) error) error {
	l, seg := s.log, s.seg
	if _, bad := seg.badAt(0); bad {
		return fmt.Errorf("%w: it has a damaged range", ErrCorrupt)
	}
	pos, least := int64(0), s.BaseOffset
	if from > s.BaseOffset {
		x, err := l.indexesOf(seg, true)
		if err != nil {
			return err
		}
		if x != nil {
			if entry, at := x.offsets.Lookup(from); at > 0 {
				pos, least = int64(at), entry // checked below: the batch there ends with entry
			}
		}
	}
	scan, file, err := l.scanFile(seg)
	if err != nil {
		return err
	}
	defer file.Release()
	defer scan.close()
	if pos > 0 {
		b, err := scan.batchAt(pos, s.BaseOffset, math.MinInt32, false)
		if err != nil {
			return err
		}
		if b == nil || b.LastOffset() != least || b.BaseOffset() > from {
			pos, least = 0, s.BaseOffset
		} else {
			least = b.BaseOffset()
		}
	}
	for pos < s.Size {
		b, err := scan.batchAt(pos, least, math.MinInt32, true)
		if err != nil {
			return err
		}
		if b == nil || b.LastOffset() >= s.NextOffset {
			return fmt.Errorf("%w: no valid batch at position %d, offset %d", ErrCorrupt, pos, least)
		}
		pos, least = pos+int64(b.Size()), b.NextOffset()
		if b.LastOffset() < from {
			continue
		}
		if err := f(b); err != nil {
			return err
		}
	}
	l.mu.Lock()
	legal := l.gapsBelow
	l.mu.Unlock()
	if least != s.NextOffset && s.NextOffset > legal {
		return fmt.Errorf("%w: it ends before offset %d, the next one begins at %d", ErrCorrupt, least, s.NextOffset)
	}
	return nil
}

// Aborted appends the aborted transactions that may have records in the segment.
func (s Sealed) Aborted(dst []AbortedTxn) ([]AbortedTxn, error) {
	l := s.log
	l.mu.Lock()
	i := l.segmentIndex(s.BaseOffset)
	segments := append([]*segment(nil), l.segments[min(i, len(l.segments)):]...)
	l.mu.Unlock()
	for _, seg := range segments {
		x, err := index.OpenTxn(seg.path+txnSuffix, seg.baseOffset)
		if err != nil {
			return dst, s.unlessGone(err)
		}
		var complete bool
		if dst, complete, err = x.Collect(dst, s.BaseOffset, s.NextOffset); err != nil {
			return dst, s.unlessGone(err)
		}
		if complete {
			break
		}
	}
	return dst, nil
}

// unlessGone turns what went wrong because the segment was deleted, cut or closed meanwhile into ErrSegmentGone.
func (s Sealed) unlessGone(err error) error {
	if err == nil || errors.Is(err, ErrSegmentGone) {
		return err
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if s.log.closed || s.log.cutting || s.seg.dropped {
		return fmt.Errorf("%w: %w", ErrSegmentGone, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}
