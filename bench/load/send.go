package main

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sys/unix"

	"millrace/bench/internal/histogram"
)

const (
	// lateness is how much later than due a record may be handed over before its latency
	// counts from when it was due. Below it is the coarseness of timers, the same for every
	// broker; above it something held the sender up, and leaving that out would hide it.
	lateness = time.Millisecond
	// coarse is what a sleep of Go's scheduler may take too long: it waits for the network
	// in whole milliseconds.
	coarse = 1500 * time.Microsecond
	// keyStep spreads keys over the records; it shares no factor with usual numbers of keys.
	keyStep = 7919
)

// sender hands the records of a phase to its producers.
type sender struct {
	o       *options
	values  [][]byte
	keys    [][]byte // empty: records have none
	stamp   bool     // values begin with the time they were sent
	ph      *phase
	publish *histogram.Histogram

	topics []string
	start  time.Time
	next   atomic.Int64
	// pending counts records that are neither acknowledged nor failed.
	pending sync.WaitGroup
}

// run sends all records, paced when a rate is set, until sending ends, and returns when
// each that was sent has been acknowledged or has failed, for which they have until ctx
// ends.
func (s *sender) run(sending, ctx context.Context, producers producers) {
	s.topics, s.start = s.o.topicNames(), time.Now()
	var done sync.WaitGroup
	for _, cl := range producers {
		done.Go(func() { s.produce(sending, ctx, cl) })
	}
	done.Wait()
	s.pending.Wait()
}

// produce is one producer's part: whichever record is next, until there are none.
func (s *sender) produce(sending, ctx context.Context, cl *kgo.Client) {
	for sending.Err() == nil {
		i := s.next.Add(1) - 1
		if i >= s.o.records {
			return
		}
		sent := s.o.waitForTurn(s.start, i)
		r := &kgo.Record{Topic: s.topics[i/int64(s.o.inARow)%int64(len(s.topics))], Value: s.values[i%int64(len(s.values))]}
		if s.stamp {
			r.Value = stamped(r.Value, sent)
		}
		if n := int64(len(s.keys)); n > 0 {
			r.Key = s.keys[i*keyStep%n]
		}
		s.pending.Add(1)
		cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				s.ph.fail(err)
			} else {
				s.publish.Add(time.Since(sent))
				s.ph.done.Add(1)
			}
			s.pending.Done()
		})
	}
}

// waitForTurn returns at once without a rate, else when record i is due, and gives the
// time from which its latency counts.
func (o *options) waitForTurn(start time.Time, i int64) time.Time {
	now := time.Now()
	if o.rate <= 0 {
		return now
	}
	due := start.Add(time.Duration(float64(i) / o.rate * float64(time.Second)))
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

// spareProcessors makes room in Go's scheduler for threads that sleep in the kernel,
// each of which may hold on to a processor of it for a while.
func spareProcessors() { runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 8)) }
