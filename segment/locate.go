package segment

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sort"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"millrace/segment/batch"
)

// place is where a batch is.
type place struct {
	seg        *segment
	pos        int64
	size       int64 // of the batch, bytes
	base, last int64 // its offsets
}

// header is what a look-up reads of a batch.
const headerSize = batch.HeaderSize

// parseHeader reads the batch header h, found at pos, and says whether it can be one: everything but the CRC. Offsets
// must be at or above least.
func (s *segment) parseHeader(h []byte, pos, least, size int64) (place, bool) {
	b := batch.Batch(h)
	p := place{seg: s, pos: pos, size: int64(b.Length()) + batch.LogOverhead, base: b.BaseOffset(), last: b.LastOffset()}
	ok := b.Magic() == 2 && p.size >= headerSize && pos+p.size <= size && p.base >= least && p.last >= p.base
	return p, ok
}

// window is scratch memory for headers read from files.
type window struct{ b [16 << 10]byte }

var windows = sync.Pool{New: func() any { return new(window) }}

// locate finds the batch that holds offset, or the first after it. The offset is below the end. ErrWouldBlock if
// block is false and a page is not in memory.
func (l *Log) locate(offset int64, block bool) (place, error) {
	l.mu.Lock()
	if err := l.readable(block); err != nil {
		l.mu.Unlock()
		return place{}, err
	}
	if m, ok := l.points.find(offset); ok {
		// The end of a write is where the next batch begins.
		if p, ok := l.at(m); ok {
			l.mu.Unlock()
			return p, nil
		}
	}
	if len(l.segments) == 0 {
		l.mu.Unlock()
		return place{}, ErrOffsetOutOfRange
	}
	seg := l.segments[l.segmentIndex(offset)]
	l.mu.Unlock()
	p, found, err := l.locateIn(seg, offset, block)
	if found || err != nil {
		return p, err
	}
	l.mu.Lock()
	next, size, legal := l.after(seg), seg.size, l.gapsBelow
	l.mu.Unlock()
	switch {
	case seg.replaced.Load():
		return place{}, errReplaced
	case next == nil:
		return place{}, ErrOffsetOutOfRange
	case next.baseOffset <= legal:
		return l.locate(next.baseOffset, block)
	}
	// Segments follow each other without a gap: this one was cut at the end of a batch, or one behind it is gone.
	return place{}, l.corrupt(seg, badRange{from: size, to: size, fromOffset: offset, toOffset: next.baseOffset})
}

// readable says why the log cannot be read now. It waits for a truncation if block says so. Under l.mu.
func (l *Log) readable(block bool) error {
	for l.cutting && !l.closed {
		if !block {
			return ErrWouldBlock
		}
		l.idle.Wait()
	}
	if l.closed {
		return ErrClosed
	}
	return nil
}

// segmentIndex is the index of the last segment that begins at or before offset; 0 if none does. Under l.mu.
func (l *Log) segmentIndex(offset int64) int {
	i := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].baseOffset > offset })
	return max(i-1, 0)
}

// at reads the header of the batch that begins at m from memory. Under l.mu.
func (l *Log) at(m mark) (place, bool) {
	seg, pos := m.seg, m.pos
	if seg.dropped {
		return place{}, false
	}
	if pos == seg.size {
		i := l.segmentIndex(m.offset)
		if seg = l.segments[i]; seg.baseOffset != m.offset {
			return place{}, false
		}
		pos = 0
	}
	var h [headerSize]byte
	if l.tail.copyOut(seg, pos, h[:]) < headerSize {
		return place{}, false
	}
	p, ok := seg.parseHeader(h[:], pos, m.offset, seg.size)
	return p, ok
}

// locateIn finds the first batch of seg whose last offset is at or above offset.
func (l *Log) locateIn(seg *segment, offset int64, block bool) (place, bool, error) {
	pos, least, checked := int64(0), seg.baseOffset, true
	x, err := l.indexesOf(seg, block)
	if err != nil {
		return place{}, false, err
	}
	if x != nil {
		if entry, at := x.offsets.Lookup(offset); at > 0 {
			pos, least, checked = int64(at), entry, false
		}
	}
	p, found, err := l.scan(seg, pos, least, offset, checked, block)
	if errors.Is(err, errBadIndex) {
		if !block {
			return place{}, false, ErrWouldBlock
		}
		l.indexIsBad(seg)
		p, found, err = l.scan(seg, 0, seg.baseOffset, offset, true, block)
	}
	return p, found, err
}

// errBadIndex: the batch at an index entry's position is not the entry's.
var errBadIndex = errors.New("index does not match log")

// scan walks headers from pos on. Unless checked, pos comes from an index entry, and the batch there must end with
// offset least.
func (l *Log) scan(seg *segment, pos, least, offset int64, checked, block bool) (place, bool, error) {
	w := windows.Get().(*window)
	defer windows.Put(w)
	from, have := int64(0), 0 // the window holds bytes [from, from+have)
	for {
		if bad, ok := seg.badAt(pos); ok && pos >= bad.from {
			if offset < bad.toOffset {
				return place{}, false, l.corrupt(seg, bad)
			}
			pos, least, checked = bad.to, bad.toOffset, true // an index entry may point into it
		}
		var h []byte
		l.mu.Lock()
		size, end := seg.size, seg.nextOffset
		if pos >= size {
			l.mu.Unlock()
			return place{}, false, nil
		}
		var until int64
		written := seg.written
		if n := l.tail.copyOut(seg, pos, w.b[:headerSize]); n == headerSize {
			h, have = w.b[:headerSize], 0
		} else {
			// A header is never half in memory unless its slab is being recycled: the file has all of it, up to
			// the first slab that is not written.
			until = l.inFile(seg, pos)
		}
		l.mu.Unlock()
		if h == nil && (pos < from || pos+headerSize > from+int64(have)) {
			n, err := l.fill(seg, w.b[:min(int64(len(w.b)), until-pos)], pos, written, block)
			if err != nil {
				return place{}, false, err
			}
			from, have = pos, n
			if n < headerSize {
				return place{}, false, l.corrupt(seg, badRange{from: pos, to: size, fromOffset: least, toOffset: seg.nextOffset})
			}
		}
		if h == nil {
			h = w.b[pos-from:][:headerSize]
		}
		p, ok := seg.parseHeader(h, pos, 0, size)
		ok = ok && p.last < end
		if !checked {
			if !ok || p.last != least {
				return place{}, false, errBadIndex
			}
			checked = true
		} else if !ok || p.base < least {
			return place{}, false, l.corrupt(seg, badRange{from: pos, to: size, fromOffset: least, toOffset: least})
		}
		if p.last >= offset {
			return p, true, nil
		}
		pos, least = pos+p.size, p.last+1
	}
}

// inFile is up to where bytes from pos on are certainly in the file: what is written. Under l.mu.
func (l *Log) inFile(seg *segment, pos int64) int64 {
	return max(seg.written, min(pos+headerSize, seg.size))
}

func (l *Log) corrupt(seg *segment, b badRange) error {
	l.dir.stats.corruptReads.Add(1)
	if !seg.reported.Swap(true) {
		l.dir.scrubber.suspect(l, seg)
		l.dir.log.Error("read of a damaged range", "file", seg.path+logSuffix, "from", b.from, "to", b.to,
			"fromOffset", b.fromOffset, "toOffset", b.toOffset)
	}
	return fmt.Errorf("%w: %s bytes %d to %d (offset %d on)", ErrCorrupt, seg.path+logSuffix, b.from, b.to, b.fromOffset)
}

// fill reads up to len(b) bytes of the file, of which the first written are; at least one unless the file ends. The disk is
// asked for what the reader of the batches will want next, if it can be past the page cache.
func (l *Log) fill(seg *segment, b []byte, pos, written int64, block bool) (int, error) {
	f, err := seg.open(l.dir.files, block)
	if err != nil {
		return 0, l.gone(seg, err)
	}
	defer f.Release()
	f.cold.Written(written)
	if n := f.cold.Copy(b, pos); n >= headerSize {
		return n, nil
	}
	n, err := f.pread(b, pos, false)
	if block && errors.Is(err, ErrWouldBlock) {
		if mem, hold := f.cold.Load(pos, len(b), false); hold != nil {
			n = copy(b, mem)
			hold.Release()
			if n >= headerSize {
				return n, nil
			}
		}
	}
	if block && (err != nil || n < min(len(b), headerSize)) {
		n, err = f.pread(b, pos, true)
	}
	if err == nil && !block && n < min(len(b), headerSize) {
		return 0, ErrWouldBlock // the rest of a header is on a page that is not there
	}
	return n, err
}

// gone says that a segment was deleted under a reader: to it the offset is out of range.
func (l *Log) gone(seg *segment, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return ErrClosed
	case seg.replaced.Load():
		return errReplaced
	case seg.dropped:
		return ErrOffsetOutOfRange
	}
	return err
}

// pread reads at pos; with block false only what is in the page cache, else ErrWouldBlock.
func (f *file) pread(b []byte, pos int64, block bool) (int, error) {
	for {
		var n int
		var err error
		if block {
			n, err = unix.Pread(f.fd, b, pos)
		} else {
			n, err = preadNowait(f.fd, b, pos)
		}
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, unix.EINTR):
			continue
		case !block && errors.Is(err, unix.EAGAIN):
			return 0, ErrWouldBlock
		case !block && errors.Is(err, unix.EOPNOTSUPP):
			block = true // a file system in memory: nothing to wait for
			continue
		}
		return 0, fmt.Errorf("read %d bytes at %d: %w", len(b), pos, err)
	}
}

// preadNowait is preadv2 with RWF_NOWAIT, made directly because unix.Preadv2 builds iovecs on the heap.
func preadNowait(fd int, b []byte, pos int64) (int, error) {
	v := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	n, _, errno := unix.Syscall6(unix.SYS_PREADV2, uintptr(fd), uintptr(unsafe.Pointer(&v)), 1, uintptr(pos), 0, unix.RWF_NOWAIT)
	runtime.KeepAlive(&v)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// indexesOf returns the segment's indexes, opened if it is sealed or rests and they are not yet. Nil: there are none, look-ups
// walk from the start of the segment.
func (l *Log) indexesOf(seg *segment, block bool) (*indexes, error) {
	if x := seg.indexes.Load(); x != nil {
		return x, nil
	}
	l.mu.Lock()
	usable := seg.sealed || seg.resting
	l.mu.Unlock()
	if !usable {
		return nil, nil
	}
	if !block {
		return nil, ErrWouldBlock
	}
	seg.openMu.Lock()
	defer seg.openMu.Unlock()
	if x := seg.indexes.Load(); x != nil {
		return x, nil
	}
	if seg.replaced.Load() {
		return nil, errReplaced
	}
	x, err := openIndexes(seg.path, seg.baseOffset)
	if err == nil && l.lacksEntries(seg, x) {
		err = errors.New("it has no entries")
	}
	if err != nil {
		l.dir.log.Warn("index unusable, rebuilding it from the log", "file", seg.path, "err", err)
		if x, err = l.mendIndexes(seg); errors.Is(err, unix.ENOSPC) {
			return nil, nil
		} else if err != nil {
			return nil, l.gone(seg, err)
		}
		return x, nil
	}
	return l.adopt(seg, x), nil
}

// adopt makes x the indexes of a segment that is not written, and returns those that are. seg.openMu is held.
func (l *Log) adopt(seg *segment, x *indexes) *indexes {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !seg.sealed && !seg.resting { // appended to again
		x.offsets.Release()
		x.times.Release()
		return seg.indexes.Load()
	}
	seg.indexes.Store(x)
	return x
}

// mendIndexes rebuilds the indexes of a segment that is not written. seg.openMu is held.
func (l *Log) mendIndexes(seg *segment) (*indexes, error) {
	l.mu.Lock()
	if !seg.sealed && !seg.resting {
		defer l.mu.Unlock()
		return seg.indexes.Load(), nil
	}
	seg.mending = true
	l.mu.Unlock()
	x, err := l.rebuildIndexes(seg)
	if err == nil {
		x = l.adopt(seg, x)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	seg.mending = false
	l.idle.Broadcast()
	return x, err
}

// lacksEntries says that a sealed segment's indexes are empty though its batches must have left entries: the files
// were emptied, or their pages never reached the disk.
func (l *Log) lacksEntries(seg *segment, x *indexes) bool {
	if seg.size == 0 {
		return false
	}
	if x.offsets.Entries() == 0 && seg.size > 1<<20 {
		return true
	}
	if x.times.Entries() > 0 {
		return false
	}
	scan, f, err := l.scanFile(seg)
	if err != nil {
		return false
	}
	defer f.Release()
	defer scan.close()
	first, err := scan.batchAt(0, seg.baseOffset, math.MinInt32, false)
	return err == nil && first != nil && first.MaxTimestamp() >= 0 && first.Count() > 0
}

// indexIsBad has the indexes of a sealed segment rebuilt, once, by the next look-up that may wait.
func (l *Log) indexIsBad(seg *segment) {
	l.mu.Lock()
	usable := seg.sealed || seg.resting
	l.mu.Unlock()
	if !usable {
		return
	}
	seg.openMu.Lock()
	defer seg.openMu.Unlock()
	if seg.replaced.Load() {
		return
	}
	l.dir.log.Warn("index does not match the log, rebuilding it", "file", seg.path)
	if _, err := l.mendIndexes(seg); err != nil {
		l.dir.log.Warn("index not rebuilt", "file", seg.path, "err", err)
	}
}
