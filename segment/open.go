package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// open makes or recovers the log's directory. Nobody else knows the log yet. A directory made here reaches the disk
// together with the first segment: without one there is nothing in it to lose, and making a thousand partitions needs no
// flush.
func (l *Log) open() error {
	if _, err := os.Lstat(l.path); errors.Is(err, os.ErrNotExist) {
		if err := l.makeDirectory(); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if err := l.checkPartitionMeta(); err != nil {
		return err
	}
	if start, ok := l.dir.startOffsets.get(l.topic, l.partition); ok {
		l.start.Store(start)
	}
	l.gapsBelow = l.dir.compaction.gapsBelow(l)
	if err := l.recover(); err != nil {
		return err
	}
	l.fresh = len(l.segments) == 0
	return nil
}

// makeDirectory makes the directory of a log that has none. What the checkpoints know of the name is of a log that is gone,
// and a start after a crash would believe it of this one: it is forgotten first, on the disk, since the directory may get
// there at any time.
func (l *Log) makeDirectory() error {
	if rp, _ := l.dir.recoveryPoints.get(l.topic, l.partition); rp > 0 {
		l.dir.log.Error("directory of the partition is missing, made anew and empty", "dir", l.path, "was", rp)
	}
	if err := l.dir.recoveryPoints.forget(l.topic, l.partition); err != nil {
		return err
	}
	if err := l.dir.startOffsets.forget(l.topic, l.partition); err != nil {
		return err
	}
	if err := l.dir.compaction.forget(l); err != nil {
		return err
	}
	return l.dir.disk.Mkdir(l.path)
}

// beginClose has everything appended so far written and flushed.
func (l *Log) beginClose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closing = true
		if l.cfg.Durability == Async {
			l.flushTarget = l.end.Load()
		}
		l.submit()
	}
}

// drain waits until everything is durable and in the segment files, or cannot be any more.
func (l *Log) drain() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && (l.durable.Load() < l.end.Load() || l.firstUnwritten() != nil) {
		if err := l.dir.offline(); err != nil {
			return err
		}
		l.idle.Wait()
	}
	return nil
}

// close cuts the files to size and leaves a snapshot and a recovery point at the end; the dir makes that durable for
// all logs at once. Nothing is queued or under way unless the dir is offline.
func (l *Log) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.swapping {
		l.idle.Wait()
	}
	if l.closed {
		return nil
	}
	l.closed = true
	var errs []error
	if l.dir.offline() == nil {
		errs = append(errs, l.closeCleanly())
		l.tail.drop()
	}
	for _, s := range l.segments {
		s.closeOut()
		s.closeHandle()
		s.closeIndexes()
	}
	if l.prepared != nil {
		l.prepared.discard(l.dir.disk)
	}
	return errors.Join(errs...)
}

func (l *Log) closeCleanly() error {
	for _, s := range l.segments {
		if s.out == nil {
			continue
		}
		if err := l.dir.disk.Truncate(s.out.fd, s.size); err != nil {
			return fmt.Errorf("truncate %s to %d: %w", s.path+logSuffix, s.size, err)
		}
		if x := s.indexes.Load(); x != nil && s.maxTimestamp >= 0 {
			// A full index merely lacks its last entry.
			_ = x.times.Append(s.maxTimestamp, s.maxTimestampAt)
		}
	}
	end := l.end.Load()
	path := filepath.Join(l.path, baseName(end)+snapshotSuffix)
	if _, err := os.Stat(path); err != nil || l.producers.Len() > 0 {
		if err := replaceFile(l.dir.disk, path, l.producers.AppendSnapshot(nil), false); err != nil {
			return fmt.Errorf("producer snapshot: %w", err)
		}
	}
	return nil
}

// closedCleanly notes that all of the closed log is on the disk.
func (l *Log) closedCleanly() {
	l.recoveryPoint = l.end.Load()
	l.dir.recoveryPoints.set(l.topic, l.partition, l.recoveryPoint)
}

// closeIndexes seals and unmaps the indexes.
func (s *segment) closeIndexes() {
	if x := s.indexes.Swap(nil); x != nil {
		// What is not sealed is cut at the next start.
		_ = x.offsets.Close()
		_ = x.times.Close()
	}
}
