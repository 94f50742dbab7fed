package coordinator

import (
	"fmt"
	"sync"
	"time"

	"millrace/segment/batch"
)

// DefaultMaxBatchBytes closes a batch: max.message.bytes of the internal topics
// less room for the header. Measured uncompressed, so never an estimate.
const DefaultMaxBatchBytes = 1 << 20

// keepBufferBytes is the largest batch buffer that an idle Writer keeps.
const keepBufferBytes = 64 << 10

// Writer appends the records of one coordinator to its partition. One batch is in
// flight at a time; what is appended meanwhile goes into the next one, so that
// the number of flushes follows the disk and not the number of requests.
//
// Any goroutine may call its methods; they never block.
type Writer struct {
	part     Partition
	now      func() time.Time
	maxBytes int

	mu     sync.Mutex
	queue  []*write // oldest first; the first may be written in part
	busy   bool     // a batch is in flight, or callbacks are running
	closed error    // not nil: what further appends get

	// Owned by whoever set busy.
	builder *batch.Builder
	buf     []byte
	records []Record
	taken   []*write
}

// write is the records of one Append; they stay together unless they do not fit
// into one batch.
type write struct {
	records []Record // not yet handed to the log
	err     error    // of the first batch that failed
	done    func(error)
}

// NewWriter makes a Writer for part. now stamps the records.
func NewWriter(part Partition, now func() time.Time) *Writer {
	return &Writer{part: part, now: now, maxBytes: DefaultMaxBatchBytes, builder: batch.NewBuilder()}
}

// Append queues records, in order; Flush sends them on their way. So it may be
// called under a lock that done takes. done is called once, after the last of the
// records is written or a batch with some of them has failed; callbacks run one
// after another in log order, without a lock of the Writer, and must not block.
// records is kept until then.
func (w *Writer) Append(records []Record, done func(error)) {
	w.mu.Lock()
	w.queue = append(w.queue, &write{records: records, done: done})
	w.mu.Unlock()
}

// Flush makes sure that what is queued is on its way or will be when the batch in
// flight is written. The caller must not hold a lock that a callback takes.
func (w *Writer) Flush() {
	w.mu.Lock()
	start := !w.busy && len(w.queue) > 0
	w.busy = w.busy || start
	w.mu.Unlock()
	if start {
		w.next()
	}
}

// Close makes appends that are not yet on their way, and all later ones, fail
// with err. A batch in flight completes as it will.
func (w *Writer) Close(err error) {
	w.mu.Lock()
	w.closed = err
	w.mu.Unlock()
}

// next submits the next batch. The caller owns busy.
func (w *Writer) next() {
	for {
		w.mu.Lock()
		if w.closed != nil {
			failed, err := w.queue, w.closed
			w.queue, w.busy = nil, false
			w.mu.Unlock()
			fail(failed, err)
			return
		}
		if len(w.queue) == 0 {
			w.busy = false
			if cap(w.buf) > keepBufferBytes {
				w.buf, w.builder = nil, batch.NewBuilder()
			}
			w.mu.Unlock()
			return
		}
		w.take()
		w.mu.Unlock()
		if len(w.records) == 0 { // appends without records only keep their place in the order
			w.finish(nil)
			continue
		}
		if b, err := w.build(); err != nil {
			w.finish(err)
		} else {
			w.submit(b)
			return
		}
	}
}

// build makes the batch of the records taken.
func (w *Writer) build() (batch.Batch, error) {
	w.builder.Reset()
	w.builder.LeaderEpoch = w.part.LeaderEpoch()
	now := w.now().UnixMilli()
	for _, r := range w.records {
		w.builder.Add(now, r.Key, r.Value)
	}
	b, err := w.builder.Build(w.buf[:0])
	if err != nil {
		return nil, fmt.Errorf("append %d records: %w", len(w.records), err)
	}
	w.buf = b
	return b, nil
}

// submit hands a batch to the log. The callbacks come before the next batch: that
// one may complete on another goroutine, and state must change in log order.
func (w *Writer) submit(b batch.Batch) {
	w.part.Append(b, func(_ int64, err error) {
		w.finish(err)
		w.next()
	})
}

func fail(all []*write, err error) {
	for _, x := range all {
		if x.err == nil { // else it was told with its first batch
			x.done(err)
		}
	}
}

// take moves records from the queue into the next batch until one more would pass
// the bound. A record larger than the bound travels alone. Needs mu.
func (w *Writer) take() {
	size := 0
	for len(w.queue) > 0 {
		x := w.queue[0]
		if x.err != nil { // failed with an earlier batch; the rest is not written
			w.queue = w.queue[1:]
			continue
		}
		n := fits(x.records, w.maxBytes-size)
		if n < len(x.records) && len(w.records) > 0 {
			return // whole in a batch of its own, or at least from its start
		}
		if n == 0 && len(x.records) > 0 {
			n = 1
		}
		for _, r := range x.records[:n] {
			size += r.bound()
		}
		w.records = append(w.records, x.records[:n]...)
		w.taken = append(w.taken, x)
		x.records = x.records[n:]
		if len(x.records) > 0 {
			return
		}
		w.queue[0] = nil
		w.queue = w.queue[1:]
	}
	w.queue = nil
}

// fits is how many of records, from the first on, take at most room bytes.
func fits(records []Record, room int) int {
	for i, r := range records {
		room -= r.bound()
		if room < 0 {
			return i
		}
	}
	return len(records)
}

// finish tells the appends of the batch in flight how it went. One that continues
// in the next batch waits for that.
func (w *Writer) finish(err error) {
	for i, x := range w.taken {
		if x.err == nil {
			x.err = err
		}
		if len(x.records) == 0 || x.err != nil {
			x.done(x.err)
		}
		w.taken[i] = nil
	}
	w.taken = w.taken[:0]
	clear(w.records)
	w.records = w.records[:0]
}
