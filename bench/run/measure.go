package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"millrace/bench/internal/result"
)

// trial is what is measured of each contender in each round of a case: phases one after
// the other on fresh topics.
type trial struct {
	scenario string
	setting  string // what tells cases of the scenario apart, besides partitions
	phases   []phase
	// warm is what contenders that begin from nothing do first; may be nil.
	warm *work
}

// phase is one invocation of a load client within a trial.
type phase struct {
	name string // in the rows
	work work
	// before is done first, outside the measurement; may be nil.
	before func(p *peer, topic string) error
	// hidden phases prepare others and leave no row.
	hidden bool
	// aside phases are on topics of their own.
	aside bool
}

// rounds measures peers in turn, n times: A B A B.
func (b *bench) rounds(ctx context.Context, n int, peers []*peer, t trial) error {
	for round := 1; round <= n; round++ {
		for _, p := range peers {
			err := b.measure(ctx, p, t, b.keep(t, p, round))
			if err != nil && ctx.Err() == nil && b.rows.mayFail(p.name) {
				b.rows.note("%s, %s, round %d: %s could not be measured: %v", t.scenario, caseText(1, t.setting), round, p.name, err)
				err = nil
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// warmUp lets every peer do the phases of a case once, and keeps no rows.
func (b *bench) warmUp(ctx context.Context, peers []*peer, phases ...phase) error {
	for _, p := range peers {
		if p.renewed {
			continue // what it learned would be lost
		}
		err := b.measure(ctx, p, trial{phases: phases}, func(phase, result.Phase) error { return nil })
		if err != nil && ctx.Err() == nil && b.rows.mayFail(p.name) {
			continue // what it is measured at will tell
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keep gives the function that takes the phases of a round of a trial into the rows.
func (b *bench) keep(t trial, p *peer, round int) func(phase, result.Phase) error {
	return func(ph phase, x result.Phase) error { return b.keepTogether(t, p, round, ph.name, x, false) }
}

// keepTogether adds a row; together says that another load client was at work, on purpose.
func (b *bench) keepTogether(t trial, p *peer, round int, name string, x result.Phase, together bool) error {
	x.Phase = name
	fmt.Fprintf(os.Stderr, "%s, %s, round %d, %s: %s\n", t.scenario, caseText(x.Partitions, t.setting), round, p.name, brief(x))
	return b.rows.add(row{Scenario: t.scenario, Setting: t.setting, Peer: p.name, Round: round, Time: time.Now(), Together: together, Phase: x})
}

// measure runs the phases of a trial on fresh topics, hands their figures to each, and
// returns when the topics are gone again.
func (b *bench) measure(ctx context.Context, p *peer, t trial, each func(phase, result.Phase) error) error {
	if p.renewed {
		if err := b.o.restart(ctx, p); err != nil {
			return err
		}
		if t.warm != nil {
			if err := b.o.load(ctx, p, b.newTopic(), *t.warm, nil); err != nil {
				return err
			}
		}
	}
	// What the one before left to the page cache is not to be written at the cost of this one.
	unix.Sync()
	names, topic := []string{}, ""
	fresh := func() string {
		names = append(names, b.newTopic())
		return names[len(names)-1]
	}
	for _, ph := range t.phases {
		on := topic
		switch {
		case ph.aside:
			on = fresh()
		case topic == "":
			topic = fresh()
			on = topic
		}
		if ph.before != nil {
			if err := ph.before(p, on); err != nil {
				return err
			}
		}
		err := b.o.load(ctx, p, on, ph.work, func(x result.Phase) error {
			if ph.hidden && x.Errors > 0 {
				return fmt.Errorf("prepare %s of %s: %d errors, the first: %s", t.scenario, p.name, x.Errors, x.FirstError)
			}
			if ph.hidden {
				return nil
			}
			return each(ph, x)
		})
		if err != nil {
			return err
		}
	}
	return b.o.remove(ctx, p, t.phases[0].work, names...)
}

// newTopic is a name that this run has not used.
func (b *bench) newTopic() string {
	b.topics++
	return fmt.Sprintf("bench%d", b.topics)
}

// remove deletes the topics of a trial and returns when nothing of them is on the disk.
func (o *options) remove(ctx context.Context, p *peer, of work, topics ...string) error {
	if p.client != kafkaClient {
		return nil // renewed, or its client has deleted what it made
	}
	w := work{mode: "delete", topics: of.topics, partitions: of.partitions}
	for _, topic := range topics {
		if err := o.load(ctx, p, topic, w, nil); err != nil {
			return err
		}
	}
	for _, topic := range topics {
		if err := p.awaitGone(ctx, topic); err != nil {
			return err
		}
	}
	return nil
}

// brief is a row for the eye while the run goes on.
func brief(x result.Phase) string {
	text := fmt.Sprintf("%s %.0f MB/s, %.2f broker CPU s/GB", x.Phase, x.MBPerS, x.BrokerCPUGB)
	if ms := x.E2EMs; ms != nil && x.Rate > 0 {
		text = fmt.Sprintf("%s p50 %.2f ms, p99 %.2f, p99.9 %.2f", x.Phase, ms["p50"], ms["p99"], ms["p99.9"])
	}
	if x.CutShort {
		text += fmt.Sprintf(", cut after %.0f s", x.Seconds)
	}
	if x.Errors > 0 {
		text += fmt.Sprintf(", %d ERRORS, the first: %s", x.Errors, x.FirstError)
	}
	return text
}

// caseText names a case: by its setting, or else by its partitions.
func caseText(partitions int, setting string) string {
	switch {
	case setting != "":
		return setting
	case partitions == 1:
		return "1 partition"
	}
	return fmt.Sprintf("%d partitions", partitions)
}
