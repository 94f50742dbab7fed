package data

import "sync"

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
	_ = op.collect(true) // never ErrWouldBlock when it may block
	op.finish()
}
