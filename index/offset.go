package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"sync/atomic"
)

const offsetEntry = 8

// Offset maps offsets to positions in the log file: the .index file.
//
// Append, Truncate, Seal and Close are for one goroutine at a time. All else is
// for any goroutine.
type Offset struct {
	file
	base int64
	max  int // entries
	// last is the last published entry, relative offset in the upper half,
	// position in the lower: look-ups at the tail need no map.
	last atomic.Uint64
}

// CreateOffset makes a new, empty, writable index with room for maxBytes/8
// entries (at least two), which are allocated on disk. A file of that name is replaced.
func CreateOffset(path string, baseOffset int64, maxBytes int) (*Offset, error) {
	x := &Offset{file: file{path: path, entry: offsetEntry}, base: baseOffset}
	if err := x.create(maxBytes); err != nil {
		return nil, err
	}
	x.max = x.size / offsetEntry
	return x, nil
}

// OpenOffset opens the index of a sealed segment, read-only. It reads all entries
// once: size a multiple of 8, offsets and positions strictly rising, else
// ErrCorrupt. A zero tail, left when the process died before the file was cut, is
// cut off. Nothing stays open or mapped until the first Lookup.
func OpenOffset(path string, baseOffset int64) (*Offset, error) {
	x := &Offset{file: file{path: path, entry: offsetEntry}, base: baseOffset}
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

// ReopenOffset opens an existing index to append to it again, as OpenOffset
// checks it, and allocates it up to maxBytes.
func ReopenOffset(path string, baseOffset int64, maxBytes int) (*Offset, error) {
	x := &Offset{file: file{path: path, entry: offsetEntry}, base: baseOffset}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	defer f.Close()
	if err := x.load(f); err != nil {
		return nil, err
	}
	size := max(maxBytes/offsetEntry, x.Entries(), minEntries) * offsetEntry
	if err := x.reserve(f, size); err != nil {
		return nil, err
	}
	x.max = size / offsetEntry
	return x, nil
}

// load checks all entries, cuts a zero tail and publishes the rest.
func (x *Offset) load(f *os.File) error {
	var last uint64
	check := func(i int, e []byte) error {
		v := binary.BigEndian.Uint64(e)
		if v>>32 > math.MaxInt32 {
			return corrupt(x.path, "entry %d: relative offset %d", i, v>>32)
		}
		if i > 0 && (v>>32 <= last>>32 || uint32(v) <= uint32(last)) {
			return corrupt(x.path, "entry %d (offset %d, position %d) does not rise above (%d, %d)",
				i, v>>32, uint32(v), last>>32, uint32(last))
		}
		last = v
		return nil
	}
	if err := x.scan(f, check); err != nil {
		return err
	}
	x.last.Store(last)
	return nil
}

// Append adds an entry: the batch that ends with offset starts at pos. It copies
// what Kafka does, which enters the last offset of a batch together with the
// position of its first byte; kafka-dump-log checks that. Both must rise from
// entry to entry. ErrFull means that there is no room or that offset is too far
// from the base offset. The entry is visible to look-ups when Append returns; it
// is not on disk. The entry (base offset, 0) says nothing and is left out: zeros
// are the end of the file.
func (x *Offset) Append(offset int64, pos uint32) (err error) {
	n := int(x.count.Load())
	switch {
	case !x.writable:
		return fmt.Errorf("append %s: %w", x.path, ErrReadOnly)
	case offset == x.base && pos == 0:
		return nil
	case n >= x.max || offset-x.base > math.MaxInt32:
		return ErrFull
	}
	last := x.last.Load()
	rel := uint64(offset - x.base)
	if offset < x.base || n > 0 && (rel <= last>>32 || pos <= uint32(last)) {
		return fmt.Errorf("append %s: entry (offset %d, position %d) does not rise above (%d, %d)",
			x.path, offset, pos, x.base+int64(last>>32), uint32(last))
	}
	v := rel<<32 | uint64(pos)
	if err := x.store(n, v); err != nil {
		return fmt.Errorf("append %s at entry %d: %w", x.path, n, err)
	}
	x.last.Store(v)
	x.count.Store(int64(n) + 1)
	return nil
}

func (x *Offset) store(n int, v uint64) (err error) {
	m, err := x.acquire()
	if err != nil {
		return err
	}
	defer faulted(debug.SetPanicOnFault(true), m, &err)
	binary.BigEndian.PutUint64(m.data[n*offsetEntry:], v)
	return nil
}

// Lookup returns the largest entry at or below offset, or (base offset, 0) if
// there is none or the index cannot be read. Any goroutine; no lock, no
// allocation once the index is mapped.
func (x *Offset) Lookup(offset int64) (entryOffset int64, pos uint32) {
	n := int(x.count.Load())
	rel := offset - x.base
	if n == 0 || rel < 0 {
		return x.base, 0
	}
	if last := x.last.Load(); uint64(rel) >= last>>32 {
		return x.base + int64(last>>32), uint32(last)
	}
	v, err := x.search(n, uint64(rel))
	if err != nil {
		x.fail(fmt.Errorf("look up %s: %w", x.path, err))
		return x.base, 0
	}
	return x.base + int64(v>>32), uint32(v)
}

// search returns the largest of the first n entries whose relative offset is at
// most rel, 0 if there is none. An entry is one aligned 8-byte load, so even a
// reader that is overtaken by Truncate and Append sees whole entries.
func (x *Offset) search(n int, rel uint64) (v uint64, err error) {
	m, err := x.acquire()
	if err != nil {
		return 0, err
	}
	defer faulted(debug.SetPanicOnFault(true), m, &err)
	data := m.data
	n = min(n, len(data)/offsetEntry)
	bound := rel<<32 | math.MaxUint32
	lo, hi := 0, n
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if e := binary.BigEndian.Uint64(data[mid*offsetEntry:]); e <= bound {
			lo, v = mid+1, e
		} else {
			hi = mid
		}
	}
	return v, nil
}

// Last returns the last entry; ok is false, and the entry (base offset, 0), if
// there is none.
func (x *Offset) Last() (offset int64, pos uint32, ok bool) {
	if x.count.Load() == 0 {
		return x.base, 0, false
	}
	v := x.last.Load()
	return x.base + int64(v>>32), uint32(v), true
}

// Full says that Append would answer ErrFull.
func (x *Offset) Full() bool { return int(x.count.Load()) >= x.max }

// Truncate drops the entries at or above offset. It does nothing to a sealed
// index.
func (x *Offset) Truncate(offset int64) {
	n := int(x.count.Load())
	if !x.writable || n == 0 {
		return
	}
	keep, last, err := x.below(n, offset)
	if err != nil {
		// What cannot be read is dropped: less of an index is still a right one.
		x.fail(fmt.Errorf("truncate %s: %w", x.path, err))
		keep, last = 0, 0
	}
	x.count.Store(int64(keep))
	x.last.Store(last)
	if err := x.clear(keep, n); err != nil {
		x.fail(fmt.Errorf("truncate %s: %w", x.path, err))
	}
}

// below counts the entries under offset and returns the last of them.
func (x *Offset) below(n int, offset int64) (keep int, last uint64, err error) {
	m, err := x.acquire()
	if err != nil {
		return 0, 0, err
	}
	defer faulted(debug.SetPanicOnFault(true), m, &err)
	for lo, hi := 0, n; lo < hi; {
		mid := int(uint(lo+hi) >> 1)
		e := binary.BigEndian.Uint64(m.data[mid*offsetEntry:])
		if x.base+int64(e>>32) < offset {
			lo, keep, last = mid+1, mid+1, e
		} else {
			hi = mid
		}
	}
	return keep, last, nil
}

// Seal makes the index read-only and cuts the file to its entries; look-ups go on
// meanwhile. It changes file metadata (about a millisecond): not on an event
// loop. A second call does nothing.
func (x *Offset) Seal() error { return x.seal() }

// Close seals a writable index and unmaps it; look-ups then answer the start of
// the segment. It may be called twice.
func (x *Offset) Close() error {
	err := x.close()
	x.count.Store(0)
	return err
}
