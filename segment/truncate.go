package segment

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"millrace/segment/producer"
)

// Truncate drops everything from offset on; a batch that offset is inside of goes whole. When it returns nil the
// files are cut and that is on the disk. Appends wait meanwhile, reads that may not wait answer ErrWouldBlock. Blocking.
func (l *Log) Truncate(offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.cutting && !l.closed {
		l.idle.Wait()
	}
	if l.closed || l.closing {
		return ErrClosed
	}
	if err := l.dir.offline(); err != nil {
		return err
	}
	if offset >= l.end.Load() {
		return nil
	}
	if offset < l.start.Load() {
		return ErrOffsetOutOfRange
	}
	// What stays has to be in the files.
	for l.durable.Load() < l.end.Load() && !l.closed {
		if err := l.dir.offline(); err != nil {
			return err
		}
		if l.cfg.Durability == Async {
			l.flushTarget = l.end.Load()
		}
		l.submit()
		l.idle.Wait()
	}
	if l.closed {
		return ErrClosed
	}
	l.cutting = true
	err := l.leaveJournal()
	l.waitLanded()
	if err == nil && (l.closed || l.closing) {
		err = ErrClosed
	}
	if err == nil {
		err = l.cutAt(offset)
	}
	l.cutting = false
	l.idle.Broadcast()
	for _, s := range l.segments {
		if s.rolled && !s.sealed { // the keeper met the truncation
			s.sealing = false
			l.sealWhenWritten(s)
		}
	}
	if err != nil && !errors.Is(err, ErrClosed) {
		err = fmt.Errorf("truncate %s to offset %d: %w", l.path, offset, err)
		l.dir.failSoon(err)
	}
	return err
}

// waitLanded waits until nothing of the log is under way, or never will be again. Under l.mu.
func (l *Log) waitLanded() {
	for l.swapping || l.pointing || (l.inFlight || l.writing) && !l.dir.writer.dead.Load() {
		l.idle.Wait()
	}
}

// leaveJournal brings everything committed to the segment files, on the disk, and waits until the journal has nothing of the
// log any more: a start would write it again over what is changed now. Nothing is appended meanwhile, since l.cutting is set.
// Under l.mu, which it releases.
func (l *Log) leaveJournal() error {
	l.emptying = true
	for l.firstUnwritten() != nil && !l.closed {
		if err := l.dir.offline(); err != nil {
			return err
		}
		l.submit()
		l.idle.Wait()
	}
	l.emptying = false
	l.mu.Unlock()
	defer l.mu.Lock()
	var err error
	for _, f := range l.unflushedFiles(nil) {
		if err == nil {
			if err = l.dir.disk.Fsync(f.out.fd); err == nil {
				f.flushed()
			}
		}
		f.out.Release()
	}
	for err == nil && l.journaled >= l.dir.journal.Live() {
		if !l.dir.rounds.recycle() {
			if err = l.dir.offline(); err == nil && l.isClosing() {
				err = ErrClosed
			}
		}
	}
	return err
}

// cutAt does Truncate's work. l.mu is held at the beginning and the end and released while files are changed: l.cutting
// keeps everybody else away.
func (l *Log) cutAt(offset int64) error {
	// Jobs of the keeper that were under way when cutting began must be over.
	l.mu.Unlock()
	l.dir.keeper.drain()
	l.mu.Lock()
	l.tail.drop()
	l.marks.reset()
	l.points.reset()
	l.pending = nil
	if l.prepared != nil {
		l.prepared.discard(l.dir.disk)
		l.prepared = nil
	}
	keep := l.segmentIndex(offset)
	gone := l.segments[keep+1:]
	l.segments = l.segments[:keep+1]
	for _, s := range gone {
		s.dropped = true
	}
	seg := l.segments[keep]
	l.mu.Unlock()
	next, err := l.cutFiles(seg, gone, offset)
	l.mu.Lock()
	if err != nil {
		return err
	}
	return l.afterCut(seg, next)
}

// cutFiles removes the segments behind seg, newest first, and cuts seg before the batch that holds offset.
// It returns the offset that is appended next.
func (l *Log) cutFiles(seg *segment, gone []*segment, offset int64) (next int64, err error) {
	pos, next, err := l.positionOf(seg, offset)
	if err != nil {
		return 0, err
	}
	// Before anything is gone: a start that is told of more than it finds takes it for lost.
	if err := l.lowerRecoveryPoint(next); err != nil {
		return 0, err
	}
	for i := len(gone) - 1; i >= 0; i-- {
		s := gone[i]
		s.closeOut()
		s.closeHandle()
		s.closeIndexes()
		if err := removeSegmentFiles(l.dir.disk, s.path); err != nil {
			return 0, err
		}
	}
	for _, at := range l.snapshots() {
		if at > offset {
			if err := l.dir.disk.Remove(filepath.Join(l.path, baseName(at)+snapshotSuffix)); err != nil {
				return 0, err
			}
		}
	}
	if err := syncDir(l.dir.disk, l.path); err != nil {
		return 0, err
	}
	seg.closeOut()
	seg.closeHandle()
	seg.closeIndexes()
	fd, err := l.dir.disk.Open(seg.path+logSuffix, unix.O_RDWR)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	if err := l.dir.disk.Truncate(fd, pos); err != nil {
		return 0, err
	}
	return next, l.dir.disk.Fsync(fd)
}

// lowerRecoveryPoint takes the recovery point back to offset, on the disk.
func (l *Log) lowerRecoveryPoint(offset int64) error {
	l.mu.Lock()
	higher := l.recoveryPoint > offset
	if higher {
		l.recoveryPoint = offset
		l.dir.recoveryPoints.set(l.topic, l.partition, offset)
		l.dir.compaction.cutEnd(l, offset)
	}
	l.mu.Unlock()
	if !higher {
		return nil
	}
	if err := l.dir.recoveryPoints.write(); err != nil {
		return err
	}
	return l.dir.compaction.write()
}

// positionOf is where the batch that holds offset begins, by the file alone, and the offset that goes there.
func (l *Log) positionOf(seg *segment, offset int64) (pos, next int64, err error) {
	scan, f, err := l.scanFile(seg)
	if err != nil {
		return 0, 0, err
	}
	defer f.Release()
	defer scan.close()
	least := seg.baseOffset
	if x := seg.indexes.Load(); x != nil {
		if entry, at := x.offsets.Lookup(offset - 1); at > 0 {
			if b, err := scan.batchAt(int64(at), seg.baseOffset, 0, false); err == nil && b != nil && b.LastOffset() == entry {
				pos, least = int64(at), b.BaseOffset()
			}
		}
	}
	for pos < seg.size {
		b, err := scan.batchAt(pos, least, -1<<31, false)
		if err != nil {
			return 0, 0, err
		}
		if b == nil || b.LastOffset() >= offset {
			break
		}
		pos, least = pos+int64(b.Size()), b.NextOffset()
	}
	return pos, least, nil
}

// afterCut brings the log's state to what the files are now: as after a start.
func (l *Log) afterCut(seg *segment, next int64) error {
	fresh := newSegment(l.path, seg.baseOffset)
	seg.dropped = true
	l.segments[len(l.segments)-1] = fresh
	if err := l.recoverAt(len(l.segments)-1, next); err != nil {
		return err
	}
	end := max(fresh.nextOffset, l.start.Load())
	l.end.Store(end)
	l.durable.Store(end)
	l.notified.Store(min(l.notified.Load(), end))
	l.flushTarget = min(l.flushTarget, end)
	l.epochs.cutEnd(end)
	l.dir.keeper.later(l.saveEpochs)
	l.producers = producer.New(l.cfg.ProducerExpirationMs)
	return l.recoverProducers(end)
}
