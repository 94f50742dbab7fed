package segment

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"millrace/segment/cold"
)

// file is an open segment file with counted holders. The segment holds one reference; each Range handed out
// holds one. Retention unlinks at once; the last holder closes.
type file struct {
	fd   int
	refs atomic.Int32
	used atomic.Bool // since the handle cache last came by
	cold cold.File   // the same, past the page cache
}

// openFile opens path for reading with one reference, the caller's. What is not in the page cache may be read into
// blocks, if that is not nil.
func openFile(path string, blocks *cold.Cache) (*file, error) {
	fd, err := openFd(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	f := newFile(fd)
	f.cold.Open(blocks, fd)
	return f, nil
}

// newFile takes over fd, with one reference, the caller's.
func newFile(fd int) *file {
	f := &file{fd: fd}
	f.refs.Store(1)
	return f
}

func (f *file) tryRetain() bool {
	for {
		n := f.refs.Load()
		if n == 0 {
			return false
		}
		if f.refs.CompareAndSwap(n, n+1) {
			if !f.used.Load() {
				f.used.Store(true)
			}
			return true
		}
	}
}

// Release gives a reference back; the last one closes the file.
func (f *file) Release() {
	switch n := f.refs.Add(-1); {
	case n == 0:
		f.cold.Close()
		unix.Close(f.fd)
	case n < 0:
		panic("segment: file released more often than retained")
	}
}

// Hold keeps bytes in memory until it is released, by one of these. Spent says that they were used to the end.
type Hold = interface {
	Release()
	Spent()
}

// Retain takes one more reference; the caller has one, or somebody who waits for it.
func (f *file) Retain() { f.refs.Add(1) }

// Cached returns what is in memory of the bytes at off: nil, or as many as are there, with what holds them until it is
// released. It does not wait.
func (f *file) Cached(off int64) ([]byte, Hold) {
	if mem, b := f.cold.Cached(off); b != nil {
		return mem, b
	}
	return nil, nil
}

// Load is Cached, but reads need bytes or more from the disk, for later if ahead says so. Nil: by way of the page cache,
// then.
func (f *file) Load(off int64, need int, ahead bool) ([]byte, Hold) {
	if mem, b := f.cold.Load(off, need, ahead); b != nil {
		return mem, b
	}
	return nil, nil
}

// openFd opens a file; the descriptor is never 0, which a Range takes for "none".
func openFd(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o644)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return -1, &os.PathError{Op: "open", Path: path, Err: err}
		}
		if fd != 0 {
			return fd, nil
		}
		other, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
		unix.Close(0)
		if err != nil {
			return -1, &os.PathError{Op: "open", Path: path, Err: err}
		}
		return other, nil
	}
}

// readFull reads exactly len(b) bytes at off, waiting for the disk.
func readFull(fd int, b []byte, off int64) error {
	for len(b) > 0 {
		n, err := unix.Pread(fd, b, off)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %d bytes at %d: %w", len(b), off, err)
		}
		if n == 0 {
			return fmt.Errorf("read %d bytes at %d: file ends: %w", len(b), off, ErrCorrupt)
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}
