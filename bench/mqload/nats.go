package main

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsQueue is a stream in a file with one subject.
type natsQueue struct {
	o          *options
	prod, cons *nats.Conn
	js         jetstream.JetStream
	consuming  jetstream.ConsumeContext
	// acks are the acknowledgements to come, in the order of messages.
	acks chan jetstream.PubAckFuture
}

// natsPending is how many messages may wait for their acknowledgement.
const natsPending = 10_000

// natsStall is how long the client waits when so many are pending; a broker that flushes
// each message may be slower than the rate.
const natsStall = time.Minute

func openNATS(ctx context.Context, o *options, h handlers) (queue, error) {
	q := &natsQueue{o: o, acks: make(chan jetstream.PubAckFuture, natsPending)}
	var err error
	for _, c := range []**nats.Conn{&q.prod, &q.cons} {
		if *c, err = nats.Connect("nats://" + o.broker); err != nil {
			return nil, errors.Join(err, q.disconnect())
		}
	}
	if err := q.open(ctx, h); err != nil {
		return nil, errors.Join(err, q.disconnect())
	}
	return q, nil
}

func (q *natsQueue) open(ctx context.Context, h handlers) (err error) {
	if q.js, err = jetstream.New(q.prod, jetstream.WithPublishAsyncMaxPending(natsPending)); err != nil {
		return err
	}
	_, err = q.js.CreateStream(ctx, jetstream.StreamConfig{Name: q.o.name, Subjects: []string{q.o.name}, Storage: jetstream.FileStorage})
	if err != nil {
		return err
	}
	reading, err := jetstream.New(q.cons)
	if err != nil {
		return err
	}
	consumer, err := reading.OrderedConsumer(ctx, q.o.name, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	if q.consuming, err = consumer.Consume(func(m jetstream.Msg) { h.got(m.Data()) }); err != nil {
		return err
	}
	go func() {
		for f := range q.acks {
			select {
			case <-f.Ok():
				h.confirmed(nil)
			case err := <-f.Err():
				h.confirmed(err)
			}
		}
	}()
	return nil
}

func (q *natsQueue) publish(_ context.Context, value []byte) error {
	f, err := q.js.PublishAsync(q.o.name, value, jetstream.WithStallWait(natsStall))
	if err != nil {
		return err
	}
	q.acks <- f
	return nil
}

func (q *natsQueue) close() error {
	q.consuming.Stop()
	close(q.acks)
	err := q.js.DeleteStream(context.Background(), q.o.name)
	return errors.Join(err, q.disconnect())
}

func (q *natsQueue) disconnect() error {
	for _, c := range []*nats.Conn{q.prod, q.cons} {
		if c != nil {
			c.Close()
		}
	}
	return nil
}
