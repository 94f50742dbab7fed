package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/bench/internal/histogram"
	"millrace/bench/internal/measure"
	"millrace/bench/internal/pace"
	"millrace/bench/internal/payload"
)

// keyStep spreads keys over the records; it shares no factor with usual numbers of keys.
const keyStep = 7919

// sender hands the records of a phase to its producers.
type sender struct {
	o       *options
	values  [][]byte
	keys    [][]byte // empty: records have none
	stamp   bool     // values begin with the time they were sent
	ph      *measure.Stretch
	publish *histogram.Histogram

	topics []string
	pace   pace.Pace
	next   atomic.Int64
	// pending counts records that are neither acknowledged nor failed.
	pending sync.WaitGroup
}

// run sends all records, paced when a rate is set, until sending ends, and returns when
// each that was sent has been acknowledged or has failed, for which they have until ctx
// ends.
func (s *sender) run(sending, ctx context.Context, producers producers) {
	s.topics, s.pace = s.o.topicNames(), pace.Pace{Start: time.Now(), Rate: s.o.rate}
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
		sent := s.pace.Await(i)
		r := &kgo.Record{Topic: s.topics[i/int64(s.o.inARow)%int64(len(s.topics))], Value: s.values[i%int64(len(s.values))]}
		if s.stamp {
			r.Value = payload.Stamped(r.Value, sent)
		}
		if n := int64(len(s.keys)); n > 0 {
			r.Key = s.keys[i*keyStep%n]
		}
		s.pending.Add(1)
		cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				s.ph.Fail(err)
			} else {
				s.publish.Add(time.Since(sent))
				s.ph.Done.Add(1)
			}
			s.pending.Done()
		})
	}
}
