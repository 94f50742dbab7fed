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
)

// arrival is how long after the last acknowledgement the consumer may take for the rest.
const arrival = 5 * time.Second

// endToEnd is the phase in which one client writes and another reads at the same time.
func (o *options) endToEnd(ctx context.Context, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, o.maxTime)
	defer cancel()
	cons, err := o.newTailConsumer(ctx)
	if err != nil {
		return err
	}
	defer cons.Close()
	prod, err := o.newProducer(ctx)
	if err != nil {
		return err
	}
	defer prod.Close()
	values, err := makeValues(o.payload, o.size)
	if err != nil {
		return err
	}
	ph, err := o.begin()
	if err != nil {
		return err
	}
	publish, e2e := new(histogram.Histogram), new(histogram.Histogram)
	var got atomic.Int64
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for got.Load() < o.records && ctx.Err() == nil {
			fetches := cons.PollFetches(ctx)
			now := time.Now()
			fetches.EachRecord(func(r *kgo.Record) {
				e2e.Add(now.Sub(sentAt(r.Value)))
				got.Add(1)
			})
		}
	}()
	o.send(ctx, prod, values, ph, publish, true)
	select {
	case <-finished:
	case <-time.After(arrival):
	}
	if n := got.Load(); n < o.records {
		ph.fail(fmt.Errorf("only %d of %d records came back", n, o.records))
	}
	cancel()
	<-finished
	return ph.end(w, "e2e", publish, e2e)
}

// newTailConsumer returns a client that reads each partition from exactly the offset
// that is its end now: what is produced from here on is read, and nothing else.
func (o *options) newTailConsumer(ctx context.Context) (*kgo.Client, error) {
	at := map[string]map[int32]kgo.Offset{}
	err := o.withAdmin(func(adm *kadm.Client) error {
		ends, err := adm.ListEndOffsets(ctx, o.topicNames()...)
		if err = errors.Join(err, ends.Error()); err != nil {
			return fmt.Errorf("list end offsets: %w", err)
		}
		ends.Each(func(l kadm.ListedOffset) {
			if at[l.Topic] == nil {
				at[l.Topic] = map[int32]kgo.Offset{}
			}
			at[l.Topic][l.Partition] = kgo.NewOffset().At(l.Offset)
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return kgo.NewClient(append(o.consumerOptions(), kgo.ConsumePartitions(at))...)
}
