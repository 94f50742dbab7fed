package segmenttest

import (
	"sync"

	"golang.org/x/sys/unix"

	"millrace/segment"
	"millrace/segment/uring"
)

// Disk implements segment.Disk with faults.
type Disk struct {
	segment.RealDisk

	mu      sync.Mutex
	engine  *engine
	fail    []error // for the next operations, nil: let this one pass
	tear    int     // bytes that reach the file before the next failure
	holding bool
	limited bool
	free    int64
	writes  int
}

// NewDisk makes a disk without faults.
func NewDisk() *Disk { return &Disk{} }

// FailNext makes operations fail with the given errors, one each in the order they are begun; nil lets one pass.
func (d *Disk) FailNext(errs ...error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = append(d.fail, errs...)
}

// TearNext makes the next write fail with EIO after its first n bytes have reached the file.
func (d *Disk) TearNext(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail, d.tear = append(d.fail, unix.EIO), n
}

// Hold keeps operations begun from now on from reaching the disk until Resume.
func (d *Disk) Hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holding = true
}

// Resume lets held operations go.
func (d *Disk) Resume() {
	d.mu.Lock()
	d.holding = false
	e := d.engine
	d.mu.Unlock()
	if e != nil {
		e.Wake()
	}
}

// SetFree makes the file system have n bytes left for allocation; negative: no limit.
func (d *Disk) SetFree(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.limited, d.free = n >= 0, n
}

// Operations is how many writes and flushes were begun.
func (d *Disk) Operations() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writes
}

// Fallocate implements segment.Disk.
func (d *Disk) Fallocate(fd int, off, size int64) error {
	d.mu.Lock()
	if d.limited && size > d.free {
		d.mu.Unlock()
		return unix.ENOSPC
	}
	d.free -= size
	d.mu.Unlock()
	return d.RealDisk.Fallocate(fd, off, size)
}

// Engine implements segment.Disk.
func (d *Disk) Engine(e segment.Engine) segment.Engine {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.engine = &engine{Engine: e, disk: d}
	return d.engine
}

// engine stands before the real one. Its lists are the owner goroutine's.
type engine struct {
	segment.Engine
	disk   *Disk
	failed []*uring.Op
	held   []*uring.Op
}

func (e *engine) Queue(op *uring.Op) {
	d := e.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes++
	if len(d.fail) > 0 {
		err := d.fail[0]
		d.fail = d.fail[1:]
		if err != nil {
			d.tearLocked(op)
			op.Err = err
			e.failed = append(e.failed, op)
			return
		}
	}
	if d.holding {
		e.held = append(e.held, op)
		return
	}
	e.Engine.Queue(op)
}

// tearLocked writes the first bytes of op, as a disk may that loses power.
func (d *Disk) tearLocked(op *uring.Op) {
	n := min(d.tear, op.Bytes)
	d.tear = 0
	off := op.Off
	for _, v := range op.Iov {
		if n <= 0 {
			return
		}
		k := min(n, int(v.Len))
		b := uring.Bytes(v)[:k]
		// A file opened with O_DIRECT takes whole blocks only; the test's file is opened again without.
		if err := pwriteBuffered(op.Fd, b, off); err != nil {
			return
		}
		n, off = n-k, off+int64(k)
	}
}

func (e *engine) Wait(done []*uring.Op) ([]*uring.Op, error) {
	e.release()
	if len(e.failed) > 0 {
		done = append(done, e.failed...)
		e.failed = nil
		return done, nil
	}
	done, err := e.Engine.Wait(done)
	e.release()
	return done, err
}

func (e *engine) release() {
	e.disk.mu.Lock()
	holding := e.disk.holding
	e.disk.mu.Unlock()
	if holding {
		return
	}
	for _, op := range e.held {
		e.Engine.Queue(op)
	}
	e.held = nil
}
