package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/rabbitmq/rabbitmq-stream-go-client/pkg/amqp"
	"github.com/rabbitmq/rabbitmq-stream-go-client/pkg/stream"
)

// streamQueue is a RabbitMQ stream.
type streamQueue struct {
	o    *options
	env  *stream.Environment
	prod *stream.Producer
	cons *stream.Consumer
}

// streamPort is where streams are, above the port of AMQP.
const streamPort = 1

// streamCredits is how many chunks the broker may send ahead. At low rates each message
// is a chunk, and the client's default of ten holds the stream up.
const streamCredits = 200

func openStream(_ context.Context, o *options, h handlers) (queue, error) {
	host, text, err := net.SplitHostPort(o.broker)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	q := &streamQueue{o: o}
	q.env, err = stream.NewEnvironment(stream.NewEnvironmentOptions().SetHost(host).SetPort(port + streamPort).SetUser("guest").SetPassword("guest"))
	if err != nil {
		return nil, err
	}
	if err := q.open(h); err != nil {
		return nil, errors.Join(err, q.env.Close())
	}
	return q, nil
}

func (q *streamQueue) open(h handlers) (err error) {
	if err := q.env.DeclareStream(q.o.name, stream.NewStreamOptions()); err != nil {
		return fmt.Errorf("declare: %w", err)
	}
	if q.prod, err = q.env.NewProducer(q.o.name, stream.NewProducerOptions()); err != nil {
		return fmt.Errorf("producer: %w", err)
	}
	confirmations := q.prod.NotifyPublishConfirmation()
	go func() {
		for some := range confirmations {
			for _, c := range some {
				if c.IsConfirmed() {
					h.confirmed(nil)
				} else {
					h.confirmed(errNack)
				}
			}
		}
	}()
	got := func(_ stream.ConsumerContext, m *amqp.Message) { h.got(m.GetData()) }
	if q.cons, err = q.env.NewConsumer(q.o.name, got, stream.NewConsumerOptions().SetInitialCredits(streamCredits).SetOffset(stream.OffsetSpecification{}.First())); err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	return nil
}

func (q *streamQueue) publish(_ context.Context, value []byte) error {
	return q.prod.Send(amqp.NewMessage(value))
}

func (q *streamQueue) close() error {
	return errors.Join(q.cons.Close(), q.prod.Close(), q.env.DeleteStream(q.o.name), q.env.Close())
}
