package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"sync/atomic"
)

const timeEntry = 12

// Time maps timestamps to offsets: the .timeindex file. An entry (t, o) says that
// no record before offset o has a timestamp greater than t, and that the batch of
// o has one equal to t.
//
// Append, Truncate, Seal and Close are for one goroutine at a time. All else is
// for any goroutine.
type Time struct {
	file
	base int64
	max  int // entries
	// version is odd while Truncate changes entries under readers, which then look
	// again: an entry of 12 bytes cannot be loaded in one piece.
	version  atomic.Int64
	lastTs   atomic.Int64
	lastOffs atomic.Int64
}

// CreateTime makes a new, empty, writable index with room for maxBytes/12
// entries (at least two), which are allocated on disk. A file of that name is replaced.
func CreateTime(path string, baseOffset int64, maxBytes int) (*Time, error) {
	x := newTime(path, baseOffset)
	if err := x.create(maxBytes); err != nil {
		return nil, err
	}
	x.max = x.size / timeEntry
	return x, nil
}

// OpenTime opens the index of a sealed segment, read-only, and checks it: size a
// multiple of 12, timestamps strictly rising, offsets not falling, else
// ErrCorrupt. A zero tail is cut off.
func OpenTime(path string, baseOffset int64) (*Time, error) {
	x := newTime(path, baseOffset)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	defer f.Close()
	if err := x.load(f); err != nil {
		return nil, err
	}
	x.max = x.Entries()
	return x, nil
}

// ReopenTime opens an existing index to append to it again, as OpenTime checks
// it, and allocates it up to maxBytes.
func ReopenTime(path string, baseOffset int64, maxBytes int) (*Time, error) {
	x := newTime(path, baseOffset)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	defer f.Close()
	if err := x.load(f); err != nil {
		return nil, err
	}
	size := max(maxBytes/timeEntry, x.Entries(), minEntries) * timeEntry
	if err := x.reserve(f, size); err != nil {
		return nil, err
	}
	x.max = size / timeEntry
	return x, nil
}

func newTime(path string, base int64) *Time {
	x := &Time{file: file{path: path, entry: timeEntry}, base: base}
	x.lastTs.Store(-1)
	x.lastOffs.Store(base)
	return x
}

func (x *Time) load(f *os.File) error {
	lastTs, lastRel := int64(-1), uint32(0)
	check := func(i int, e []byte) error {
		ts, rel := decodeTime(e)
		if ts <= lastTs || rel < lastRel || rel > math.MaxInt32 {
			return corrupt(x.path, "entry %d (timestamp %d, offset %d) does not rise above (%d, %d)",
				i, ts, rel, lastTs, lastRel)
		}
		lastTs, lastRel = ts, rel
		return nil
	}
	if err := x.scan(f, check); err != nil {
		return err
	}
	x.lastTs.Store(lastTs)
	x.lastOffs.Store(x.base + int64(lastRel))
	return nil
}

func decodeTime(e []byte) (ts int64, rel uint32) {
	return int64(binary.BigEndian.Uint64(e)), binary.BigEndian.Uint32(e[8:])
}

// Append adds an entry: ts is the greatest timestamp of the segment so far, and
// offset the one of the batch that has it (as Kafka: the last offset of that
// batch). It is ignored unless ts is greater than the last entry's. ErrFull means
// that there is no room.
func (x *Time) Append(ts, offset int64) (err error) {
	n := int(x.count.Load())
	switch {
	case !x.writable:
		return fmt.Errorf("append %s: %w", x.path, ErrReadOnly)
	case ts <= x.lastTs.Load() || ts == 0 && offset == x.base:
		return nil
	case n >= x.max || offset-x.base > math.MaxInt32:
		return ErrFull
	case offset < x.lastOffs.Load():
		return fmt.Errorf("append %s: offset %d below the last entry's %d", x.path, offset, x.lastOffs.Load())
	}
	if err := x.store(n, ts, uint32(offset-x.base)); err != nil {
		return fmt.Errorf("append %s at entry %d: %w", x.path, n, err)
	}
	x.lastTs.Store(ts)
	x.lastOffs.Store(offset)
	x.count.Store(int64(n) + 1)
	return nil
}

func (x *Time) store(n int, ts int64, rel uint32) (err error) {
	m, err := x.acquire()
	if err != nil {
		return err
	}
	defer faulted(debug.SetPanicOnFault(true), m, &err)
	e := m.data[n*timeEntry : (n+1)*timeEntry]
	binary.BigEndian.PutUint64(e, uint64(ts))
	binary.BigEndian.PutUint32(e[8:], rel)
	return nil
}

// Lookup returns the largest entry whose timestamp is at most ts, or (-1, base
// offset) if there is none or the index cannot be read: the first record with a
// timestamp of at least ts is at or after that offset's batch. Any goroutine.
func (x *Time) Lookup(ts int64) (entryTs, entryOffset int64) {
	for {
		v := x.version.Load()
		entryTs, entryOffset, err := x.search(int(x.count.Load()), ts)
		if v&1 != 0 || x.version.Load() != v {
			continue // overtaken by Truncate
		}
		if err != nil {
			x.fail(fmt.Errorf("look up %s: %w", x.path, err))
			return -1, x.base
		}
		return entryTs, entryOffset
	}
}

func (x *Time) search(n int, ts int64) (entryTs, entryOffset int64, err error) {
	if n == 0 {
		return -1, x.base, nil
	}
	m, err := x.acquire()
	if err != nil {
		return 0, 0, err
	}
	defer faulted(debug.SetPanicOnFault(true), m, &err)
	entryTs, entryOffset = -1, x.base
	lo, hi := 0, min(n, len(m.data)/timeEntry)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t, rel := decodeTime(m.data[mid*timeEntry:]); t <= ts {
			lo, entryTs, entryOffset = mid+1, t, x.base+int64(rel)
		} else {
			hi = mid
		}
	}
	return entryTs, entryOffset, nil
}

// Last returns the last entry; ok is false, and the entry (-1, base offset), if
// there is none.
func (x *Time) Last() (ts, offset int64, ok bool) {
	if x.count.Load() == 0 {
		return -1, x.base, false
	}
	return x.lastTs.Load(), x.lastOffs.Load(), true
}

// Full says that the segment must roll. It keeps the last slot free for the entry
// that is written when the segment is sealed, as Kafka does.
func (x *Time) Full() bool { return int(x.count.Load()) >= x.max-1 }

// Truncate drops the entries at or above offset. It does nothing to a sealed
// index.
func (x *Time) Truncate(offset int64) {
	n := int(x.count.Load())
	if !x.writable || n == 0 {
		return
	}
	x.version.Add(1)
	defer x.version.Add(1)
	keep, lastTs, lastOffs, err := x.below(n, offset)
	if err != nil {
		x.fail(fmt.Errorf("truncate %s: %w", x.path, err))
		keep, lastTs, lastOffs = 0, -1, x.base
	}
	x.count.Store(int64(keep))
	x.lastTs.Store(lastTs)
	x.lastOffs.Store(lastOffs)
	if err := x.clear(keep, n); err != nil {
		x.fail(fmt.Errorf("truncate %s: %w", x.path, err))
	}
}

// below counts the entries under offset and returns the last of them.
func (x *Time) below(n int, offset int64) (keep int, lastTs, lastOffs int64, err error) {
	m, err := x.acquire()
	if err != nil {
		return 0, 0, 0, err
	}
	defer faulted(debug.SetPanicOnFault(true), m, &err)
	lastTs, lastOffs = -1, x.base
	for lo, hi := 0, n; lo < hi; {
		mid := int(uint(lo+hi) >> 1)
		if ts, rel := decodeTime(m.data[mid*timeEntry:]); x.base+int64(rel) < offset {
			lo, keep, lastTs, lastOffs = mid+1, mid+1, ts, x.base+int64(rel)
		} else {
			hi = mid
		}
	}
	return keep, lastTs, lastOffs, nil
}

// Seal makes the index read-only and cuts the file to its entries; look-ups go on
// meanwhile. Not on an event loop. A second call does nothing.
func (x *Time) Seal() error { return x.seal() }

// Close seals a writable index and unmaps it; look-ups then answer (-1, base
// offset). It may be called twice.
func (x *Time) Close() error {
	err := x.close()
	x.count.Store(0)
	return err
}
