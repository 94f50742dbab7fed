package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// minEntries is the least an index has room for.
const minEntries = 2

// file is what the memory-mapped indexes share: a file of fixed-size entries, a
// published count, and a map that comes and goes.
type file struct {
	path  string
	id    fileID
	entry int // bytes per entry

	// count is the number of published entries: each of them is whole in the map
	// before count says so. Written by the appender, read by anyone.
	count atomic.Int64
	// current is the map, nil while there is none. The holder of this pointer owns
	// one reference; whoever swaps it out releases that reference.
	current atomic.Pointer[mapping]
	// failure is the first reason why a look-up had to do without the index.
	failure atomic.Pointer[error]

	mu       sync.Mutex // serialises making maps, sealing and closing
	size     int        // bytes to map: all that is preallocated; under mu
	writable bool       // under mu; the appender reads it without, being the one who clears it
	closed   bool       // under mu
}

// create makes the file new, with room for maxBytes of entries, two at least: any
// value of segment.index.bytes gives a usable index. An older file of that name is
// unlinked, not truncated: somebody may still have it mapped.
func (x *file) create(maxBytes int) error {
	size := max(maxBytes/x.entry, minEntries) * x.entry
	if err := os.Remove(x.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("create index: %w", err)
	}
	f, err := os.OpenFile(x.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("create index: %w", err)
	}
	defer f.Close()
	if err := x.reserve(f, size); err != nil {
		os.Remove(x.path)
		return err
	}
	return nil
}

// reserve allocates size bytes of disk and makes x writable over them.
func (x *file) reserve(f *os.File, size int) error {
	if err := preallocate(f, int64(size)); err != nil {
		return fmt.Errorf("allocate index %s, %d bytes: %w", x.path, size, err)
	}
	fi, err := f.Stat()
	if err != nil {
		return fmt.Errorf("create index: %w", err)
	}
	x.id, x.size, x.writable = idOf(fi), size, true
	return nil
}

// preallocate gives the file its blocks, so that a store into the map cannot meet
// a full disk. A file system without fallocate gets zeros written, which has the
// same effect.
func preallocate(f *os.File, size int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, size)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return fillZeros(f, size)
		}
		return err
	}
}

func fillZeros(f *os.File, size int64) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	var zeros [4096]byte
	for at := fi.Size(); at < size; {
		n, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at)
		if err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}

// acquire returns the map with a reference the caller must release.
func (x *file) acquire() (*mapping, error) {
	for {
		m := x.current.Load()
		if m == nil {
			return x.mapIn()
		}
		if m.acquire() {
			if !m.used.Load() {
				m.used.Store(true)
			}
			return m, nil
		}
	}
}

func (x *file) mapIn() (*mapping, error) {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil, ErrClosed
	}
	if m := x.current.Load(); m != nil && m.acquire() {
		x.mu.Unlock()
		return m, nil
	}
	data, err := mapFile(x.path, x.id, x.size, x.writable)
	if err != nil {
		x.mu.Unlock()
		return nil, err
	}
	m := &mapping{data: data, owner: x, gone: make(chan struct{}), slot: -1}
	m.refs.Store(2) // the owner's and the caller's
	x.current.Store(m)
	x.mu.Unlock()
	maps.add(m)
	return m, nil
}

// unmap gives up the map, if there is one; readers finish undisturbed. It returns
// the map so that a caller may wait for its end.
func (x *file) unmap() *mapping {
	m := x.current.Swap(nil)
	if m == nil {
		return nil
	}
	maps.remove(m)
	m.release()
	return m
}

// seal makes the index read-only and cuts the file to its published entries. Look-ups
// never wait for the file system: they find the smaller, read-only map before the
// file is cut, and the old map outlives those that still read it. On error the index
// is sealed all the same, and the file keeps a tail of zeros, which opening it cuts.
func (x *file) seal() error {
	x.mu.Lock()
	if x.closed || !x.writable {
		x.mu.Unlock()
		return nil
	}
	size := int(x.count.Load()) * x.entry
	x.writable, x.size = false, size
	old := x.unmap()
	x.mu.Unlock()

	// A reader may hold a count from before a truncation and look at entries that
	// are about to be cut: it must not meet a missing page.
	if old != nil {
		<-old.gone
	}
	f, _, err := openSame(x.path, os.O_RDWR, x.id)
	if err != nil {
		return fmt.Errorf("seal index: %w", err)
	}
	defer f.Close()
	if err := f.Truncate(int64(size)); err != nil {
		return fmt.Errorf("seal index: %w", err)
	}
	return nil
}

// close seals the index if it is being written, and unmaps it for good. A file
// that is no longer under its name is left alone.
func (x *file) close() error {
	err := x.seal()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	x.unmap()
	return err
}

// fail remembers why the index could not be used, unless it is empty or closed:
// then nothing is lost.
func (x *file) fail(err error) {
	if x.count.Load() > 0 {
		x.failure.CompareAndSwap(nil, &err)
	}
}

// Err is why a look-up had to do without the index, nil if none had to. The index
// is then best rebuilt from the log.
func (x *file) Err() error {
	if p := x.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// Path is the name the file was opened by.
func (x *file) Path() string { return x.path }

// Entries is the number of published entries.
func (x *file) Entries() int { return int(x.count.Load()) }

// Release gives up the map until the index is next used. Concurrent look-ups
// finish undisturbed.
func (x *file) Release() { x.unmap() }

// faulted is deferred around accesses to a map, after debug.SetPanicOnFault(true)
// returned old: it restores the setting and turns a fault into *err.
func faulted(old bool, m *mapping, err *error) {
	debug.SetPanicOnFault(old)
	r := recover()
	if r != nil {
		if _, ok := r.(interface{ Addr() uintptr }); !ok {
			panic(r)
		}
		*err = errFault
	}
	m.release()
}
