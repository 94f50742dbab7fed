// Package pace says when the records of a paced load are due, and from when their latency
// counts.
package pace

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lateness is how much later than due a record may be handed over before its latency
	// counts from when it was due. Below it is the coarseness of timers, the same for every
	// broker; above it something held the sender up, and leaving that out would hide it.
	lateness = time.Millisecond
	// coarse is what a sleep of Go's scheduler may take too long: it waits for the network
	// in whole milliseconds.
	coarse = 1500 * time.Microsecond
)

// Pace is a rate in records per second, from a start on; 0 is as fast as possible.
type Pace struct {
	Start time.Time
	Rate  float64
}

// Await returns at once without a rate, else when record i is due, and gives the time
// from which its latency counts.
func (p Pace) Await(i int64) time.Time {
	now := time.Now()
	if p.Rate <= 0 {
		return now
	}
	due := p.Start.Add(time.Duration(float64(i) / p.Rate * float64(time.Second)))
	if wait := due.Sub(now); wait > 0 {
		sleep(wait)
		now = time.Now()
	}
	if now.Sub(due) > lateness {
		return due
	}
	return now
}

// sleep is time.Sleep to some 60 microseconds: the last stretch is left to the kernel.
func sleep(d time.Duration) {
	end := time.Now().Add(d)
	if d > coarse {
		time.Sleep(d - coarse)
	}
	if rest := time.Until(end); rest > 0 {
		ts := unix.NsecToTimespec(rest.Nanoseconds())
		_ = unix.Nanosleep(&ts, nil) // an early wake-up by a signal is one record a little early
	}
}

// SpareProcessors makes room in Go's scheduler for threads that sleep in the kernel,
// each of which may hold on to a processor of it for a while.
func SpareProcessors() { runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 8)) }
