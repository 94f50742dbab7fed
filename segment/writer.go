package segment

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"millrace/segment/uring"
)

const (
	// writeDepth is how many files are written at once.
	writeDepth = 4
	// maxWrite is the most bytes of one write, unless a single batch is larger.
	maxWrite = 4 << 20
)

// Engine carries the writer's operations to the disk.
type Engine = uring.Engine

// writer is the one goroutine that writes the log files of a dir.
//
// Appenders put logs with something to write on a list and ring only if the writer sleeps. It takes everything
// pending of a log in one write and leaves the log alone until that is done, so that the next write grows meanwhile.
// There is no linger and no timer.
//
// Commit form: each turn writes the segments directly, one write per log. A turn with many logs and little data each
// is where the dir's commit journal would take all of it in one write; start is the place of that choice.
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
	taken []*Log
	ready []*Log // logs with work, first come first served
	head  int
	free  []*flight
	done  []*uring.Op
}

// flight is one operation under way.
type flight struct {
	op     uring.Op
	iov    []unix.Iovec
	bounce []byte // mapped memory: the last, partial block of a direct write, padded
	log    *Log
	seg    *segment
	out    *file
	upTo   mark // batch boundary that is written when the operation is done
	begun  time.Time
}

func newWriter(d *Dir, e Engine) (*writer, error) {
	w := &writer{dir: d, engine: e, stopped: make(chan struct{})}
	for range e.Depth() {
		mem, err := unix.Mmap(-1, 0, blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			w.unmap()
			return nil, fmt.Errorf("mmap: %w", err)
		}
		f := &flight{bounce: mem}
		f.op.Owner = f
		w.free = append(w.free, f)
	}
	return w, nil
}

func (w *writer) unmap() {
	for _, f := range w.free {
		_ = unix.Munmap(f.bounce)
	}
	w.free = nil
}

// push hands in a log with something to write. Called under Log.mu by whoever set l.queued.
func (w *writer) push(l *Log) {
	w.mu.Lock()
	w.pending = append(w.pending, l)
	w.mu.Unlock()
	w.ring()
}

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

// take moves what was pushed to the ready list. It says whether to end.
func (w *writer) take() (closing bool) {
	w.mu.Lock()
	w.pending, w.taken = w.taken[:0], w.pending
	closing = w.closing
	w.mu.Unlock()
	w.ready = append(w.ready, w.taken...)
	clear(w.taken)
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
	all := len(w.free)
	for {
		closing := w.take()
		w.startReady()
		underWay := all - len(w.free)
		if underWay == 0 && closing && w.head == len(w.ready) {
			break
		}
		w.sleeping.Store(true)
		if w.mustNotSleep(closing) && w.sleeping.CompareAndSwap(true, false) {
			continue
		}
		var err error
		w.done, err = w.engine.Wait(w.done[:0])
		w.sleeping.Store(false)
		for i, op := range w.done {
			w.complete(op.Owner.(*flight))
			w.done[i] = nil
		}
		if err != nil {
			// Nothing can be said about what is under way: it stays unacknowledged, and its memory stays the
			// engine's.
			w.dead.Store(true)
			w.dir.fail(fmt.Errorf("I/O engine %s: %w", w.engine.Name(), err))
			return
		}
	}
	w.engine.Close()
	w.unmap()
}

// mustNotSleep looks again, after sleeping was announced, for work that was pushed before.
func (w *writer) mustNotSleep(closing bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return (len(w.pending) > 0 && len(w.free) > 0) || w.closing != closing
}

// startReady begins operations while there are logs with work and room under way.
func (w *writer) startReady() {
	for w.head < len(w.ready) && len(w.free) > 0 {
		l := w.ready[w.head]
		w.ready[w.head] = nil
		w.head++
		w.start(l)
	}
	if w.head == len(w.ready) {
		w.ready, w.head = w.ready[:0], 0
	} else if w.head > 1024 && w.head*2 > len(w.ready) {
		n := copy(w.ready, w.ready[w.head:])
		clear(w.ready[n:])
		w.ready, w.head = w.ready[:n], 0
	}
}

// start begins the next operation of a log, if it has one.
func (w *writer) start(l *Log) {
	f := w.free[len(w.free)-1]
	l.mu.Lock()
	l.queued = false
	ok := !l.closed && !l.cutting && w.dir.offline() == nil && f.prepare(l)
	l.inFlight = ok
	if !ok {
		l.idle.Broadcast()
	}
	l.mu.Unlock()
	if !ok {
		return
	}
	w.free = w.free[:len(w.free)-1]
	w.dir.stats.inFlight.Add(1)
	f.begun = time.Now()
	w.engine.Queue(&f.op)
}

// prepare fills in the next operation: a write of the oldest segment with unwritten bytes, or a flush. Under
// Log.mu; false if there is nothing to do, or nothing that may be done yet.
func (f *flight) prepare(l *Log) bool {
	if seg := l.firstUnflushed(); seg != nil && l.flushBefore(seg) {
		return f.prepareFlush(l, seg)
	}
	seg := l.firstUnwritten()
	if seg == nil || !seg.named {
		return false
	}
	f.out = seg.retainOut()
	if f.out == nil {
		return false
	}
	f.log, f.seg = l, seg
	f.upTo = l.marks.upTo(seg, seg.written+maxWrite)
	f.gather(l)
	f.op.Kind, f.op.Fd = uring.Write, f.out.fd
	f.op.Durable = l.cfg.Durability != Async
	return true
}

// firstUnwritten is the oldest segment with bytes that are not written.
func (l *Log) firstUnwritten() *segment {
	var found *segment
	for i := len(l.segments) - 1; i >= 0 && !l.segments[i].sealed; i-- {
		if s := l.segments[i]; s.written < s.size {
			found = s
		}
	}
	return found
}

// firstUnflushed is the oldest segment with bytes written but not known to be on the disk.
func (l *Log) firstUnflushed() *segment {
	var found *segment
	for i := len(l.segments) - 1; i >= 0 && !l.segments[i].sealed; i-- {
		if s := l.segments[i]; s.flushed < s.written {
			found = s
		}
	}
	return found
}

// flushBefore says that seg, which has unflushed bytes, must be flushed before anything else is written: a flush is due
// and covers all that was asked, or the next write has to be durable together with what is before it.
func (l *Log) flushBefore(seg *segment) bool {
	if l.cfg.Durability != Async {
		return true
	}
	if l.flushTarget <= l.durable.Load() {
		return false
	}
	return l.firstUnwritten() != seg || seg.writtenOffset >= l.flushTarget
}

func (f *flight) prepareFlush(l *Log, seg *segment) bool {
	f.out = seg.retainOut()
	if f.out == nil {
		return false
	}
	f.log, f.seg = l, seg
	f.upTo = mark{seg, seg.written, seg.writtenOffset}
	f.op.Kind, f.op.Fd = uring.Datasync, f.out.fd
	return true
}

// gather builds the iovecs for bytes [seg.written, upTo.pos), widened to whole blocks with direct I/O.
func (f *flight) gather(l *Log) {
	from := f.seg.written - f.seg.written%l.dir.align
	end := f.upTo.pos
	whole := end - end%l.dir.align
	f.iov = f.iov[:0]
	i := l.tail.search(f.seg, from)
	for pos := from; pos < whole; i++ {
		ts := &l.tail.slabs[i]
		n := min(ts.end(), whole) - pos
		f.iov = append(f.iov, uring.Iovec(ts.mem[pos-ts.pos:pos-ts.pos+n]))
		pos += n
	}
	bytes := whole - from
	if whole < end {
		n := l.tail.copyOut(f.seg, whole, f.bounce[:end-whole])
		clear(f.bounce[n:])
		f.iov = append(f.iov, uring.Iovec(f.bounce))
		bytes += blockSize
	}
	f.op.Off, f.op.Iov, f.op.Bytes = from, f.iov, int(bytes)
}

// complete takes in a finished operation: the durable offset advances and the owner is told, once.
func (w *writer) complete(f *flight) {
	l, seg := f.log, f.seg
	w.account(f)
	if f.op.Err != nil {
		// A failed write or flush is final: what the kernel dropped is not found out by asking again.
		w.dir.fail(fmt.Errorf("%s %s at %d: %w", opName(f.op.Kind), seg.path+logSuffix, f.op.Off, f.op.Err))
	}
	l.mu.Lock()
	l.inFlight = false
	durable := int64(-1)
	if f.op.Err == nil && w.dir.offline() == nil {
		durable = l.completed(f)
	}
	if !l.queued && !l.closed && !l.cutting && (l.firstUnwritten() != nil || l.flushTarget > l.durable.Load()) {
		l.queued = true
		w.ready = append(w.ready, l)
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

// completed advances the log past a finished operation, under Log.mu. It returns the new durable offset or -1.
func (l *Log) completed(f *flight) int64 {
	seg := f.seg
	durable := f.op.Kind == uring.Datasync || f.op.Durable
	if f.op.Kind == uring.Write {
		seg.written, seg.writtenOffset = f.upTo.pos, f.upTo.offset
		l.marks.written(f.upTo)
		l.tail.park()
	}
	if durable {
		seg.flushed = f.upTo.pos
		l.durable.Store(f.upTo.offset)
		l.points.add(f.upTo)
		l.checkpointDurable()
	}
	l.sealWhenWritten(seg)
	if !durable {
		return -1
	}
	return f.upTo.offset
}

// account counts a finished operation.
func (w *writer) account(f *flight) {
	s := &w.dir.stats
	s.inFlight.Add(-1)
	s.latency.observe(time.Since(f.begun))
	if f.op.Kind == uring.Datasync {
		s.flushes.Add(1)
		return
	}
	s.writes.Add(1)
	s.writtenBytes.Add(int64(f.op.Bytes))
	if f.op.Durable {
		s.flushes.Add(1)
	}
}

func opName(k uring.Kind) string {
	if k == uring.Datasync {
		return "flush"
	}
	return "write"
}
