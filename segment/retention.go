package segment

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// ApplyRetention deletes the oldest segments that the configuration no longer wants and says how many. One pass;
// running it again changes nothing. The active segment is deleted only after it was rolled because all of it is too old.
func (l *Log) ApplyRetention() (segments int, err error) {
	now := l.dir.nowMs()
	if err := l.learnOldTimes(now); err != nil {
		return 0, err
	}
	for {
		n, err := l.dropDue(now)
		segments += n
		if n == 0 || err != nil {
			return segments, err
		}
	}
}

// dropAtOnce is how many segments are dropped under one hold of the log's lock: appenders wait meanwhile.
const dropAtOnce = 4

// dropDue drops the first of the segments that are due and says how many.
func (l *Log) dropDue(now int64) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.closing || l.cutting || l.swapping {
		return 0, nil
	}
	n = l.countStart()
	if l.cfg.DeleteByRetention {
		if n, err = l.countRetained(n, now); err != nil {
			return 0, err
		}
	}
	if n = min(n, dropAtOnce); n == 0 {
		return 0, nil
	}
	if err := l.dropSegments(n); err != nil {
		return 0, err
	}
	return n, nil
}

// countStart is how many segments are wholly below the log start offset.
func (l *Log) countStart() (n int) {
	start := l.start.Load()
	for n < len(l.segments)-1 && l.segments[n+1].baseOffset <= start && l.segments[n].sealed {
		n++
	}
	return n
}

// learnOldTimes makes the largest timestamps known of the segments that retention by time will look at. No lock is
// held: indexes may have to be read.
func (l *Log) learnOldTimes(now int64) error {
	l.mu.Lock()
	segments, cfg := append([]*segment(nil), l.segments...), l.cfg
	l.mu.Unlock()
	if !cfg.DeleteByRetention || cfg.RetentionMs < 0 {
		return nil
	}
	for _, s := range segments {
		ts, _, err := l.largestTimestamp(s)
		if errors.Is(err, ErrClosed) || errors.Is(err, ErrOffsetOutOfRange) || errors.Is(err, errReplaced) {
			return nil // deleted or compacted meanwhile: the next pass sees what is there then
		}
		if err != nil || ts >= 0 && ts <= now && now-ts <= cfg.RetentionMs {
			return err
		}
	}
	return nil
}

// countRetained adds to n the segments that are too old or too many bytes.
func (l *Log) countRetained(n int, now int64) (int, error) {
	durable := l.durable.Load()
	excess := int64(-1)
	if l.cfg.RetentionBytes >= 0 {
		excess = l.sizeLocked() - l.cfg.RetentionBytes
		for _, s := range l.segments[:n] {
			excess -= s.size
		}
	}
	for ; n < len(l.segments); n++ {
		s := l.segments[n]
		if s.nextOffset > durable || s.size == 0 {
			break
		}
		bySize := excess >= s.size && excess > 0
		if !bySize {
			old, err := l.tooOld(s, now)
			if err != nil || !old {
				return n, err
			}
		}
		if !s.sealed {
			if bySize && n == len(l.segments)-1 || s.rolled {
				break // never the active segment by size; one that is being sealed comes next time
			}
			if s.out == nil {
				if err := l.activate(s); err != nil {
					return n, err
				}
			}
			// The active one, and all of it is too old: the next pass takes it.
			return n, l.roll(now)
		}
		excess -= s.size
	}
	return n, nil
}

// tooOld says that the segment is past retention.ms by its largest timestamp. Where that lies in the future, which a
// client's clock can cause, the time of the file's last change counts, so that such records do not stay for ever.
func (l *Log) tooOld(s *segment, now int64) (bool, error) {
	if l.cfg.RetentionMs < 0 || !s.timesKnown {
		return false, nil
	}
	ts := s.maxTimestamp
	if ts > now || ts < 0 {
		fi, err := os.Stat(s.path + logSuffix)
		if err != nil {
			return false, err
		}
		if ts > now && !s.warned {
			s.warned = true
			l.dir.log.Warn("timestamps in the future; retention goes by the time of the last write", "file", s.path+logSuffix, "timestamp", ts)
		}
		ts = fi.ModTime().UnixMilli()
	}
	return now-ts > l.cfg.RetentionMs, nil
}

// largestTimestamp is the segment's largest timestamp, -1 if it has none, and the last offset of the batch that has
// it. Blocking; no lock is held.
func (l *Log) largestTimestamp(s *segment) (ts, at int64, err error) {
	l.mu.Lock()
	if s.timesKnown {
		defer l.mu.Unlock()
		return s.maxTimestamp, s.maxTimestampAt, nil
	}
	l.mu.Unlock()
	x, err := l.indexesOf(s, true)
	if err != nil {
		return 0, 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !s.timesKnown && x != nil {
		if ts, at, ok := x.times.Last(); ok {
			s.maxTimestamp, s.maxTimestampAt = ts, at
		}
		s.timesKnown = true
	}
	return s.maxTimestamp, s.maxTimestampAt, nil
}

// dropSegments takes the first n segments out of the log and has their files removed. Under l.mu.
func (l *Log) dropSegments(n int) error {
	gone := l.segments[:n]
	var paths []string
	for _, s := range gone {
		renamed, err := renameDeleted(l.dir.disk, s.path)
		if err != nil {
			return err
		}
		paths = append(paths, renamed...)
		snapshot := s.path + snapshotSuffix
		if err := l.dir.disk.Remove(snapshot); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.dropped = true
		s.closeHandle()
		s.closeOut()
		s.closeIndexes()
	}
	l.segments = append([]*segment(nil), l.segments[n:]...)
	start := l.start.Load()
	if len(l.segments) > 0 {
		start = max(start, l.segments[0].baseOffset)
	} else {
		start = l.end.Load() // the last one ended damaged and was not appended to
	}
	l.start.Store(start)
	l.epochs.cutStart(start)
	l.dir.keeper.later(l.saveEpochs)
	l.dir.stats.segmentsDeleted.Add(int64(n))
	l.dir.house.doom(time.Duration(l.cfg.FileDeleteDelayMs)*time.Millisecond, paths...)
	return nil
}

// renameDeleted gives a segment's files the suffix that marks them for removal, the log last, so that a
// crash in between leaves either a segment, whose indexes are rebuilt, or none.
func renameDeleted(disk Disk, path string) (renamed []string, err error) {
	for _, suffix := range []string{offsetSuffix, timeSuffix, txnSuffix, logSuffix} {
		from := path + suffix
		err := disk.Rename(from, from+deletedSuffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return renamed, err
		}
		renamed = append(renamed, from+deletedSuffix)
	}
	return renamed, nil
}

// AdvanceStartOffset makes offset the first that can be read (DeleteRecords). When it returns nil that is on the
// disk. Segments wholly below are deleted by the next retention pass, which it asks for. Blocking. The offset may be
// inside a batch; the batch then still comes whole. Going back does nothing.
func (l *Log) AdvanceStartOffset(offset int64) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	if offset > l.end.Load() {
		l.mu.Unlock()
		return ErrOffsetOutOfRange
	}
	if offset <= l.start.Load() {
		l.mu.Unlock()
		return nil
	}
	l.start.Store(offset)
	l.epochs.cutStart(offset)
	l.dir.startOffsets.set(l.topic, l.partition, offset)
	l.mu.Unlock()
	if err := l.dir.sparing(l.dir.startOffsets.write); err != nil {
		return err
	}
	l.dir.keeper.later(func() {
		if _, err := l.ApplyRetention(); err != nil && !l.isClosed() {
			l.dir.log.Warn("retention", "topic", l.topic, "partition", l.partition, "err", err)
		}
	})
	return nil
}
