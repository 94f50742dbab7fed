package segment

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"millrace/segment/uring"
)

const (
	// writeDepth is how many segment files are written at once. Their flushes are merged below us: with 16 partitions, 16 at
	// once were a sixth to a third faster than 4.
	writeDepth = 16
	// maxWrite is the most bytes of one write, unless a single batch is larger.
	maxWrite = 4 << 20
)

// Engine carries the writer's operations to the disk.
type Engine = uring.Engine

// writer is the one goroutine that writes the log files of a dir, and its commit journal.
//
// Appenders put logs with something to write on a list and ring only if the writer sleeps. In each turn it decides
// for each log how its new bytes are committed (commit.go): by one write to its segment, or together with those of
// other logs by one write to the journal. It takes everything pending of a log and leaves it alone until that is done, so
// that the next write grows meanwhile. There is no linger and no timer. What was committed by the journal goes to
// its segment later (spill).
type writer struct {
	dir    *Dir
	engine Engine

	mu      sync.Mutex
	pending []*Log // pushed, not taken yet
	closing bool
	// sleeping: the goroutine is, or is about to be, blocked in the engine and must be woken for new work.
	sleeping atomic.Bool
	stopped  chan struct{} // closed when the goroutine has ended
	dead     atomic.Bool   // the engine failed: what is under way never lands

	// Of the goroutine only.
	taken    []*Log
	small    queue[*Log] // wait for the next turn of the journal
	files    queue[*Log] // to be committed by a write or a flush of their own; wait for a free flight
	spills   queue[*Log] // to be spilled, likewise; these come second
	room     int64       // for the turn that is put together
	free     []*flight
	turn     *turnFlight
	done     []*uring.Op
	yielded  time.Time
	underWay int
}

func newWriter(d *Dir, e Engine) (*writer, error) {
	w := &writer{dir: d, engine: e, stopped: make(chan struct{})}
	for range e.Depth() - 1 {
		mem, err := unix.Mmap(-1, 0, blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			w.unmap()
			return nil, fmt.Errorf("mmap: %w", err)
		}
		f := &flight{bounce: mem}
		f.op.Owner = f
		w.free = append(w.free, f)
	}
	var err error
	if w.turn, err = newTurnFlight(); err != nil {
		w.unmap()
		return nil, err
	}
	return w, nil
}

func (w *writer) unmap() {
	for _, f := range w.free {
		_ = unix.Munmap(f.bounce)
	}
	w.free = nil
	if w.turn != nil {
		w.turn.content.Free()
	}
}

// push hands in a log with something to write. Called under Log.mu by whoever set l.queued, who then rings.
func (w *writer) push(l *Log) {
	w.mu.Lock()
	w.pending = append(w.pending, l)
	w.mu.Unlock()
}

// ring wakes the goroutine if it sleeps.
func (w *writer) ring() {
	if w.sleeping.Load() && w.sleeping.CompareAndSwap(true, false) {
		w.engine.Wake()
	}
}

// close makes the goroutine end when nothing is left to do, and waits for that.
func (w *writer) close() {
	w.mu.Lock()
	w.closing = true
	w.mu.Unlock()
	w.ring()
	<-w.stopped
}

// take sorts what was pushed into the queues. It says whether to end.
func (w *writer) take() (closing bool) {
	w.mu.Lock()
	w.pending, w.taken = w.taken[:0], w.pending
	closing = w.closing
	w.mu.Unlock()
	for i, l := range w.taken {
		l.mu.Lock()
		l.queued = false
		w.enqueue(l)
		l.mu.Unlock()
		w.taken[i] = nil
	}
	return closing
}

// run is the goroutine.
func (w *writer) run(started chan<- error) {
	defer close(w.stopped)
	if err := w.engine.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	for {
		closing := w.take()
		w.startReady()
		if w.underWay == 0 && closing && w.files.len()+w.spills.len()+w.small.len() == 0 {
			break
		}
		w.sleeping.Store(true)
		if w.mustNotSleep(closing) && w.sleeping.CompareAndSwap(true, false) {
			continue
		}
		var err error
		w.done, err = w.engine.Wait(w.done[:0])
		w.sleeping.Store(false)
		if len(w.done) > 0 {
			w.takeDone()
			w.yield()
		}
		if err != nil {
			// Nothing can be said about what is under way: it stays unacknowledged, and its memory stays the
			// engine's.
			w.dead.Store(true)
			w.dir.journal.Break()
			w.dir.fail(fmt.Errorf("I/O engine %s: %w", w.engine.Name(), err))
			return
		}
	}
	w.engine.Close()
	w.unmap()
}

// yieldAfter is how often the writer gives the scheduler a chance, when it has just told of what was finished. The scheduler's
// monitor takes the processor from a goroutine that never does, whenever that makes a system call, and looks every 20 us to
// do so: at full load 14 to 20 % of the broker's CPU.
const yieldAfter = 5 * time.Millisecond

func (w *writer) yield() {
	if now := time.Now(); now.Sub(w.yielded) > yieldAfter {
		w.yielded = now
		runtime.Gosched()
	}
}

// takeDone takes in the finished operations.
func (w *writer) takeDone() {
	if b := w.dir.opts.Burst; b != nil {
		b.Hold()
		defer b.Release()
	}
	for i, op := range w.done {
		w.underWay--
		switch owner := op.Owner.(type) {
		case *flight:
			w.complete(owner)
		case *turnFlight:
			w.completeTurn(owner)
		}
		w.done[i] = nil
	}
}

// mustNotSleep looks again, after sleeping was announced, for work that was pushed before.
func (w *writer) mustNotSleep(closing bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return (len(w.pending) > 0 && (len(w.free) > 0 || !w.turn.flying)) || w.closing != closing
}

// enqueue puts the log where its next operations wait. Under Log.mu, with l.queued false.
func (w *writer) enqueue(l *Log) {
	switch w.commitForm(l) {
	case viaJournal:
		l.queued = true
		w.small.push(l)
	case viaSegment, flushOnly:
		l.queued = true
		w.files.push(l)
	case noCommit:
		l.idle.Broadcast()
	}
	if !l.spillQueued && l.spillDue() {
		l.spillQueued = true
		w.spills.push(l)
	}
}

// startReady begins operations while there is work and room under way. Spills leave one flight to commits.
func (w *writer) startReady() {
	for again := true; again; {
		for w.files.len() > 0 && len(w.free) > 0 {
			w.startCommit(w.files.pop())
		}
		if again = !w.turn.flying && w.small.len() > 0; again {
			w.startTurn() // which may find that some are better written by themselves
		}
	}
	for w.spills.len() > 0 && len(w.free) > 1 {
		w.startSpill(w.spills.pop())
	}
}

// startCommit begins a write or flush that makes new bytes of the log durable, if it is still wanted.
func (w *writer) startCommit(l *Log) {
	f := w.free[len(w.free)-1]
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queued = false
	ok := false
	switch w.commitForm(l) {
	case viaSegment:
		ok = f.prepareCommit(l)
		l.writing = l.writing || ok
	case flushOnly:
		ok = f.prepareFlush(l)
	default:
		// What it was queued for is done or has to wait, and what was handed in meanwhile was not looked at.
		w.enqueue(l)
		return
	}
	if !ok {
		l.idle.Broadcast()
		return
	}
	l.inFlight = true
	w.fly(f)
}

// startSpill begins a write of committed bytes, if it is still wanted.
func (w *writer) startSpill(l *Log) {
	f := w.free[len(w.free)-1]
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spillQueued = false
	if !l.spillDue() || !f.prepareSpill(l) {
		l.idle.Broadcast()
		return
	}
	l.writing = true
	w.fly(f)
}

func (w *writer) fly(f *flight) {
	w.free = w.free[:len(w.free)-1]
	f.begun = time.Now()
	w.launch(&f.op)
}

func (w *writer) launch(op *uring.Op) {
	w.underWay++
	w.dir.stats.inFlight.Add(1)
	w.engine.Queue(op)
}

// complete takes in a finished operation on a segment file: the durable offset advances and the owner is told, once.
func (w *writer) complete(f *flight) {
	l, seg := f.log, f.seg
	w.account(&f.op, f.begun)
	if f.op.Err != nil {
		// A failed write or flush is final: what the kernel dropped is not found out by asking again.
		w.dir.fail(fmt.Errorf("%s %s at %d: %w", opName(f.op.Kind), seg.path+logSuffix, f.op.Off, f.op.Err))
	}
	l.mu.Lock()
	l.inFlight = l.inFlight && f.form == spilling
	l.writing = l.writing && f.form == flushOnly
	durable := int64(-1)
	if f.op.Err == nil && w.dir.offline() == nil {
		durable = f.completed()
	}
	if !l.queued {
		w.enqueue(l)
	}
	l.idle.Broadcast()
	l.mu.Unlock()
	f.out.Release()
	f.log, f.seg, f.out, f.upTo = nil, nil, nil, mark{}
	w.free = append(w.free, f)
	if durable >= 0 {
		l.notifyDurable(durable)
	}
}

// account counts a finished operation.
func (w *writer) account(op *uring.Op, begun time.Time) {
	s := &w.dir.stats
	s.inFlight.Add(-1)
	s.latency.observe(time.Since(begun))
	if op.Kind == uring.Datasync {
		s.flushes.Add(1)
		return
	}
	s.writes.Add(1)
	s.writtenBytes.Add(int64(op.Bytes))
	if op.Durable {
		s.flushes.Add(1)
	}
}

func opName(k uring.Kind) string {
	if k == uring.Datasync {
		return "flush"
	}
	return "write"
}

// queue is first come, first served. It does not allocate once it has grown.
type queue[T any] struct {
	items []T
	head  int
}

func (q *queue[T]) len() int { return len(q.items) - q.head }

func (q *queue[T]) push(v T) { q.items = append(q.items, v) }

func (q *queue[T]) first() T { return q.items[q.head] }

func (q *queue[T]) pop() T {
	var zero T
	v := q.items[q.head]
	q.items[q.head] = zero
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	} else if q.head > 1024 && q.head*2 > len(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	return v
}
