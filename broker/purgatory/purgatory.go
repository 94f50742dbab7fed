// Package purgatory is where requests wait that cannot be answered yet: long polls
// until there is data or their time is up.
//
// A Delay belongs to one request at a time and may be used again for the next. All
// its methods are called from the goroutine that owns the request (its event loop);
// only the timer fires elsewhere and does nothing but call wake.
package purgatory

import (
	"sync"
	"sync/atomic"
	"time"
)

// Purgatory knows what waits.
type Purgatory struct {
	parked atomic.Int64
	closed atomic.Bool // set under mu

	mu    sync.Mutex
	first *Delay // of those that wait, in no order; guarded by mu
}

// Parked is the number of requests that wait now.
func (p *Purgatory) Parked() int64 { return p.parked.Load() }

// Closed says that nobody is to wait any more: a request that is woken answers with what there is.
func (p *Purgatory) Closed() bool { return p.closed.Load() }

// Close wakes all that wait, and from now on whoever parks at once.
func (p *Purgatory) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed.Store(true)
	for x := p.first; x != nil; x = x.next {
		x.timer.Reset(0) // the owner may be leaving: it checks, as after any wake
	}
}

// Delay is the deadline of one parked request.
type Delay struct {
	in    *Purgatory
	timer *time.Timer
	// In the purgatory's list; guarded by its mu.
	prev, next *Delay
}

// Park starts waiting: wake is called on another goroutine after d, unless Leave
// comes first. The wake of an earlier wait may still arrive, so the owner checks
// its own deadline. wake is kept for the life of the Delay.
func (p *Purgatory) Park(x *Delay, d time.Duration, wake func()) {
	x.in = p
	p.parked.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if x.next = p.first; x.next != nil {
		x.next.prev = x
	}
	p.first = x
	if p.closed.Load() {
		d = 0
	}
	if x.timer == nil {
		x.timer = time.AfterFunc(d, wake)
		return
	}
	x.timer.Reset(d)
}

// Leave ends the wait. Calling it when not parked does nothing. The result says
// whether the timer was stopped in time; if not, wake is being called or was.
func (x *Delay) Leave() (stopped bool) {
	p := x.in
	if p == nil {
		return true
	}
	p.parked.Add(-1)
	x.in = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	if x.prev != nil {
		x.prev.next = x.next
	} else {
		p.first = x.next
	}
	if x.next != nil {
		x.next.prev = x.prev
	}
	x.prev, x.next = nil, nil
	return x.timer.Stop()
}
