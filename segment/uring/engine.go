package uring

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Kind says what an Op does.
type Kind int8

const (
	// Write writes the iovecs at Off.
	Write Kind = iota
	// Datasync is fdatasync of the file.
	Datasync
)

// MaxIovecs is the most iovecs an Op may have (the kernel's limit).
const MaxIovecs = 1024

// Op is one operation on a file.
type Op struct {
	Kind Kind
	Fd   int
	Off  int64 // position in the file, bytes
	// Iov is what to write. The engine may change it when it continues a short write.
	Iov []unix.Iovec
	// Bytes is the sum of the lengths in Iov.
	Bytes int
	// Durable asks for RWF_DSYNC: the bytes are on the disk when the operation is done.
	Durable bool
	// Owner is for the caller.
	Owner any

	// Err is the result, valid when Wait has returned the Op.
	Err error

	done int   // bytes written so far, of Bytes
	slot int32 // place in the ring's in-flight table
}

// Engine carries out operations. See the package comment for who may call what.
type Engine interface {
	// Name is "ring" or "pwritev2".
	Name() string
	// Start is called once by the goroutine that will own the engine.
	Start() error
	// Queue takes an operation. At most Depth may be under way at a time.
	Queue(op *Op)
	// Depth is how many operations may be under way.
	Depth() int
	// Wait submits what was queued and blocks until an operation is done or Wake was called, whichever is
	// first, and appends the operations that are done to done. After an error the engine is unusable and the
	// fate of what is under way unknown.
	Wait(done []*Op) ([]*Op, error)
	// Wake makes the current or the next Wait return. Any goroutine, at any time; after Close it does nothing.
	Wake()
	// Close frees the engine. Nothing may be under way.
	Close()
}

// New returns the engine of the given kind ("auto", "ring" or "pwritev2") and the reason for the choice.
// "auto" probes the ring and falls back. It is not started yet.
func New(kind string, depth int) (e Engine, why string, err error) {
	switch kind {
	case "pwritev2":
		return newPwrite(depth), "configured", nil
	case "ring":
		if err := probeRing(); err != nil {
			return nil, "", fmt.Errorf("I/O engine ring: %w", err)
		}
		e, err = newRing(depth)
		return e, "configured", err
	case "auto", "":
		if err := probeRing(); err != nil {
			return newPwrite(depth), err.Error(), nil
		}
		e, err = newRing(depth)
		return e, "probe passed", err
	}
	return nil, "", fmt.Errorf("unknown I/O engine %q (auto, ring, pwritev2)", kind)
}

// shortWriteAlign is the granularity at which a short write is continued: what O_DIRECT demands.
const shortWriteAlign = 4096

// advance accounts n more bytes written and trims the iovecs to what is left, down to an aligned position.
// It says whether the operation is finished. A write that made no progress fails rather than
// being tried for ever.
func (op *Op) advance(n int) (finished bool) {
	if op.done+n >= op.Bytes {
		op.done = op.Bytes
		return true
	}
	aligned := (op.Off + int64(n)) &^ (shortWriteAlign - 1)
	n = int(aligned - op.Off)
	if n <= 0 {
		op.Err = fmt.Errorf("write of %d bytes at %d: %w", op.Bytes-op.done, op.Off, unix.EIO)
		return true
	}
	op.done += n
	op.Off += int64(n)
	for n > 0 {
		v := &op.Iov[0]
		if uint64(n) < v.Len {
			v.Base = addBase(v.Base, n)
			v.Len -= uint64(n)
			break
		}
		n -= int(v.Len)
		op.Iov = op.Iov[1:]
	}
	return false
}
