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

	"millrace/tools/rig"
	"millrace/tools/rig/history"
)

const (
	// topic is what the producers write to. Its segments are small, so that kills meet
	// rolls, several segments and sealed files.
	topic        = "crash"
	groupID      = "crash"
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
	broker    *rig.Broker
	rng       *rand.Rand
	history   *history.History
	found     *rig.Findings
	producers []*rig.Producer
	consumer  *rig.Consumer
	restarts  rig.Restarts
}

// runRounds kills the broker o.rounds times and returns what is wrong with the result.
// An error is about what could not be done at all.
func runRounds(ctx context.Context, o *options, dir string, out io.Writer) (*rounds, error) {
	r := &rounds{
		o: o, out: out, broker: o.broker(dir), rng: rand.New(rand.NewPCG(o.seed, 0)),
		history: history.New(), found: &rig.Findings{},
	}
	defer r.broker.Kill()
	if _, err := r.broker.StartServing(ctx, "", 0); err != nil {
		return r, err
	}
	if err := rig.CreateTopic(ctx, o.listen, topic, o.partitions, map[string]*string{"segment.bytes": kadm.StringPtr(segmentBytes)}); err != nil {
		return r, r.broker.Explain(err)
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
		if vs := r.found.List(); len(vs) > 0 {
			break // what follows would only bury it
		}
	}
	return r, r.finish(ctx, stop)
}

// startClients starts the producers and the group; stop ends the producers' goroutines
// and may be called twice.
func (r *rounds) startClients(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for id := range r.o.producers {
		p, err := rig.NewProducer(r.o.listen, topic, int32(id), r.o.seed, r.history)
		if err != nil {
			cancel()
			return nil, err
		}
		r.producers = append(r.producers, p)
		running.Go(func() { p.Run(ctx, r.o.partitions) })
	}
	if r.consumer, err = rig.NewConsumer(r.o.listen, topic, groupID, r.found); err != nil {
		cancel()
		return nil, err
	}
	return func() { cancel(); running.Wait() }, nil
}

// round lets the broker live for a while, kills it, starts it again, and looks at what
// can be seen at once.
func (r *rounds) round(ctx context.Context, n int) error {
	if n == 1 {
		go r.consumer.Run(ctx)
	}
	alive := r.o.minAlive + time.Duration(r.rng.Int64N(int64(r.o.maxAlive-r.o.minAlive)+1))
	if err := r.broker.StayAlive(ctx, alive); err != nil {
		return err
	}
	if err := r.broker.Kill(); err != nil {
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
	took, err := r.broker.StartServing(ctx, topic, r.o.partitions)
	if err != nil {
		return err
	}
	r.restarts = append(r.restarts, took)
	fmt.Fprintf(r.out, "round %d: killed after %v%s, serving again after %v\n", n, alive.Round(time.Millisecond), again, took.Round(time.Millisecond))
	return r.lookAt(ctx, acked)
}

func (r *rounds) killWhileStarting(ctx context.Context, after time.Duration) error {
	if err := r.broker.Start(); err != nil {
		return err
	}
	if err := r.broker.StayAlive(ctx, after); err != nil {
		return err
	}
	return r.broker.Kill()
}

// lookAt checks end offsets, committed offsets and that no producer has given up.
func (r *rounds) lookAt(ctx context.Context, acked []int64) error {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	err := rig.WithAdmin(r.o.listen, func(adm *kadm.Client) error {
		ends, err := rig.EndOffsets(ctx, adm, topic)
		if err != nil {
			return err
		}
		for p, end := range ends {
			if end < acked[p] {
				r.found.Add(history.Violation{Kind: history.Lost, Partition: p,
					Text: fmt.Sprintf("the log ends at %d after the restart, acknowledged were offsets up to %d", end, acked[p]-1)})
			}
		}
		_, err = r.consumer.Observe(ctx, adm, r.o.partitions)
		return err
	})
	for _, p := range r.producers {
		err = errors.Join(err, p.Failure())
	}
	return r.broker.Explain(err)
}

// finish lets the clients come to rest, kills the broker once more, and reads everything.
func (r *rounds) finish(ctx context.Context, stop func()) error {
	stop()
	ctx, cancel := context.WithTimeout(ctx, 3*settle)
	defer cancel()
	for _, p := range r.producers {
		flush, cancel := context.WithTimeout(ctx, settle)
		err := p.Flush(flush)
		cancel()
		if err != nil {
			return r.broker.Explain(fmt.Errorf("after the last round: %w", err))
		}
		p.Close()
	}
	if err := r.broker.Kill(); err != nil {
		return err
	}
	took, err := r.broker.StartServing(ctx, topic, r.o.partitions)
	if err != nil {
		return err
	}
	r.restarts = append(r.restarts, took)
	defer r.consumer.Close()
	return rig.WithAdmin(r.o.listen, func(adm *kadm.Client) error {
		ends, err := rig.EndOffsets(ctx, adm, topic)
		if err != nil {
			return err
		}
		for p, end := range ends {
			var failed error
			r.found.Add(r.history.Check(p, 0, rig.ReadBack(ctx, r.o.listen, topic, p, 0, end, &failed))...)
			if failed != nil {
				return r.broker.Explain(failed)
			}
		}
		return r.broker.Explain(r.consumer.CatchUp(ctx, adm, ends))
	})
}
