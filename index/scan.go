package index

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
)

const scanBytes = 60 << 10 // a multiple of both entry sizes

var scanBuffers = sync.Pool{New: func() any { b := make([]byte, scanBytes); return &b }}

// scan reads all entries of f, gives each to check until the first zero entry,
// and publishes their count. Entries after a zero one must be zero too: they were
// preallocated and never written; the file is cut there. It reads by pread, so a
// bad sector is an error from the kernel and not a fault.
func (x *file) scan(f *os.File, check func(i int, e []byte) error) error {
	fi, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	if fi.Size()%int64(x.entry) != 0 {
		return corrupt(x.path, "%d bytes are no multiple of %d", fi.Size(), x.entry)
	}
	buf := scanBuffers.Get().(*[]byte)
	defer scanBuffers.Put(buf)
	n, end := 0, false
	for at := int64(0); at < fi.Size(); {
		b := (*buf)[:min(scanBytes, fi.Size()-at)]
		if _, err := f.ReadAt(b, at); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read index %s at %d: %w", x.path, at, err)
		}
		for e := b; len(e) > 0; e = e[x.entry:] {
			zero := isZero(e[:x.entry])
			switch {
			case zero:
				end = true
			case end:
				return corrupt(x.path, "entry after %d is empty, a later one is not", n)
			default:
				if err := check(n, e[:x.entry]); err != nil {
					return err
				}
				n++
			}
		}
		at += int64(len(b))
	}
	if end {
		if err := f.Truncate(int64(n * x.entry)); err != nil {
			return fmt.Errorf("cut index: %w", err)
		}
	}
	x.id, x.size = idOf(fi), n*x.entry
	x.count.Store(int64(n))
	return nil
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// clear zeroes the entries from from up to to, so that after a crash the file
// still ends at its first zero entry.
func (x *file) clear(from, to int) (err error) {
	if from >= to {
		return nil
	}
	m, err := x.acquire()
	if err != nil {
		return err
	}
	defer faulted(debug.SetPanicOnFault(true), m, &err)
	clear(m.data[from*x.entry : to*x.entry])
	return nil
}
