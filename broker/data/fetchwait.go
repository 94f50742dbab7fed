package data

import (
	"slices"
	"sync/atomic"
	"time"

	"millrace/broker/purgatory"
	"millrace/net/server"
	"millrace/replication"
)

// fetchWait is one wait of a parked fetch. Partitions, the timer and the
// connection's end call wake from their goroutines; it posts itself to the
// connection's loop, where the fetch goes on. It is made anew for each wait: a
// late wake of an earlier one finds no fetch and does nothing.
type fetchWait struct {
	conn        *server.Conn
	op          *fetchOp // loop only; nil when the wait is over
	watched     []*replication.Partition
	posted      atomic.Bool
	delay       purgatory.Delay
	cancelClose func()
}

// Advanced is called when a watched partition's high watermark moved.
func (w *fetchWait) Advanced(*replication.Partition) { w.wake() }

func (w *fetchWait) wake() {
	if w.posted.CompareAndSwap(false, true) {
		w.conn.Post(w)
	}
}

// Run goes on with the fetch, on the connection's loop.
func (w *fetchWait) Run() {
	w.posted.Store(false)
	if op := w.op; op != nil {
		defer contain(op.s.log, op.r)
		op.resume()
	}
}

// park lets the fetch wait for data until its deadline. It answers false if there
// is nothing to wait for any more, or nobody is to wait.
func (op *fetchOp) park() bool {
	left := time.Until(op.deadline)
	if left <= 0 || op.s.parked.Closed() {
		return false
	}
	op.release()
	w := &fetchWait{conn: op.r.Conn, op: op}
	op.wait = w
	w.watch(op.entries)
	op.s.fetched.parked.Add(1)
	op.s.parked.Park(&w.delay, left, w.wake)
	w.cancelClose = w.conn.OnClose(w.wake)
	// A record that came between the look and the watch has woken nobody.
	for i := range op.entries {
		e := &op.entries[i]
		if e.partition != nil && e.partition.HighWatermark() != e.highWater {
			w.wake()
			break
		}
	}
	return true
}

// fewWatched is up to how many partitions a repeated one is looked for without a map.
const fewWatched = 32

// watch watches the partitions of the entries, each once, however often a request
// names it: writers call every watch.
func (w *fetchWait) watch(entries []fetchEntry) {
	w.watched = make([]*replication.Partition, 0, min(len(entries), fewWatched))
	var seen map[*replication.Partition]struct{}
	for i := range entries {
		p := entries[i].partition
		if p == nil {
			continue
		}
		if seen == nil {
			if slices.Contains(w.watched, p) {
				continue
			}
			if len(w.watched) == fewWatched {
				seen = make(map[*replication.Partition]struct{}, len(entries)-i)
				for _, x := range w.watched {
					seen[x] = struct{}{}
				}
			}
		}
		if seen != nil {
			if _, ok := seen[p]; ok {
				continue
			}
			seen[p] = struct{}{}
		}
		p.Watch(w)
		w.watched = append(w.watched, p)
	}
}

// end ends the wait.
func (w *fetchWait) end() {
	w.op.wait, w.op = nil, nil
	w.delay.Leave()
	w.cancelClose()
	for _, p := range w.watched {
		p.Unwatch(w)
	}
}

// resume takes another look after a wake: it answers if that is due now, and
// otherwise waits on.
func (op *fetchOp) resume() {
	if op.r.Conn.Closed() { // nobody to answer
		op.wait.end()
		r := op.r
		op.free()
		r.ReplyNothing()
		return
	}
	if !time.Now().Before(op.deadline) || op.s.parked.Closed() { // whatever there is now goes out
		op.wait.end()
		op.deadline = time.Time{}
		op.step(false)
		return
	}
	err := op.collect(false)
	switch {
	case err != nil:
		op.wait.end()
		op.goCold()
	case op.satisfied():
		op.wait.end()
		op.finish()
	default:
		op.release()
	}
}
