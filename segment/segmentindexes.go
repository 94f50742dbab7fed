package segment

import (
	"errors"

	"golang.org/x/sys/unix"

	"millrace/index"
)

// makeIndexes creates the indexes of a new segment and enters what waited for them. Without indexes the segment
// works, slower; once it is sealed the first look-up rebuilds them.
func (l *Log) makeIndexes(seg *segment) {
	l.mu.Lock()
	bytes, gone := min(firstIndexBytes, maxIndexBytes(&l.cfg)), l.closed || seg.dropped
	l.mu.Unlock()
	if gone {
		return
	}
	x, err := createIndexes(seg.path, seg.baseOffset, bytes)
	if err != nil && l.isClosed() {
		return
	}
	if err != nil {
		l.dir.log.Warn("index not created; reads scan until it is rebuilt", "file", seg.path, "err", err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	seg.takeIndexes(x, bytes)
}

// takeIndexes makes x the segment's indexes and enters what waited.
func (s *segment) takeIndexes(x *indexes, bytes int) {
	for _, e := range s.waiting {
		x.add(e)
	}
	s.waiting = nil
	s.indexBytes = bytes
	s.growing, s.growAsked = false, false
	s.indexes.Store(x)
}

// timeIndexBytes gives a time index as many entries as an offset index of the given size, and the one slot that it
// keeps free for sealing.
func timeIndexBytes(offsetIndexBytes int) int { return (offsetIndexBytes/8 + 1) * 12 }

func createIndexes(path string, base int64, bytes int) (*indexes, error) {
	offsets, err := index.CreateOffset(path+offsetSuffix, base, bytes)
	if err != nil {
		return nil, err
	}
	times, err := index.CreateTime(path+timeSuffix, base, timeIndexBytes(bytes))
	if err != nil {
		offsets.Close()
		return nil, err
	}
	return &indexes{offsets, times}, nil
}

// openIndexes opens the indexes of a sealed segment for look-ups; it reads and checks them.
func openIndexes(path string, base int64) (*indexes, error) {
	offsets, err := index.OpenOffset(path+offsetSuffix, base)
	if err != nil {
		return nil, err
	}
	times, err := index.OpenTime(path+timeSuffix, base)
	if err != nil {
		offsets.Close()
		return nil, err
	}
	return &indexes{offsets, times}, nil
}

func reopenIndexes(path string, base int64, bytes int) (*indexes, error) {
	offsets, err := index.ReopenOffset(path+offsetSuffix, base, bytes)
	if err != nil {
		return nil, err
	}
	times, err := index.ReopenTime(path+timeSuffix, base, timeIndexBytes(bytes))
	if err != nil {
		offsets.Close()
		return nil, err
	}
	return &indexes{offsets, times}, nil
}

// growIndexes makes the indexes larger, on the keeper. Entries appended meanwhile wait.
func (l *Log) growIndexes(seg *segment) {
	l.mu.Lock()
	x := seg.indexes.Load()
	bytes := min(seg.indexBytes*8, maxIndexBytes(&l.cfg))
	skip := x == nil || seg.sealed || seg.dropped || l.closed || l.cutting || bytes <= seg.indexBytes
	seg.growing = !skip
	path := seg.path
	if skip {
		seg.growAsked = false
	}
	l.mu.Unlock()
	if skip {
		return
	}
	larger, err := reopenIndexes(path, seg.baseOffset, bytes)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		// Keep the old ones; when they are full the segment rolls or gets sparser.
		l.dir.log.Warn("index not enlarged", "file", path, "err", err)
		seg.takeIndexes(x, bytes)
		return
	}
	seg.takeIndexes(larger, bytes)
	x.offsets.Release()
	x.times.Release()
}

// openForAppend makes the segment's indexes writable. Damaged ones were rebuilt by recovery or are found by look-ups.
func (l *Log) openForAppend(seg *segment, bytes int) error {
	x, err := reopenIndexes(seg.path, seg.baseOffset, bytes)
	if err != nil && !errors.Is(err, unix.ENOSPC) {
		x, err = createIndexes(seg.path, seg.baseOffset, bytes)
	}
	if err != nil {
		return err
	}
	old := seg.indexes.Load()
	seg.takeIndexes(x, bytes)
	if old != nil {
		old.offsets.Release()
		old.times.Release()
	}
	return nil
}
