package main

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

func (o *options) consumerOptions() []kgo.Opt {
	return append(o.clientOptions(), kgo.FetchMaxWait(o.fetchWait))
}

// consume is the phase that only reads: the first records of every partition, until
// the number asked for is there. Connecting and looking up metadata are part of it.
func (o *options) consume(ctx context.Context, w io.Writer) error {
	if o.raw {
		return o.consumeRaw(ctx, w)
	}
	ctx, cancel := context.WithTimeout(ctx, o.maxTime)
	defer cancel()
	ph, err := o.begin()
	if err != nil {
		return err
	}
	consumers, err := o.newConsumers(func(string, int32) kgo.Offset { return kgo.NewOffset().AtStart() })
	if err != nil {
		return err
	}
	defer consumers.close()
	reading, done := context.WithCancel(ctx)
	defer done()
	consumers.poll(reading, func(fetches kgo.Fetches) {
		fetches.EachError(func(topic string, partition int32, err error) {
			if reading.Err() == nil {
				ph.Fail(fmt.Errorf("%s-%d: %w", topic, partition, err))
			}
		})
		if ph.Done.Add(int64(fetches.NumRecords())) >= o.records {
			done()
		}
	})
	if n := ph.Done.Load(); n < o.records {
		ph.Fail(fmt.Errorf("only %d of %d records came in %v", n, o.records, o.maxTime))
	}
	return o.end(w, ph, "consume", nil, nil)
}

// consumers are clients that share the partitions of a phase.
type consumers []*kgo.Client

func (c consumers) close() {
	for _, cl := range c {
		cl.Close()
	}
}

// newConsumers gives each client its share of the partitions, to be read from the offset
// that at says.
func (o *options) newConsumers(at func(topic string, partition int32) kgo.Offset) (consumers, error) {
	shares := make([]map[string]map[int32]kgo.Offset, o.consumers)
	i := 0
	for _, topic := range o.topicNames() {
		for p := range int32(o.partitions) {
			share := &shares[i%len(shares)]
			i++
			if *share == nil {
				*share = map[string]map[int32]kgo.Offset{}
			}
			if (*share)[topic] == nil {
				(*share)[topic] = map[int32]kgo.Offset{}
			}
			(*share)[topic][p] = at(topic, p)
		}
	}
	var out consumers
	for _, share := range shares {
		if share == nil {
			continue // more consumers than partitions
		}
		cl, err := kgo.NewClient(append(o.consumerOptions(), kgo.ConsumePartitions(share))...)
		if err != nil {
			out.close()
			return nil, err
		}
		out = append(out, cl)
	}
	return out, nil
}

// poll hands what arrives to each, from several goroutines, until ctx ends.
func (c consumers) poll(ctx context.Context, each func(kgo.Fetches)) {
	var done sync.WaitGroup
	for _, cl := range c {
		done.Go(func() {
			for ctx.Err() == nil {
				each(cl.PollFetches(ctx))
			}
		})
	}
	done.Wait()
}
