package segment

import (
	"errors"
	"fmt"
	"io/fs"
)

// sealWhenWritten hands a rolled segment to the keeper once all of it is written.
func (l *Log) sealWhenWritten(seg *segment) {
	if seg.rolled && !seg.sealing && !seg.dropped && seg.written == seg.size {
		seg.sealing = true
		l.dir.keeper.later(func() { l.seal(seg) })
	}
}

// seal cuts a rolled segment's files to size and makes all of it durable, on the keeper. After it the recovery
// point may pass the segment.
func (l *Log) seal(seg *segment) {
	l.mu.Lock()
	out := seg.retainOut()
	skip := seg.dropped || l.closed || l.cutting || out == nil
	if x := seg.indexes.Load(); x != nil && len(seg.waiting) > 0 {
		seg.takeIndexes(x, seg.indexBytes)
	}
	l.mu.Unlock()
	if out == nil {
		return
	}
	defer out.Release()
	if skip {
		return
	}
	err := l.sealFiles(seg, out)
	epochsFixed := l.epochsFixed()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || seg.dropped || l.cutting {
		return
	}
	if err != nil {
		l.dir.failSoon(fmt.Errorf("seal segment %s: %w", seg.path, err))
		return
	}
	seg.sealed, seg.allocated, seg.committed, seg.flushed = true, seg.size, seg.size, seg.size
	seg.closeOut()
	if l.durable.Load() < seg.nextOffset {
		l.durable.Store(seg.nextOffset) // an Async log: nothing else flushed it
		l.idle.Broadcast()
	}
	if epochsFixed {
		l.advanceRecoveryPoint(seg.nextOffset)
	}
}

// sealFiles does seal's work on the files. The segment is rolled and written, so nothing it reads changes.
func (l *Log) sealFiles(seg *segment, out *file) error {
	if err := l.dir.disk.Truncate(out.fd, seg.size); err != nil {
		return fmt.Errorf("truncate to %d: %w", seg.size, err)
	}
	if err := l.dir.disk.Fsync(out.fd); err != nil {
		return fmt.Errorf("fsync: %w", err)
	}
	x := seg.indexes.Load()
	if x == nil {
		return nil
	}
	if seg.maxTimestamp >= 0 {
		if err := x.times.Append(seg.maxTimestamp, seg.maxTimestampAt); err != nil {
			l.dir.log.Warn("last entry of time index not written", "file", seg.path, "err", err)
		}
	}
	if err := x.offsets.Seal(); err != nil {
		return err
	}
	if err := x.times.Seal(); err != nil {
		return err
	}
	// The recovery point passes the segment: after that its indexes are believed.
	for _, suffix := range []string{offsetSuffix, timeSuffix} {
		if err := syncFile(l.dir.disk, seg.path+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("sync index: %w", err)
		}
	}
	return nil
}
