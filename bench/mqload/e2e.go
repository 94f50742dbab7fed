package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"millrace/bench/internal/histogram"
	"millrace/bench/internal/measure"
	"millrace/bench/internal/pace"
	"millrace/bench/internal/payload"
	"millrace/bench/internal/result"
)

// queue is what messages go through: made anew, with a producer and a consumer.
type queue interface {
	// publish sends a message and returns without its confirmation.
	publish(ctx context.Context, value []byte) error
	// close deletes the queue and ends the connections.
	close() error
}

// handlers are what a queue tells, each from one goroutine at a time.
type handlers struct {
	// got is a message that was consumed.
	got func(value []byte)
	// confirmed is the confirmation of the oldest message that has none; err says that the
	// broker did not take it.
	confirmed func(err error)
}

// kinds open a queue of a broker.
var kinds = map[string]func(ctx context.Context, o *options, h handlers) (queue, error){
	"nats":            openNATS,
	"rabbitmq":        openRabbit,
	"rabbitmq-stream": openStream,
}

const (
	// arrival is how long after the last message the consumer may take for the rest.
	arrival = 5 * time.Second
	// startTime is how long a broker that has just been started may take to answer.
	startTime = time.Minute
	// grace is how long what was sent before a phase was cut may take to be confirmed.
	grace = time.Minute
)

// endToEnd sends at the rate and looks at when each message is confirmed and arrives.
func (o *options) endToEnd(ctx context.Context, w io.Writer) error {
	limit := o.maxTime
	if o.cut {
		limit += grace
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	values, err := payload.Values("text", o.size)
	if err != nil {
		return err
	}
	l := newLoad(o, values)
	q, err := retry(ctx, func() (queue, error) { return kinds[o.kind](ctx, o, handlers{got: l.got, confirmed: l.confirmed}) })
	if err != nil {
		return fmt.Errorf("open a queue of %s at %s: %w", o.kind, o.broker, err)
	}
	x, err := l.run(ctx, q)
	if closed := q.close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(x)
}

// retry opens until it works or the time is up.
func retry(ctx context.Context, open func() (queue, error)) (queue, error) {
	end := time.Now().Add(startTime)
	for {
		q, err := open()
		if err == nil || time.Now().After(end) {
			return q, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// load is a phase under way. The first message is a probe: when it has arrived, producer
// and consumer are there, and the clock starts.
type load struct {
	o      *options
	values [][]byte
	ph     *measure.Stretch

	publishTime, arrivalTime histogram.Histogram
	// sent has the time of each message that is not confirmed yet.
	sent        chan time.Time
	unconfirmed sync.WaitGroup
	received    atomic.Int64
	// expected is how many messages are to be received, once that is known.
	expected atomic.Int64
	// probed is closed when the probe has come, arrived when the last message has.
	probed, arrived chan struct{}
	once            sync.Once // closes arrived
	started         atomic.Bool
}

func newLoad(o *options, values [][]byte) *load {
	return &load{o: o, values: values, sent: make(chan time.Time, 1<<16), probed: make(chan struct{}), arrived: make(chan struct{})}
}

func (l *load) got(value []byte) {
	if l.started.CompareAndSwap(false, true) {
		close(l.probed)
		return
	}
	l.arrivalTime.Add(time.Since(payload.SentAt(value)))
	l.received.Add(1)
	l.arrivedAll()
}

// arrivedAll closes arrived when everything has been received.
func (l *load) arrivedAll() {
	if n := l.expected.Load(); n > 0 && l.received.Load() >= n {
		l.once.Do(func() { close(l.arrived) })
	}
}

func (l *load) confirmed(err error) {
	at := <-l.sent
	switch {
	case l.ph == nil: // the probe's
	case err != nil:
		l.ph.Fail(err)
	default:
		l.publishTime.Add(time.Since(at))
		l.ph.Done.Add(1)
	}
	l.unconfirmed.Done()
}

// send is one message; at is the time its latency counts from.
func (l *load) send(ctx context.Context, q queue, i int64, at time.Time) error {
	l.unconfirmed.Add(1)
	l.sent <- at
	return q.publish(ctx, payload.Stamped(l.values[i%int64(len(l.values))], at))
}

func (l *load) run(ctx context.Context, q queue) (x result.Phase, err error) {
	if err := l.probe(ctx, q); err != nil {
		return x, err
	}
	if l.o.rate > 0 {
		pace.SpareProcessors()
	}
	if l.ph, err = measure.Begin(l.o.pids); err != nil {
		return x, err
	}
	due := pace.Pace{Start: time.Now(), Rate: l.o.rate}
	sending, stop := context.WithTimeout(ctx, l.o.maxTime)
	defer stop()
	sent := int64(0)
	for ; sent < l.o.records && sending.Err() == nil; sent++ {
		if err := l.send(ctx, q, sent, due.Await(sent)); err != nil {
			return x, fmt.Errorf("publish: %w", err)
		}
	}
	l.expected.Store(sent)
	l.arrivedAll()
	if err := wait(ctx, l.unconfirmed.Wait); err != nil {
		return x, fmt.Errorf("wait for confirmations: %w", err)
	}
	select {
	case <-l.arrived:
	case <-time.After(arrival):
		l.ph.Fail(fmt.Errorf("only %d of %d messages came", l.received.Load(), sent))
	}
	return l.ph.End(result.Phase{
		Phase: "e2e", Topics: 1, Partitions: 1, Producers: 1, Consumers: 1, Size: l.o.size, Acks: "confirmed", Compression: "none", Rate: l.o.rate,
	}, l.o.records, &l.publishTime, &l.arrivalTime)
}

func (l *load) probe(ctx context.Context, q queue) error {
	if err := l.send(ctx, q, 0, time.Now()); err != nil {
		return fmt.Errorf("publish a probe: %w", err)
	}
	select {
	case <-l.probed:
	case <-ctx.Done():
		return fmt.Errorf("wait for the probe: %w", ctx.Err())
	}
	return wait(ctx, l.unconfirmed.Wait)
}

// wait returns when f does or ctx ends, then with its error.
func wait(ctx context.Context, f func()) error {
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
