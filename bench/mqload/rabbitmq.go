package main

import (
	"context"
	"errors"

	amqp "github.com/rabbitmq/amqp091-go"
)

// rabbitQueue is a durable classic queue.
type rabbitQueue struct {
	o          *options
	prod, cons *amqp.Connection
	ch         *amqp.Channel
}

// errNack is a message that the broker did not take.
var errNack = errors.New("not confirmed")

func openRabbit(_ context.Context, o *options, h handlers) (queue, error) {
	q := &rabbitQueue{o: o}
	var err error
	for _, c := range []**amqp.Connection{&q.prod, &q.cons} {
		if *c, err = amqp.Dial("amqp://guest:guest@" + o.broker + "/"); err != nil {
			return nil, errors.Join(err, q.disconnect())
		}
	}
	if err := q.open(h); err != nil {
		return nil, errors.Join(err, q.disconnect())
	}
	return q, nil
}

func (q *rabbitQueue) open(h handlers) (err error) {
	if q.ch, err = q.prod.Channel(); err != nil {
		return err
	}
	if _, err := q.ch.QueueDeclare(q.o.name, true, false, false, false, nil); err != nil {
		return err
	}
	if err := q.ch.Confirm(false); err != nil {
		return err
	}
	confirmations := q.ch.NotifyPublish(make(chan amqp.Confirmation, 10_000))
	go func() {
		for c := range confirmations { // in the order of messages
			if c.Ack {
				h.confirmed(nil)
			} else {
				h.confirmed(errNack)
			}
		}
	}()
	reading, err := q.cons.Channel()
	if err != nil {
		return err
	}
	// Without acknowledgements of the consumer: the others' consumers send none either.
	messages, err := reading.Consume(q.o.name, "", true, false, false, false, nil)
	if err != nil {
		return err
	}
	go func() {
		for m := range messages {
			h.got(m.Body)
		}
	}()
	return nil
}

func (q *rabbitQueue) publish(ctx context.Context, value []byte) error {
	return q.ch.PublishWithContext(ctx, "", q.o.name, false, false, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: value})
}

func (q *rabbitQueue) close() error {
	_, err := q.ch.QueueDelete(q.o.name, false, false, false)
	return errors.Join(err, q.disconnect())
}

func (q *rabbitQueue) disconnect() error {
	var errs []error
	for _, c := range []*amqp.Connection{q.prod, q.cons} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
