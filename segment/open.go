package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// open recovers the log from its directory. Nobody else knows the log yet. A log that has none is empty, and gets one with
// its first segment (makeDirectory): a hundred thousand partitions that nothing was written to cost the disk nothing.
func (l *Log) open() error {
	if _, err := os.Lstat(l.path); errors.Is(err, os.ErrNotExist) {
		l.absent, l.fresh = true, true
		return l.forgetPredecessor()
	} else if err != nil {
		return err
	}
	if s := l.dir.stopped.take(l); s != nil && l.resume(s) {
		return nil
	}
	if err := l.checkPartitionMeta(); err != nil {
		return err
	}
	if start, ok := l.dir.startOffsets.get(l.topic, l.partition); ok {
		l.start.Store(start)
	}
	l.gapsBelow = l.dir.compaction.gapsBelow(l)
	l.opening = true
	err := l.recover()
	l.opening = false
	if err != nil {
		return err
	}
	if err := l.dropUnborn(); err != nil {
		return err
	}
	l.fresh = len(l.segments) == 0
	return nil
}

// dropUnborn removes the first segment of a log if it is all there is and has nothing in it: nobody knows whether directory
// and partition.metadata are on the disk. The next append makes it anew, and then they are.
func (l *Log) dropUnborn() error {
	if len(l.segments) != 1 || l.segments[0].baseOffset != 0 || l.segments[0].size != 0 {
		return nil
	}
	s := l.segments[0]
	s.closeHandle()
	s.closeIndexes()
	l.segments = nil
	return removeSegmentFiles(l.dir.disk, s.path)
}

// forgetPredecessor removes what the checkpoints know of the name of a log that has no directory: it is of a log that is
// gone, and a start after a crash would believe it of this one. That is on the disk when it returns, since the directory
// may get there at any time.
func (l *Log) forgetPredecessor() error {
	if rp, _ := l.dir.recoveryPoints.get(l.topic, l.partition); rp > 0 {
		l.dir.log.Error("directory of the partition is missing, made anew and empty", "dir", l.path, "was", rp)
	}
	for _, c := range []*offsetCheckpoint{l.dir.recoveryPoints, l.dir.startOffsets} {
		if o, ok := c.get(l.topic, l.partition); ok && o == 0 {
			continue // says nothing, and Kafka has one for each partition
		}
		if err := c.forget(l.topic, l.partition); err != nil {
			return err
		}
	}
	return l.dir.compaction.forget(l)
}

// makeDirectory makes the directory of a log that has none. It reaches the disk together with the first segment
// (naming.go): before that there is nothing in it to lose. ErrNoSpace. Under l.mu.
func (l *Log) makeDirectory() error {
	if !l.absent {
		return nil
	}
	make := func() error {
		if err := l.dir.disk.Mkdir(l.path); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if err := l.checkPartitionMeta(); err != nil || len(l.epochs.entries) == 0 {
			return err
		}
		return replaceFile(l.dir.disk, filepath.Join(l.path, epochFileName), l.epochs.format(), false)
	}
	err := make()
	if noSpace(err) {
		l.dir.hungry.Store(true)
		if l.cfg.KeepsNodeGoing && l.dir.releaseReserve() {
			err = make()
		}
	}
	if noSpace(err) {
		_ = l.dir.disk.Remove(l.path) // it goes only if it is empty
		return l.allocationFailed(l.path, 0, err)
	}
	if err != nil {
		return fmt.Errorf("make directory of the partition: %w", err)
	}
	l.absent, l.loose = false, true
	return nil
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
	for l.swapping || l.cutting || l.pointing {
		l.idle.Wait()
	}
	if l.closed {
		return nil
	}
	l.closed = true
	var errs []error
	if l.dir.offline() == nil {
		if !l.absent {
			errs = append(errs, l.closeCleanly())
		}
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
	if l.snapshotAt == path {
		return nil
	}
	if _, err := os.Stat(path); err != nil || l.producers.Len() > 0 {
		if err := replaceFile(l.dir.disk, path, l.producers.AppendSnapshot(nil), false); err != nil {
			return fmt.Errorf("producer snapshot: %w", err)
		}
	}
	return nil
}

// closedCleanly notes that all of the closed log is on the disk.
func (l *Log) closedCleanly() {
	if l.absent {
		return
	}
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
