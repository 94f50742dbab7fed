package main

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/bench/internal/histogram"
)

// lateness is how much later than due a record may be handed over before its latency
// counts from when it was due. Below it is the coarseness of timers, the same for every
// broker; above it something held the sender up, and leaving that out would hide it.
const lateness = time.Millisecond

func (o *options) producerOptions() []kgo.Opt {
	opts := append(o.clientOptions(), kgo.ProducerLinger(o.linger), kgo.ProducerBatchMaxBytes(int32(o.batchBytes)),
		kgo.MaxBufferedRecords(o.buffer), kgo.RecordDeliveryTimeout(time.Minute), kgo.ProducerBatchCompression(codecs[o.compression]))
	switch o.acks {
	case "0":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()))
	case "1":
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()))
	default:
		opts = append(opts, kgo.RequiredAcks(kgo.AllISRAcks()))
	}
	if !o.idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(o.inflight))
	}
	return opts
}

// newProducer returns a client that knows the metadata of every topic already, so that
// the measured part does not begin with looking it up.
func (o *options) newProducer(ctx context.Context) (*kgo.Client, error) {
	cl, err := kgo.NewClient(o.producerOptions()...)
	if err != nil {
		return nil, err
	}
	if _, err := kadm.NewClient(cl).Metadata(ctx, o.topicNames()...); err != nil {
		cl.Close()
		return nil, err
	}
	return cl, nil
}

// produce is the phase that only writes.
func (o *options) produce(ctx context.Context, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, o.maxTime)
	defer cancel()
	cl, err := o.newProducer(ctx)
	if err != nil {
		return err
	}
	defer cl.Close()
	values, err := makeValues(o.payload, o.size)
	if err != nil {
		return err
	}
	ph, err := o.begin()
	if err != nil {
		return err
	}
	publish := new(histogram.Histogram)
	o.send(ctx, cl, values, ph, publish, false)
	return ph.end(w, "produce", publish, nil)
}

// send hands all records of the run to the client, paced when a rate is set, and
// returns when each has been acknowledged or has failed.
func (o *options) send(ctx context.Context, cl *kgo.Client, values [][]byte, ph *phase, publish *histogram.Histogram, stamp bool) {
	topics := o.topicNames()
	var pending sync.WaitGroup
	start := time.Now()
	for i := int64(0); i < o.records && ctx.Err() == nil; i++ {
		sent := o.waitForTurn(start, i)
		value := values[i%int64(len(values))]
		if stamp {
			value = stamped(value, sent)
		}
		pending.Add(1)
		cl.Produce(ctx, &kgo.Record{Topic: topics[i%int64(len(topics))], Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				ph.fail(err)
			} else {
				publish.Add(time.Since(sent))
				ph.done.Add(1)
			}
			pending.Done()
		})
	}
	pending.Wait()
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
		time.Sleep(wait)
		now = time.Now()
	}
	if now.Sub(due) > lateness {
		return due
	}
	return now
}
