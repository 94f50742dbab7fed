package segment

import (
	"sync"
	"sync/atomic"
	"time"
)

// rounds is the dir's goroutine for checkpoints. In each round, for all logs at once:
//
//	the journal's file is ended, if it is nearly full or somebody waits for it to be recycled
//	what is committed goes to the segment files, and is flushed
//	producer snapshots are written where many bytes have passed since the last
//	recovery points are advanced, on the disk
//	the journal's files up to the one that was ended are free again
//
// It also makes journal files, which takes writing them.
type rounds struct {
	dir   *Dir
	wake  chan struct{} // capacity 1
	quit  chan struct{}
	done  chan struct{}
	asked atomic.Bool

	due atomic.Bool // a round is wanted

	mu      sync.Mutex
	waiting []chan<- bool // of those who want the journal cut as well; they hear whether it was recycled

	failedAt time.Time // when a journal file could not be made
}

func newRounds(d *Dir) *rounds {
	return &rounds{dir: d, wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
}

// ask has the goroutine look whether there is anything to do. Any goroutine, with any lock held.
func (r *rounds) ask() {
	if r.asked.Load() || r.asked.Swap(true) {
		return
	}
	r.wake <- struct{}{} // there is room: nobody else has asked since the last look
}

// request asks for a round.
func (r *rounds) request() {
	if !r.due.Swap(true) {
		r.ask()
	}
}

// recycle waits for a round that ends the journal's file, and says whether everything that was in the journal
// before was recycled. False: a log is being truncated, or the dir is offline or closed. No lock is held.
func (r *rounds) recycle() bool {
	answer := make(chan bool, 1)
	r.mu.Lock()
	r.waiting = append(r.waiting, answer)
	r.mu.Unlock()
	r.ask()
	select {
	case ok := <-answer:
		return ok
	case <-r.done:
		return false
	}
}

func (r *rounds) run() {
	defer close(r.done)
	for {
		select {
		case <-r.quit:
			return
		case <-r.wake:
		}
		r.asked.Store(false)
		if r.dir.offline() == nil {
			r.prepare()
		}
		r.mu.Lock()
		waiting := r.waiting
		r.waiting = nil
		r.mu.Unlock()
		due := r.due.Swap(false) || r.dir.journal.Full()
		if !due && len(waiting) == 0 {
			continue
		}
		ok := r.dir.offline() == nil && r.dir.checkpointRound(len(waiting) > 0)
		for _, c := range waiting {
			c <- ok
		}
		if !ok && r.dir.journal.Full() && r.dir.offline() == nil {
			time.AfterFunc(roundAgain, r.ask)
		}
		r.prepare()
	}
}

const (
	// roundAgain is when a round that could not recycle the journal is repeated.
	roundAgain = 50 * time.Millisecond
	// prepareAgain is when a journal file that could not be made is tried again.
	prepareAgain = 5 * time.Second
)

// prepare makes a journal file if one is wanting. Without one commits go to the segments.
func (r *rounds) prepare() {
	d := r.dir
	if d.opts.Commit == commitDirect || !d.journal.Wanting() || time.Since(r.failedAt) < prepareAgain || d.reserveGone.Load() {
		return
	}
	if err := d.journal.Prepare(); err != nil {
		r.failedAt = time.Now()
		d.log.Warn("no journal file; commits go to the segments", "dir", d.opts.Path, "err", err)
	}
}

func (r *rounds) close() {
	close(r.quit)
	<-r.done
}
