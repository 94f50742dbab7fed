package main

import (
	"context"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"
)

func (o *options) consumerOptions() []kgo.Opt {
	return append(o.clientOptions(), kgo.FetchMaxWait(o.fetchWait))
}

// consume is the phase that only reads: the first records of every partition, until
// the number asked for is there. Connecting and looking up metadata are part of it.
func (o *options) consume(ctx context.Context, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, o.maxTime)
	defer cancel()
	ph, err := o.begin()
	if err != nil {
		return err
	}
	cl, err := kgo.NewClient(append(o.consumerOptions(), kgo.ConsumeTopics(o.topicNames()...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	for ph.done.Load() < o.records && ctx.Err() == nil {
		fetches := cl.PollFetches(ctx)
		fetches.EachError(func(topic string, partition int32, err error) {
			if ctx.Err() == nil {
				ph.fail(fmt.Errorf("%s-%d: %w", topic, partition, err))
			}
		})
		ph.done.Add(int64(fetches.NumRecords()))
	}
	if n := ph.done.Load(); n < o.records {
		ph.fail(fmt.Errorf("only %d of %d records came in %v", n, o.records, o.maxTime))
	}
	return ph.end(w, "consume", nil, nil)
}
