package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/bench/internal/histogram"
	"millrace/bench/internal/pace"
	"millrace/bench/internal/payload"
)

// arrival is how long after the last acknowledgement the consumers may take for the rest.
const arrival = 5 * time.Second

// endToEnd is the phase in which some clients write and others read at the same time.
func (o *options) endToEnd(ctx context.Context, w io.Writer) error {
	consumers, err := o.newTailConsumers(ctx)
	if err != nil {
		return err
	}
	defer consumers.close()
	producers, err := o.newProducers(ctx)
	if err != nil {
		return err
	}
	defer producers.close()
	values, err := payload.Values(o.payload, o.size)
	if err != nil {
		return err
	}
	if o.rate > 0 {
		pace.SpareProcessors()
	}
	sending, ctx, cancel := o.phaseTime(ctx)
	defer cancel()
	ph, err := o.begin()
	if err != nil {
		return err
	}
	publish, e2e := new(histogram.Histogram), new(histogram.Histogram)
	var got, sent atomic.Int64
	sent.Store(o.records) // until it is known better
	reading, stop := context.WithCancel(ctx)
	defer stop()
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		consumers.poll(reading, func(fetches kgo.Fetches) {
			now, n := time.Now(), int64(0)
			fetches.EachRecord(func(r *kgo.Record) {
				e2e.Add(now.Sub(payload.SentAt(r.Value)))
				n++
			})
			if got.Add(n) >= sent.Load() {
				stop()
			}
		})
	}()
	s := sender{o: o, values: values, keys: makeKeys(o.keys), stamp: true, ph: ph, publish: publish}
	s.run(sending, ctx, producers)
	if o.cut {
		sent.Store(ph.Done.Load())
	}
	if got.Load() >= sent.Load() {
		stop()
	}
	select {
	case <-finished:
	case <-time.After(arrival):
	}
	if n := got.Load(); n < sent.Load() {
		ph.Fail(fmt.Errorf("only %d of %d records came back", n, sent.Load()))
	}
	stop()
	<-finished
	return o.end(w, ph, "e2e", publish, e2e)
}

// newTailConsumers returns clients that read each partition from exactly the offset
// that is its end now: what is produced from here on is read, and nothing else.
func (o *options) newTailConsumers(ctx context.Context) (consumers, error) {
	var ends kadm.ListedOffsets
	err := o.withAdmin(func(adm *kadm.Client) (err error) {
		ends, err = adm.ListEndOffsets(ctx, o.topicNames()...)
		if err = errors.Join(err, ends.Error()); err != nil {
			return fmt.Errorf("list end offsets: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return o.newConsumers(func(topic string, partition int32) kgo.Offset {
		end, _ := ends.Lookup(topic, partition) // one that is missing would be an error above
		return kgo.NewOffset().At(end.Offset)
	})
}
