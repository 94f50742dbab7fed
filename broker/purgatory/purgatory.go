// Package purgatory is where requests wait that cannot be answered yet: long polls
// until there is data or their time is up.
//
// A Delay belongs to one request at a time and may be used again for the next. All
// its methods are called from the goroutine that owns the request (its event loop);
// only the timer fires elsewhere and does nothing but call wake.
package purgatory

import (
	"sync/atomic"
	"time"
)

// Purgatory counts what waits.
type Purgatory struct{ parked atomic.Int64 }

// Parked is the number of requests that wait now.
func (p *Purgatory) Parked() int64 { return p.parked.Load() }

// Delay is the deadline of one parked request.
type Delay struct {
	in    *Purgatory
	timer *time.Timer
}

// Park starts waiting: wake is called on another goroutine after d, unless Leave
// comes first. The wake of an earlier wait may still arrive, so the owner checks
// its own deadline. wake is kept for the life of the Delay.
func (p *Purgatory) Park(x *Delay, d time.Duration, wake func()) {
	x.in = p
	p.parked.Add(1)
	if x.timer == nil {
		x.timer = time.AfterFunc(d, wake)
		return
	}
	x.timer.Reset(d)
}

// Leave ends the wait. Calling it when not parked does nothing. The result says
// whether the timer was stopped in time; if not, wake is being called or was.
func (x *Delay) Leave() (stopped bool) {
	if x.in == nil {
		return true
	}
	x.in.parked.Add(-1)
	x.in = nil
	return x.timer.Stop()
}
