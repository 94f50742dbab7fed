package main

import (
	"context"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/bench/internal/histogram"
	"millrace/bench/internal/pace"
	"millrace/bench/internal/payload"
)

// grace is how long what was sent before a phase was cut may take to be acknowledged.
const grace = time.Minute

func (o *options) producerOptions() []kgo.Opt {
	opts := append(o.clientOptions(), kgo.ProducerLinger(o.linger), kgo.ProducerBatchMaxBytes(int32(o.batchBytes)),
		kgo.MaxBufferedRecords(o.buffer), kgo.RecordDeliveryTimeout(time.Minute), kgo.ProducerBatchCompression(codecs[o.compression]))
	if o.bufferBytes > 0 {
		opts = append(opts, kgo.MaxBufferedBytes(max(o.bufferBytes/o.producers, 1<<20)))
	}
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

// newProducers returns clients that know the metadata of every topic already, so that
// the measured part does not begin with looking it up.
func (o *options) newProducers(ctx context.Context) (producers, error) {
	var out producers
	for range o.producers {
		cl, err := kgo.NewClient(o.producerOptions()...)
		if err != nil {
			out.close()
			return nil, err
		}
		out = append(out, cl)
		if _, err := kadm.NewClient(cl).Metadata(ctx, o.topicNames()...); err != nil {
			out.close()
			return nil, err
		}
	}
	return out, nil
}

// producers are clients that share the records of a phase.
type producers []*kgo.Client

func (p producers) close() {
	for _, cl := range p {
		cl.Close()
	}
}

// produce is the phase that only writes.
func (o *options) produce(ctx context.Context, w io.Writer) error {
	if o.raw {
		return o.produceRaw(ctx, w)
	}
	producers, err := o.newProducers(ctx)
	if err != nil {
		return err
	}
	defer producers.close()
	values, err := payload.Values(o.payload, o.size)
	if err != nil {
		return err
	}
	sending, ctx, cancel := o.phaseTime(ctx)
	defer cancel()
	if o.rate > 0 {
		pace.SpareProcessors()
	}
	ph, err := o.begin()
	if err != nil {
		return err
	}
	publish := new(histogram.Histogram)
	s := sender{o: o, values: values, keys: makeKeys(o.keys), ph: ph, publish: publish}
	s.run(sending, ctx, producers)
	return o.end(w, ph, "produce", publish, nil)
}

// phaseTime gives the time in which records may be sent, and the time in which they may
// be acknowledged. The latter is longer only if a phase may be cut short.
func (o *options) phaseTime(ctx context.Context) (sending, acknowledged context.Context, cancel func()) {
	limit := o.maxTime
	if o.cut {
		limit += grace
	}
	acknowledged, cancelAll := context.WithTimeout(ctx, limit)
	sending, stop := context.WithTimeout(acknowledged, o.maxTime)
	if o.untilEOF {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}
	return sending, acknowledged, func() { stop(); cancelAll() }
}

// makeKeys returns n different keys; nil for none.
func makeKeys(n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = strconv.AppendInt([]byte("key-"), int64(i), 10)
	}
	return out
}
