package segment

import (
	"sync"
	"time"
)

// Intervals of housekeeping.
const (
	houseTick = time.Second
	// idleSlab is how long after it was taken a slab of a log without unwritten data is given up.
	idleSlab = 10 * time.Second
	// idleTail is how long written slabs are kept as hot tail while memory is not wanted.
	idleTail = time.Minute
	// checkpointEvery is how long appended bytes wait for a checkpoint, at most.
	checkpointEvery = 5 * time.Second
	// hungryRetention is how often retention is applied while the disk is full, whatever its interval.
	hungryRetention = 10 * time.Second
	// expireEvery is how often silent producers are forgotten.
	expireEvery = time.Minute
)

// housekeeping is the dir's clock: it asks others for work that is due, and deletes files.
type housekeeping struct {
	dir  *Dir
	quit chan struct{}
	wake chan struct{} // capacity 1: something to delete at once, or too many files are open
	done chan struct{}

	mu     sync.Mutex
	doomed []doomed

	lastRetention, lastExpiry, lastCheckpoint time.Time
}

// doomed are files to be removed at a time.
type doomed struct {
	at    time.Time
	paths []string // each with all that is in it
}

func startHousekeeping(d *Dir) *housekeeping {
	now := time.Now()
	h := &housekeeping{
		dir: d, quit: make(chan struct{}), wake: make(chan struct{}, 1), done: make(chan struct{}),
		lastRetention: now, lastExpiry: now, lastCheckpoint: now,
	}
	go h.run()
	return h
}

func (h *housekeeping) run() {
	defer close(h.done)
	tick := time.NewTicker(houseTick)
	defer tick.Stop()
	for {
		select {
		case <-h.quit:
			return
		case <-h.wake:
			h.reap(time.Now())
			h.dir.relieve()
		case now := <-tick.C:
			h.turn(now)
		}
	}
}

func (h *housekeeping) close() {
	close(h.quit)
	<-h.done
}

// turn does what is due.
//
// On a full disk nothing deleted is kept for its delay: readers hold what they read open, and a producer that is refused
// is worth more than files that somebody might want back.
func (h *housekeeping) turn(now time.Time) {
	hungry := h.dir.hungry.Swap(false) || h.dir.reserveGone.Load()
	if hungry {
		h.reap(endOfTime)
	} else {
		h.reap(now)
	}
	h.dir.naming.again()
	h.dir.remakeReserve()
	h.dir.pool.Trim(idleTail)
	checkpoint := due(&h.lastCheckpoint, now, checkpointEvery)
	expire := due(&h.lastExpiry, now, expireEvery)
	interval := h.dir.opts.RetentionCheckInterval
	if hungry {
		interval = min(interval, hungryRetention)
	}
	retain := interval > 0 && due(&h.lastRetention, now, interval)
	h.dir.relieve()
	logs := h.dir.lively.list()
	if expire || retain {
		logs = h.dir.all()
	}
	for _, l := range logs {
		if l.tend(expire) && checkpoint {
			h.dir.rounds.request()
		}
		if !retain {
			continue
		}
		if _, err := l.ApplyRetention(); err != nil && !l.isClosed() {
			h.dir.log.Warn("retention", "topic", l.topic, "partition", l.partition, "err", err)
		}
	}
}

func due(last *time.Time, now time.Time, every time.Duration) bool {
	if now.Sub(*last) < every {
		return false
	}
	*last = now
	return true
}

// tend looks after one log. It says whether a checkpoint would gain something.
func (l *Log) tend(expire bool) (gain bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.closing || l.cutting || l.dir.offline() != nil {
		return false
	}
	now := l.dir.nowMs()
	l.tail.rest(idleSlab)
	if l.cfg.Durability == Async && l.unflushed > 0 && l.cfg.FlushMs > 0 && now-l.unflushedAt >= l.cfg.FlushMs {
		l.flushTarget, l.unflushed = l.end.Load(), 0
		l.submit()
	}
	if seg := l.active(); seg != nil && seg.size > 0 && seg.out != nil && now-seg.createdMs > l.cfg.SegmentMs-l.jitterMs {
		if err := l.roll(now); err != nil {
			l.dir.log.Warn("segment not rolled", "topic", l.topic, "partition", l.partition, "err", err)
		}
	}
	if expire {
		l.producers.Expire(now)
	}
	if now-l.appendedMs > idleFiles.Milliseconds() {
		if l.recoveryPoint < l.end.Load() {
			l.dir.rounds.request() // so that a start need not open it
		} else {
			l.rest()
		}
	}
	return l.sinceCheckpoint > 0
}

// doom has files removed after a delay.
func (h *housekeeping) doom(delay time.Duration, paths ...string) {
	h.mu.Lock()
	h.doomed = append(h.doomed, doomed{time.Now().Add(delay), paths})
	h.mu.Unlock()
	if delay <= 0 {
		h.ring()
	}
}

// ring has it look for what is to be done at once. Any goroutine, with any lock held.
func (h *housekeeping) ring() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// endOfTime is after the time of everything doomed.
var endOfTime = time.Unix(1<<40, 0)

// reap removes what is due. What cannot be removed is tried again at the next start.
func (h *housekeeping) reap(now time.Time) {
	h.mu.Lock()
	var ripe []doomed
	rest := h.doomed[:0]
	for _, d := range h.doomed {
		if d.at.After(now) {
			rest = append(rest, d)
		} else {
			ripe = append(ripe, d)
		}
	}
	h.doomed = rest
	h.mu.Unlock()
	for _, d := range ripe {
		for _, p := range d.paths {
			if err := h.dir.disk.RemoveAll(p); err != nil {
				h.dir.log.Warn("deleted file not removed", "file", p, "err", err)
			}
		}
	}
}
