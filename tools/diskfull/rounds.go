package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"millrace/tools/rig"
	"millrace/tools/rig/history"
)

const (
	// keptTopic is what the idempotent producer writes to from the first round to the end.
	keptTopic      = "kept"
	keptPartitions = 2
	keptGroup      = "kept-readers"

	// fillerPartitions share the disk in each round; segments are small so that retention has some to delete.
	fillerPartitions = 2
	fillerSegment    = "4194304"

	// writableWithin is how soon after space returned everything must be writable again.
	writableWithin = 5 * time.Second
	// worksWithin bounds what must work on the full disk.
	worksWithin = 10 * time.Second
	// settle bounds what is waited for after the last round.
	settle = time.Minute
)

// keptPace keeps the topic that is never deleted small beside the disk.
var keptPace = rig.Pace{Every: 20 * time.Millisecond, Burst: 8, ValueBytes: 300}

// settings suit a small disk: what is deleted goes soon, and few partitions for offsets.
var settings = []string{
	"log.slab.bytes=33554432",
	"log.retention.check.interval.ms=1000",
}

// rounds is the state of a run.
type rounds struct {
	o       *options
	out     io.Writer
	disk    string
	broker  *rig.Broker
	ballast *ballast
	found   *rig.Findings

	history  *history.History // of keptTopic
	producer *rig.Producer
	consumer *rig.Consumer

	filler *filler // of this round; nil once its topic is deleted
	late   *filler // whose topic was created on the full disk
	greedy *filler // whose topic was created when not a block was left, nil if that was refused

	created   int              // topics created when not a block was left
	commits   map[string]int64 // what groups committed on full disks
	restarts  rig.Restarts
	recovered rig.Restarts // times from the return of space until everything was writable
	filled    int64
}

func newRounds(o *options, dir, disk string, out io.Writer) (*rounds, error) {
	r := &rounds{
		o: o, out: out, disk: disk, history: history.New(), found: &rig.Findings{}, commits: map[string]int64{},
		ballast: &ballast{filepath.Join(disk, "ballast")},
		broker: rig.NewBroker(o.binary, filepath.Join(disk, "data"), filepath.Join(dir, "server.log"), o.listen, o.http,
			append(append([]string{}, settings...), o.sets...)),
	}
	var err error
	if r.producer, err = rig.NewProducer(o.listen, keptTopic, 1, o.seed, r.history); err != nil {
		return nil, err
	}
	r.producer.Pace = keptPace
	r.consumer, err = rig.NewConsumer(o.listen, keptTopic, keptGroup, r.found)
	return r, err
}

// run does the rounds. The error is about what could not be done; what must not be is in found.
func (r *rounds) run(ctx context.Context) error {
	defer r.broker.Kill()
	if _, err := r.broker.StartServing(ctx, "", 0); err != nil {
		return err
	}
	if err := rig.CreateTopic(ctx, r.o.listen, keptTopic, keptPartitions, map[string]*string{"segment.bytes": kadm.StringPtr("1048576")}); err != nil {
		return r.broker.Explain(err)
	}
	producing, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { r.producer.Run(producing, keptPartitions) })
	go r.consumer.Run(ctx)
	for n := range r.o.rounds {
		if err := r.round(ctx, n); err != nil {
			return r.broker.Explain(fmt.Errorf("round %d: %w", n+1, err))
		}
		if len(r.found.List()) > 0 {
			return nil // what follows would only bury it
		}
	}
	stop()
	running.Wait()
	return r.finish(ctx)
}

// round fills the disk, looks at what works on it, and frees it.
func (r *rounds) round(ctx context.Context, n int) error {
	free, restart := freeing[n%len(freeing)], restarting[n%len(restarting)]
	others := n%len(freeing) == len(freeing)-1
	var err error
	config := map[string]*string{"segment.bytes": kadm.StringPtr(fillerSegment)}
	if r.filler, err = newFiller(ctx, r.o.listen, fmt.Sprintf("filler-%d", n), fillerPartitions, config); err != nil {
		return err
	}
	if others {
		// Some records first: they have to be there afterwards.
		if _, err := r.filler.send(0, 64, 4096); err != nil {
			return err
		}
		if err := r.ballast.topUp(); err != nil {
			return err
		}
	}
	bytes, err := r.filler.fill(ctx)
	if err != nil {
		return err
	}
	r.filled += bytes
	left, err := freeBytes(r.disk)
	if err != nil {
		return err
	}
	if err := r.onFullDisk(ctx, n, "before the restart"); err != nil {
		return err
	}
	if err := restart.do(r, ctx); err != nil {
		return err
	}
	if err := r.onFullDisk(ctx, n, "after the restart"); err != nil {
		return err
	}
	if others {
		if err := r.withoutABlock(ctx, n); err != nil {
			return err
		}
	}
	took, err := r.free(ctx, free)
	if err != nil {
		return fmt.Errorf("freed by %s: %w", free.name, err)
	}
	fmt.Fprintf(r.out, "round %d: %d KB produced until refused, %d KB free of it; %s; writable %v after %s\n",
		n+1, bytes>>10, left>>10, restart.name, took.Round(time.Millisecond), free.name)
	return r.clear(ctx)
}

// onFullDisk does all that must work on a full disk.
func (r *rounds) onFullDisk(ctx context.Context, n int, when string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 3*worksWithin, errors.New("it takes too long on a full disk"))
	defer cancel()
	group := fmt.Sprintf("group-%d-%s", n, when)
	steps := []struct {
		what string
		do   func() error
	}{
		{"produce", func() error { return r.refusesToFill(ctx) }},
		{"read everything", func() error { return r.filler.check(ctx, r.found) }},
		{"commit an offset", func() error { return r.commit(ctx, group, int64(n+1)) }},
		{"create a topic", func() error { return r.createLate(ctx, fmt.Sprintf("late-%d", n)) }},
		{"delete it", func() error { return r.deleteLate(ctx) }},
		{"create it again", func() error { return r.createLate(ctx, fmt.Sprintf("late-%d", n)) }},
	}
	if r.late != nil {
		steps[3].do = func() error { return nil } // before the restart
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return fmt.Errorf("%s on the full disk, %s: %w", s.what, when, err)
		}
	}
	return nil
}

// refusesToFill produces batches that no longer fit; what a restart has cut from the ends of files may be filled.
func (r *rounds) refusesToFill(ctx context.Context) error {
	_, err := r.filler.fill(ctx)
	return err
}

// commit commits an offset for a group that nobody has heard of and reads it back.
func (r *rounds) commit(ctx context.Context, group string, at int64) error {
	return rig.WithAdmin(r.o.listen, func(adm *kadm.Client) error {
		err := eventually(ctx, func() error {
			var offsets kadm.Offsets
			offsets.AddOffset(keptTopic, 0, at, -1)
			return adm.CommitAllOffsets(ctx, group, offsets)
		})
		if err != nil {
			return err
		}
		r.commits[group] = at
		return r.committed(ctx, adm, group)
	})
}

func (r *rounds) committed(ctx context.Context, adm *kadm.Client, group string) error {
	return eventually(ctx, func() error {
		offsets, err := adm.FetchOffsets(ctx, group)
		if err != nil {
			return err
		}
		if o, ok := offsets.Lookup(keptTopic, 0); !ok || o.At != r.commits[group] {
			return fmt.Errorf("group %q: committed offset is %d, confirmed was %d", group, o.At, r.commits[group])
		}
		return nil
	})
}

func (r *rounds) createLate(ctx context.Context, topic string) (err error) {
	r.late, err = newFiller(ctx, r.o.listen, topic, 1, nil)
	return err
}

func (r *rounds) deleteLate(ctx context.Context) error {
	r.late.close()
	topic := r.late.topic
	r.late = nil
	return deleteTopic(ctx, r.o.listen, topic)
}

// withoutABlock creates a topic while the other file takes every block, the reserve's too, as soon as it is free. That
// may be refused; if it is not, the topic is there when space returns.
func (r *rounds) withoutABlock(ctx context.Context, n int) error {
	for range 3 {
		if err := r.ballast.topUp(); err != nil {
			return err
		}
		if _, err := r.filler.send(0, 1, 512); err != nil {
			return err
		}
	}
	f, err := newFiller(ctx, r.o.listen, fmt.Sprintf("greedy-%d", n), 3, nil)
	if err == nil {
		r.greedy = f
		r.created++
	}
	return r.ballast.topUp()
}

// free lets space return and waits until everything is writable.
func (r *rounds) free(ctx context.Context, how way) (time.Duration, error) {
	if err := how.do(r, ctx); err != nil {
		return 0, err
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, writableWithin, fmt.Errorf("not writable %v after space returned", writableWithin))
	defer cancel()
	for _, f := range []*filler{r.filler, r.late, r.greedy} {
		if f == nil {
			continue
		}
		if err := f.awaitWritable(ctx); err != nil {
			return 0, errors.Join(err, context.Cause(ctx))
		}
	}
	if err := r.keptGoesOn(ctx); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	r.recovered = append(r.recovered, took)
	return took, nil
}

// keptGoesOn waits until the idempotent producer has got on.
func (r *rounds) keptGoesOn(ctx context.Context) error {
	_, before, _ := r.history.Counts()
	for {
		if err := r.producer.Failure(); err != nil {
			return err
		}
		if _, now, _ := r.history.Counts(); now > before {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the idempotent producer does not get on: %w", context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// clear deletes the round's topics and judges what is left of them first.
func (r *rounds) clear(ctx context.Context) error {
	for _, f := range []*filler{r.late, r.greedy} {
		if f == nil {
			continue
		}
		if err := f.check(ctx, r.found); err != nil {
			return err
		}
	}
	for _, f := range []*filler{r.filler, r.late, r.greedy} {
		if f == nil {
			continue
		}
		f.close()
		if err := deleteTopic(ctx, r.o.listen, f.topic); err != nil {
			return err
		}
	}
	r.filler, r.late, r.greedy = nil, nil, nil
	if err := r.ballast.remove(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	return rig.WithAdmin(r.o.listen, func(adm *kadm.Client) error {
		_, err := r.consumer.Observe(ctx, adm, keptPartitions)
		return err
	})
}

// finish reads back everything that was never deleted, after one more kill.
func (r *rounds) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*settle)
	defer cancel()
	if err := r.producer.Flush(ctx); err != nil {
		return r.broker.Explain(err)
	}
	r.producer.Close()
	if err := r.broker.Kill(); err != nil {
		return err
	}
	took, err := r.broker.StartServing(ctx, keptTopic, keptPartitions)
	if err != nil {
		return err
	}
	r.restarts = append(r.restarts, took)
	defer r.consumer.Close()
	return r.broker.Explain(rig.WithAdmin(r.o.listen, func(adm *kadm.Client) error {
		ends, err := rig.EndOffsets(ctx, adm, keptTopic)
		if err != nil {
			return err
		}
		for p, end := range ends {
			var failed error
			r.found.Add(r.history.Check(p, 0, rig.ReadBack(ctx, r.o.listen, keptTopic, p, 0, end, &failed))...)
			if failed != nil {
				return failed
			}
		}
		for group := range r.commits {
			if err := r.committed(ctx, adm, group); err != nil {
				return err
			}
		}
		return r.consumer.CatchUp(ctx, adm, ends)
	}))
}

// report prints what was done.
func (r *rounds) report() {
	sent, acked, _ := r.history.Counts()
	fmt.Fprintf(r.out, "%d rounds, %d MB produced to full disks, %d commits on full disks, %d topics created without a block left; idempotent producer: %d records sent, %d acknowledged, %d consumed\n",
		r.o.rounds, r.filled>>20, len(r.commits), r.created, sent, acked, r.consumer.Records())
	fmt.Fprintf(r.out, "writable after space returned: median %v, max %v; restart to serving: median %v, max %v\n",
		r.recovered.Median().Round(time.Millisecond), r.recovered.Max().Round(time.Millisecond),
		r.restarts.Median().Round(time.Millisecond), r.restarts.Max().Round(time.Millisecond))
	fmt.Fprintln(r.out, "nothing acknowledged lost, nothing refused written, order kept, committed offsets kept")
}
