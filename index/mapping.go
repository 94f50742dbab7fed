package index

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// mapping is one memory map of an index file. It lives until its owner and all
// readers have released it; the last one unmaps.
type mapping struct {
	data  []byte
	owner *file
	// refs is one for the owner plus one per reader; at zero the map is gone and
	// stays so.
	refs atomic.Int32
	// used is the clock's second-chance bit, set by readers.
	used atomic.Bool
	// gone is closed after munmap.
	gone chan struct{}
	// slot is the place in the clock, -1 if none; guarded by clock.mu.
	slot int
}

// acquire takes a reference, unless the map is already gone.
func (m *mapping) acquire() bool {
	for {
		n := m.refs.Load()
		if n == 0 {
			return false
		}
		if m.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (m *mapping) release() {
	if m.refs.Add(-1) != 0 {
		return
	}
	data := m.data
	m.data = nil
	// munmap of a map we made fails only if the range is wrong, which would be a
	// bug; the address space it keeps then is harmless.
	_ = unix.Munmap(data)
	close(m.gone)
}

// fileID tells one file from another that later got its name.
type fileID struct{ dev, ino uint64 }

func idOf(fi os.FileInfo) fileID {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}
	}
	return fileID{uint64(st.Dev), st.Ino}
}

// openSame opens path if it is still the file with this id.
func openSame(path string, flag int, id fileID) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && idOf(fi) != id {
		err = fmt.Errorf("open %s: %w", path, os.ErrNotExist)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// mapFile maps the first size bytes of the file.
func mapFile(path string, id fileID, size int, writable bool) ([]byte, error) {
	flag, prot := os.O_RDONLY, unix.PROT_READ
	if writable {
		flag, prot = os.O_RDWR, unix.PROT_READ|unix.PROT_WRITE
	}
	f, fi, err := openSame(path, flag, id)
	if err != nil {
		return nil, fmt.Errorf("map index: %w", err)
	}
	defer f.Close()
	if fi.Size() < int64(size) {
		return nil, corrupt(path, "%d bytes in file, %d expected", fi.Size(), size)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, size, prot, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map index %s, %d bytes: %w", path, size, err)
	}
	return data, nil
}
