package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/tools/crash/history"
)

const (
	// topic is what the producers write to. Its segments are small, so that kills meet
	// rolls, several segments and sealed files.
	topic        = "crash"
	segmentBytes = "4194304"

	// killedAgain is in how many of the rounds the broker is killed once more while it
	// recovers: one in so many; recovering is for at most so long then.
	killedAgain   = 4
	recoveringMax = 150 * time.Millisecond

	// settle bounds what is waited for after the last round.
	settle = time.Minute
)

// rounds is the state of one run of kills.
type rounds struct {
	o         *options
	out       io.Writer
	broker    *broker
	rng       *rand.Rand
	history   *history.History
	found     *findings
	producers []*producer
	consumer  *consumer
	restarts  restarts
}

// runRounds kills the broker o.rounds times and returns what is wrong with the result.
// An error is about what could not be done at all.
func runRounds(ctx context.Context, o *options, dir string, out io.Writer) (*rounds, error) {
	r := &rounds{
		o: o, out: out, broker: newBroker(o, dir, o.listen), rng: rand.New(rand.NewPCG(o.seed, 0)),
		history: history.New(), found: &findings{},
	}
	defer r.broker.kill()
	if _, err := r.broker.startServing(ctx, "", 0); err != nil {
		return r, err
	}
	if err := createTopic(ctx, o.listen, topic, o.partitions, map[string]*string{"segment.bytes": kadm.StringPtr(segmentBytes)}); err != nil {
		return r, r.broker.explain(err)
	}
	stop, err := r.startClients(ctx)
	if err != nil {
		return r, err
	}
	defer stop()
	for round := 1; round <= o.rounds; round++ {
		if err := r.round(ctx, round); err != nil {
			return r, fmt.Errorf("round %d: %w", round, err)
		}
		if vs := r.found.list(); len(vs) > 0 {
			break // what follows would only bury it
		}
	}
	return r, r.finish(ctx, stop)
}

// createTopic makes a topic of one replica.
func createTopic(ctx context.Context, addr, topic string, partitions int, config map[string]*string) error {
	return withAdmin(addr, func(adm *kadm.Client) error {
		res, err := adm.CreateTopic(ctx, int32(partitions), 1, config, topic)
		if err = errors.Join(err, res.Err); err != nil {
			return fmt.Errorf("create topic %s: %w", topic, err)
		}
		return nil
	})
}

// withAdmin runs f with a new admin client, which has no memory of an earlier broker.
func withAdmin(addr string, f func(*kadm.Client) error) error {
	cl, err := kgo.NewClient(clientOptions(addr)...)
	if err != nil {
		return err
	}
	defer cl.Close()
	return f(kadm.NewClient(cl))
}

// startClients starts the producers and the group; stop ends the producers' goroutines
// and may be called twice.
func (r *rounds) startClients(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for id := range r.o.producers {
		p, err := newProducer(r.o, int32(id), r.history)
		if err != nil {
			cancel()
			return nil, err
		}
		r.producers = append(r.producers, p)
		running.Go(func() { p.run(ctx, r.o.partitions) })
	}
	if r.consumer, err = newConsumer(r.o, r.found); err != nil {
		cancel()
		return nil, err
	}
	return func() { cancel(); running.Wait() }, nil
}

// round lets the broker live for a while, kills it, starts it again, and looks at what
// can be seen at once.
func (r *rounds) round(ctx context.Context, n int) error {
	if n == 1 {
		go r.consumer.run(ctx)
	}
	alive := r.o.minAlive + time.Duration(r.rng.Int64N(int64(r.o.maxAlive-r.o.minAlive)+1))
	if err := r.broker.stayAlive(ctx, alive); err != nil {
		return err
	}
	if err := r.broker.kill(); err != nil {
		return err
	}
	again := ""
	if r.rng.IntN(killedAgain) == 0 {
		recovering := time.Duration(r.rng.Int64N(int64(recoveringMax)))
		again = fmt.Sprintf(", killed again %v into the start", recovering.Round(time.Millisecond))
		if err := r.killWhileStarting(ctx, recovering); err != nil {
			return err
		}
	}
	acked := make([]int64, r.o.partitions) // what is acknowledged by now must be there after the restart
	for p := range acked {
		acked[p] = r.history.AcknowledgedEnd(int32(p))
	}
	took, err := r.broker.startServing(ctx, topic, r.o.partitions)
	if err != nil {
		return err
	}
	r.restarts = append(r.restarts, took)
	fmt.Fprintf(r.out, "round %d: killed after %v%s, serving again after %v\n", n, alive.Round(time.Millisecond), again, took.Round(time.Millisecond))
	return r.lookAt(ctx, acked)
}

func (r *rounds) killWhileStarting(ctx context.Context, after time.Duration) error {
	if err := r.broker.start(); err != nil {
		return err
	}
	if err := r.broker.stayAlive(ctx, after); err != nil {
		return err
	}
	return r.broker.kill()
}

// lookAt checks end offsets, committed offsets and that no producer has given up.
func (r *rounds) lookAt(ctx context.Context, acked []int64) error {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	err := withAdmin(r.o.listen, func(adm *kadm.Client) error {
		ends, err := endOffsets(ctx, adm, topic)
		if err != nil {
			return err
		}
		for p, end := range ends {
			if end < acked[p] {
				r.found.add(history.Violation{Kind: history.Lost, Partition: p,
					Text: fmt.Sprintf("the log ends at %d after the restart, acknowledged were offsets up to %d", end, acked[p]-1)})
			}
		}
		_, err = r.consumer.observe(ctx, adm, r.o.partitions)
		return err
	})
	for _, p := range r.producers {
		err = errors.Join(err, p.failure())
	}
	return r.broker.explain(err)
}

// finish lets the clients come to rest, kills the broker once more, and reads everything.
func (r *rounds) finish(ctx context.Context, stop func()) error {
	stop()
	ctx, cancel := context.WithTimeout(ctx, 3*settle)
	defer cancel()
	for _, p := range r.producers {
		flush, cancel := context.WithTimeout(ctx, settle)
		err := p.cl.Flush(flush)
		cancel()
		if err = errors.Join(err, p.failure()); err != nil {
			return r.broker.explain(fmt.Errorf("producer %d has records left after the last round: %w", p.id, err))
		}
		p.cl.Close()
	}
	if err := r.broker.kill(); err != nil {
		return err
	}
	took, err := r.broker.startServing(ctx, topic, r.o.partitions)
	if err != nil {
		return err
	}
	r.restarts = append(r.restarts, took)
	defer r.consumer.cl.CloseAllowingRebalance()
	return withAdmin(r.o.listen, func(adm *kadm.Client) error {
		ends, err := endOffsets(ctx, adm, topic)
		if err != nil {
			return err
		}
		for p, end := range ends {
			var failed error
			r.found.add(r.history.Check(p, 0, readBack(ctx, r.o.listen, p, end, &failed))...)
			if failed != nil {
				return r.broker.explain(failed)
			}
		}
		return r.broker.explain(r.consumer.catchUp(ctx, adm, ends))
	})
}
