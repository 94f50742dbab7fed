package segment

import (
	"sync"
	"time"
)

// lazyDelay is how long bytes of an Async log may wait for others before the writer is given them. Nobody waits for that
// write, and for few bytes it costs more than the append: at 1,000 records/s a third of the broker's CPU, and a tenth of the
// latency, since it takes turns with the loops.
const lazyDelay = 10 * time.Millisecond

// lazy holds the Async logs of a dir that have something to write, but not yet.
type lazy struct {
	mu    sync.Mutex
	logs  []*Log
	timer *time.Timer // runs while logs has any
}

// mayWait says that what was appended last may wait. Under Log.mu.
func (l *Log) mayWait(seg *segment) bool {
	n := len(l.segments)
	return l.cfg.Durability == Async && seg.size-seg.written < directBytes && l.flushTarget <= l.durable.Load() &&
		seg.named && !l.closing && (n < 2 || l.segments[n-2].sealed)
}

// add puts the log on the list, unless it is there. Under Log.mu.
func (z *lazy) add(l *Log) {
	if l.waiting || l.queued {
		return
	}
	l.waiting = true
	z.mu.Lock()
	defer z.mu.Unlock()
	z.logs = append(z.logs, l)
	switch {
	case z.timer == nil:
		z.timer = time.AfterFunc(lazyDelay, z.submit)
	case len(z.logs) == 1:
		z.timer.Reset(lazyDelay)
	}
}

// submit hands all of them in.
func (z *lazy) submit() {
	z.mu.Lock()
	logs := z.logs
	z.logs = nil
	z.mu.Unlock()
	for _, l := range logs {
		l.mu.Lock()
		l.waiting = false
		if !l.closed {
			l.submit()
		}
		l.mu.Unlock()
	}
}
