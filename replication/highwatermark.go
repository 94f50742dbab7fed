package replication

import (
	"sync"
	"sync/atomic"
)

// Watcher is called after the high watermark of a partition it watches moved, or
// the partition went away. It runs on the goroutine that moved it (usually the
// writer's) and must not block.
type Watcher interface {
	Advanced(p *Partition)
}

// waiting holds who waits for the high watermark: acknowledgements in offset order,
// and watchers (parked fetches).
type waiting struct {
	mu       sync.Mutex
	failed   error        // set once: later waiters fail at once
	acks     []pendingAck // acks[head:], ascending by end
	head     int
	watchers []Watcher

	// telling says that a goroutine is telling others of the high watermark. It
	// goes on until all that is covered has been told, so whoever moves the high
	// watermark meanwhile (the acknowledged may append again, from within) leaves
	// the telling to it. ready and notifying are its scratch, reused.
	telling   bool
	ready     []pendingAck
	notifying []Watcher
}

type pendingAck struct {
	end   int64 // acknowledged when the high watermark reaches it
	ack   Acker
	token int
}

// add queues an acknowledgement, or gives it at once if hw has passed its end.
func (w *waiting) add(hw *atomic.Int64, end int64, ack Acker, token int) {
	w.mu.Lock()
	if w.failed != nil {
		err := w.failed
		w.mu.Unlock()
		ack.Appended(token, err)
		return
	}
	if hw.Load() >= end {
		w.mu.Unlock()
		ack.Appended(token, nil)
		return
	}
	// Two loops may append in one order and come here in the other, so the place is
	// looked for from the end: almost always the last.
	w.acks = append(w.acks, pendingAck{end, ack, token})
	for i := len(w.acks) - 1; i > w.head && w.acks[i-1].end > end; i-- {
		w.acks[i], w.acks[i-1] = w.acks[i-1], w.acks[i]
	}
	w.mu.Unlock()
}

// advanceHighWatermark moves the high watermark to offset, acknowledges what that
// covers and wakes the watchers; it may leave those to a call that is under way.
// Offsets that do not move it are ignored.
func (p *Partition) advanceHighWatermark(offset int64) {
	w := &p.waiting
	w.mu.Lock()
	defer w.mu.Unlock()
	if offset <= p.highWatermark.Load() {
		return
	}
	p.highWatermark.Store(offset)
	if w.telling {
		return
	}
	w.telling = true
	for told := int64(-1); told != p.highWatermark.Load(); {
		told = p.highWatermark.Load()
		w.collect(told)
		w.mu.Unlock()
		w.tell(p)
		w.mu.Lock()
	}
	w.telling = false
}

// collect moves what the high watermark covers, and every watcher, to the scratch.
// Called with mu held.
func (w *waiting) collect(highWatermark int64) {
	for w.head < len(w.acks) && w.acks[w.head].end <= highWatermark {
		w.ready = append(w.ready, w.acks[w.head])
		w.acks[w.head] = pendingAck{}
		w.head++
	}
	w.compact()
	w.notifying = append(w.notifying, w.watchers...)
}

// tell empties the scratch. Called by the telling goroutine, without mu.
func (w *waiting) tell(p *Partition) {
	for i := range w.ready {
		w.ready[i].ack.Appended(w.ready[i].token, nil)
		w.ready[i] = pendingAck{}
	}
	w.ready = w.ready[:0]
	for i, x := range w.notifying {
		x.Advanced(p)
		w.notifying[i] = nil
	}
	w.notifying = w.notifying[:0]
}

// compact gives the room of acknowledged entries back once they are the larger half.
func (w *waiting) compact() {
	switch {
	case w.head == len(w.acks):
		w.acks, w.head = w.acks[:0], 0
	case w.head > 64 && w.head > len(w.acks)/2:
		n := copy(w.acks, w.acks[w.head:])
		clear(w.acks[n:])
		w.acks, w.head = w.acks[:n], 0
	}
}

// fail tells everybody who waits, now and later, that nothing more will be written.
func (p *Partition) fail(err error) {
	w := &p.waiting
	w.mu.Lock()
	if w.failed == nil {
		w.failed = err
	}
	acks := append([]pendingAck(nil), w.acks[w.head:]...)
	w.acks, w.head = nil, 0
	watchers := append([]Watcher(nil), w.watchers...)
	w.mu.Unlock()
	for _, a := range acks {
		a.ack.Appended(a.token, err)
	}
	for _, x := range watchers {
		x.Advanced(p)
	}
}

// Watch adds a watcher until Unwatch. The caller looks once more at the high
// watermark after it, so that no move is missed.
func (p *Partition) Watch(x Watcher) {
	p.waiting.mu.Lock()
	p.waiting.watchers = append(p.waiting.watchers, x)
	p.waiting.mu.Unlock()
}

// Unwatch removes a watcher. A call of it may still be under way.
func (p *Partition) Unwatch(x Watcher) {
	w := &p.waiting
	w.mu.Lock()
	for i, y := range w.watchers {
		if y == x {
			last := len(w.watchers) - 1
			w.watchers[i] = w.watchers[last]
			w.watchers[last] = nil
			w.watchers = w.watchers[:last]
			break
		}
	}
	w.mu.Unlock()
}

// Watched is the number of watchers, for metrics and tests.
func (p *Partition) Watched() int {
	p.waiting.mu.Lock()
	defer p.waiting.mu.Unlock()
	return len(p.waiting.watchers)
}
