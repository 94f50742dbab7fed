//go:build uring

package uring

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"
)

// Rules about giouring kept here, each because of a bug that was reproduced:
//
//   - entry is the only caller of GetSQE, and zeroes what it gets: the library leaves flags of the
//     operation that used the slot before, which corrupts writes as soon as the ring has wrapped.
//   - Files are not registered, timeouts not used: the library's versions pass wrong memory.
//   - What an SQE points to is invisible to the garbage collector, so each Op stays in ring.inFlight until its CQE
//     has been read, and the doorbell's buffer is mapped memory.
//   - A CQE is copied before CQESeen; its result is checked against what was asked for.

// doorbellTag is the user data of the read that is always armed on the eventfd.
const doorbellTag = ^uint64(0)

type ring struct {
	depth int
	mu    sync.Mutex // guards efd against being closed while it is written
	efd   int        // -1: closed
	buf   []byte     // the eventfd's 8 bytes, in mapped memory
	// rung says that the eventfd has been written since it was last read: more writes would be wasted calls.
	rung atomic.Bool

	// Of the owning goroutine only.
	r        *giouring.Ring
	inFlight []*Op
	free     []int32
	unarmed  bool // the doorbell's read has to be queued again
}

// newRing makes the doorbell at once, so that Wake works before the owner runs; the ring itself is made by Start.
func newRing(depth int) (Engine, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	return &ring{depth: depth, efd: fd}, nil
}

// probeRing says whether this process may use io_uring as we need it: kernel, seccomp, sysctl.
func probeRing() error {
	result := make(chan error, 1)
	// A goroutine of its own, since it locks its thread and ends with it.
	go func() {
		runtime.LockOSThread()
		result <- func() error {
			r := giouring.NewRing()
			if err := r.QueueInit(4, giouring.SetupSingleIssuer|giouring.SetupDeferTaskrun); err != nil {
				return fmt.Errorf("io_uring_setup: %w", err)
			}
			defer r.QueueExit()
			sqe := r.GetSQE()
			*sqe = giouring.SubmissionQueueEntry{}
			sqe.PrepareNop()
			if _, err := r.SubmitAndWait(1); err != nil {
				return fmt.Errorf("io_uring_enter: %w", err)
			}
			return nil
		}()
	}()
	return <-result
}

func (g *ring) Name() string { return "ring" }
func (g *ring) Depth() int   { return g.depth }

func (g *ring) Start() (err error) {
	// SINGLE_ISSUER binds the ring to this thread for its whole life.
	runtime.LockOSThread()
	g.r = giouring.NewRing()
	entries := uint32(8)
	for int(entries) < g.depth+1 {
		entries *= 2
	}
	if err := g.r.QueueInit(entries, giouring.SetupSingleIssuer|giouring.SetupDeferTaskrun); err != nil {
		return fmt.Errorf("io_uring_setup: %w", err)
	}
	if g.buf, err = unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE); err != nil {
		g.r.QueueExit()
		return fmt.Errorf("mmap: %w", err)
	}
	g.inFlight = make([]*Op, g.depth)
	for i := range g.depth {
		g.free = append(g.free, int32(i))
	}
	g.unarmed = true
	return nil
}

// entry returns a zeroed submission entry. There is always one: the ring has more entries than depth.
func (g *ring) entry() *giouring.SubmissionQueueEntry {
	sqe := g.r.GetSQE()
	if sqe == nil {
		panic(fmt.Sprintf("uring: no submission entry with %d of %d operations under way", g.depth-len(g.free), g.depth))
	}
	*sqe = giouring.SubmissionQueueEntry{}
	return sqe
}

func (g *ring) Queue(op *Op) {
	op.done, op.Err = 0, nil
	op.slot = g.free[len(g.free)-1]
	g.free = g.free[:len(g.free)-1]
	g.inFlight[op.slot] = op
	g.prepare(op)
}

func (g *ring) prepare(op *Op) {
	sqe := g.entry()
	if op.Kind == Datasync {
		sqe.PrepareFsync(op.Fd, giouring.FsyncDatasync)
	} else {
		sqe.PrepareWritev(op.Fd, uintptr(unsafe.Pointer(&op.Iov[0])), uint32(len(op.Iov)), uint64(op.Off))
		if op.Durable {
			sqe.OpcodeFlags = unix.RWF_DSYNC
		}
	}
	sqe.UserData = uint64(op.slot)
}

func (g *ring) arm() {
	sqe := g.entry()
	sqe.PrepareRead(g.efd, uintptr(unsafe.Pointer(&g.buf[0])), 8, 0)
	sqe.UserData = doorbellTag
	g.unarmed = false
}

func (g *ring) Wait(done []*Op) ([]*Op, error) {
	for {
		if g.unarmed {
			g.arm()
		}
		if _, err := g.r.SubmitAndWait(1); err != nil && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return done, fmt.Errorf("io_uring_enter: %w", err)
		}
		rang := false
		before := len(done)
		for g.r.CQReady() > 0 {
			cqe, err := g.r.PeekCQE()
			if err != nil {
				return done, fmt.Errorf("read completion: %w", err)
			}
			tag, res := cqe.UserData, cqe.Res
			g.r.CQESeen(cqe)
			if tag == doorbellTag {
				if res < 0 && unix.Errno(-res) != unix.EINTR && unix.Errno(-res) != unix.EAGAIN {
					return done, fmt.Errorf("read doorbell: %w", unix.Errno(-res))
				}
				g.rung.Store(false)
				g.unarmed, rang = true, true
				continue
			}
			op := g.inFlight[tag]
			if !g.finish(op, res) {
				continue
			}
			g.inFlight[tag] = nil
			g.free = append(g.free, op.slot)
			done = append(done, op)
		}
		if rang || len(done) > before {
			// What was prepared again goes out with the next Wait.
			return done, nil
		}
	}
}

// finish evaluates a completion. False: the operation was prepared again, for its rest.
func (g *ring) finish(op *Op, res int32) bool {
	if res < 0 {
		errno := unix.Errno(-res)
		if errno == unix.EINTR || errno == unix.EAGAIN {
			g.prepare(op)
			return false
		}
		op.Err = errno
		return true
	}
	if op.Kind == Datasync || op.advance(int(res)) {
		return true
	}
	g.prepare(op)
	return false
}

var one = []byte{1, 0, 0, 0, 0, 0, 0, 0}

func (g *ring) Wake() {
	if g.rung.Swap(true) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.efd >= 0 {
		// Fails only with EINTR: the counter cannot overflow, rung keeps it at one.
		if _, err := unix.Write(g.efd, one); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (g *ring) Close() {
	// Closing the ring cancels the armed read; the buffer is unmapped after that.
	g.r.QueueExit()
	g.mu.Lock()
	unix.Close(g.efd)
	g.efd = -1
	g.mu.Unlock()
	if err := unix.Munmap(g.buf); err != nil {
		panic(fmt.Sprintf("uring: unmap doorbell: %v", err))
	}
	runtime.UnlockOSThread()
}
