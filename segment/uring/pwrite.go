package uring

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pwrite is the engine that calls pwritev2 from goroutines of its own, one for each operation that may be
// under way, so that several files are written at once.
type pwrite struct {
	depth int
	work  chan *Op
	done  chan *Op
	wake  chan struct{} // capacity 1: a wake-up that is not collected yet
}

func newPwrite(depth int) *pwrite {
	return &pwrite{
		depth: depth,
		work:  make(chan *Op, depth),
		done:  make(chan *Op, depth),
		wake:  make(chan struct{}, 1),
	}
}

func (p *pwrite) Name() string { return "pwritev2" }
func (p *pwrite) Depth() int   { return p.depth }

func (p *pwrite) Start() error {
	for range p.depth {
		go func() {
			for op := range p.work {
				op.run()
				p.done <- op
			}
		}()
	}
	return nil
}

func (p *pwrite) Queue(op *Op) {
	op.done, op.Err = 0, nil
	p.work <- op
}

func (p *pwrite) Wait(done []*Op) ([]*Op, error) {
	select {
	case op := <-p.done:
		done = append(done, op)
	case <-p.wake:
	}
	for {
		select {
		case op := <-p.done:
			done = append(done, op)
		default:
			return done, nil
		}
	}
}

func (p *pwrite) Wake() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *pwrite) Close() { close(p.work) }

// run carries the operation out on this goroutine.
func (op *Op) run() {
	if op.Kind == Datasync {
		op.Err = ignoringEINTR(func() error { return unix.Fdatasync(op.Fd) })
		return
	}
	for {
		n, err := op.pwritev2()
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			op.Err = err
			return
		}
		if op.advance(n) {
			return
		}
	}
}

// pwritev2 makes the system call itself: unix.Pwritev2 wants [][]byte and would build the iovecs
// again on the heap for each write.
func (op *Op) pwritev2() (int, error) {
	flags := 0
	if op.Durable {
		flags = unix.RWF_DSYNC
	}
	// The position is split into two machine words; on 64-bit systems the first holds all of it.
	n, _, errno := unix.Syscall6(unix.SYS_PWRITEV2, uintptr(op.Fd), uintptr(unsafe.Pointer(&op.Iov[0])),
		uintptr(len(op.Iov)), uintptr(op.Off), 0, uintptr(flags))
	runtime.KeepAlive(op)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func ignoringEINTR(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
