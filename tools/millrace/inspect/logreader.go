package inspect

import (
	"errors"
	"fmt"
	"io"
	"os"

	"millrace/segment/batch"

	"golang.org/x/sys/unix"
)

// logReader steps through the batches of one .log file.
type logReader struct {
	f    *os.File
	size int64
	pos  int64 // of the next batch
	buf  []byte
}

// badBatch is a place in a log where no batch can be read.
type badBatch struct {
	pos  int64
	what string
}

func (e *badBatch) Error() string { return fmt.Sprintf("at %d: %s", e.pos, e.what) }

func openLog(path string) (*logReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &logReader{f: f, size: info.Size()}, nil
}

func (r *logReader) close() { r.f.Close() }

// next returns the next batch, valid until the next call, and its position. Its frame is whole; CRC and contents are
// as they are. io.EOF: the end of the file, or zeros from here on. *badBatch: there is something else.
func (r *logReader) next() (b batch.Batch, pos int64, err error) {
	pos = r.pos
	left := r.size - pos
	if left == 0 {
		return nil, pos, io.EOF
	}
	head := r.room(int(min(left, batch.HeaderSize)))
	if _, err := r.f.ReadAt(head, pos); err != nil {
		return nil, pos, fmt.Errorf("read %s at %d: %w", r.f.Name(), pos, err)
	}
	if allZero(head) {
		return nil, pos, r.zeros()
	}
	if left < batch.HeaderSize {
		return nil, pos, &badBatch{pos, fmt.Sprintf("the file ends inside the header of a batch, %d bytes are left", left)}
	}
	b = batch.Batch(head)
	switch size := int64(b.Length()) + batch.LogOverhead; {
	case b.Magic() != 2:
		return nil, pos, &badBatch{pos, fmt.Sprintf("magic %d, not a record batch v2", b.Magic())}
	case size < batch.HeaderSize:
		return nil, pos, &badBatch{pos, fmt.Sprintf("length %d is too small for a batch", b.Length())}
	case size > left:
		return nil, pos, &badBatch{pos, fmt.Sprintf("the file ends inside a batch of %d bytes, %d bytes are left", size, left)}
	}
	b = r.room(b.Size())
	if _, err := r.f.ReadAt(b, pos); err != nil {
		return nil, pos, fmt.Errorf("read %s at %d: %w", r.f.Name(), pos, err)
	}
	r.pos = pos + int64(len(b))
	return b, pos, nil
}

func (r *logReader) room(n int) []byte {
	if cap(r.buf) < n {
		r.buf = make([]byte, n, max(n, 64<<10))
	}
	return r.buf[:n]
}

// zeros returns io.EOF if the file is zero from pos on, a *badBatch if it is not.
func (r *logReader) zeros() error {
	chunk := make([]byte, 1<<20)
	for at := r.pos; at < r.size; {
		// Preallocated space is not read: it may be a gigabyte.
		switch data, err := unix.Seek(int(r.f.Fd()), at, unix.SEEK_DATA); {
		case errors.Is(err, unix.ENXIO):
			return io.EOF
		case err == nil:
			at = max(at, data)
		}
		n, err := r.f.ReadAt(chunk[:min(int64(len(chunk)), r.size-at)], at)
		if err != nil && err != io.EOF {
			return fmt.Errorf("read %s at %d: %w", r.f.Name(), at, err)
		}
		if !allZero(chunk[:n]) {
			return &badBatch{r.pos, fmt.Sprintf("zeros, but they are not the end: there is data at %d or after", at)}
		}
		if n == 0 {
			break
		}
		at += int64(n)
	}
	return io.EOF
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
