package data

import (
	"log/slog"
	"runtime/debug"
	"sync"

	"millrace/net/server"
)

// readers finish fetches whose look-ups need the disk, so that event loops do not
// wait for it. The queue takes what a loop hands over without blocking; past its
// length a fetch gets a goroutine of its own rather than stopping a loop.
type readers struct {
	queue chan *fetchOp
	done  sync.WaitGroup
}

const (
	readerCount = 8
	readerQueue = 4096
)

func (x *readers) start() {
	x.queue = make(chan *fetchOp, readerQueue)
	for range readerCount {
		x.done.Go(func() {
			for op := range x.queue {
				op.readCold()
			}
		})
	}
}

func (x *readers) stop() {
	close(x.queue)
	x.done.Wait()
}

func (x *readers) submit(op *fetchOp) {
	select {
	case x.queue <- op:
	default:
		go op.readCold()
	}
}

// readCold repeats the look with leave to wait for the disk. What it finds is
// answered, however little: a fetch that needed the disk has data or an error.
func (op *fetchOp) readCold() {
	defer contain(op.s.log, op.r)
	_ = op.collect(true) // never ErrWouldBlock when it may block
	op.finish()
}

// contain is deferred where a fetch goes on outside of the call that began it: a
// fault ends the request and its connection, and not the process, nor does it leave
// the client waiting. Its memory is left to the collector.
func contain(log *slog.Logger, r *server.Request) {
	if x := recover(); x != nil {
		log.Error("fetch failed", "fault", x, "stack", string(debug.Stack()))
		defer func() { _ = recover() }() // it may have replied before
		r.Fail("internal error")
	}
}
