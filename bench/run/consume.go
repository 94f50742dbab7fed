package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"millrace/bench/internal/result"
)

// consumeSuite is reading: behind the producers, and from the disk.
type consumeSuite struct {
	tailGB      float64
	catchUpGB   float64
	pace        float64 // records per second of the producer that is disturbed
	before      time.Duration
	library     bool
	recordBytes int
}

func (s *consumeSuite) flags(f *flag.FlagSet, o *options) {
	f.IntVar(&o.rounds, "rounds", 3, "rounds of each case")
	f.Float64Var(&s.tailGB, "tail-gb", 2, "amount of a tail phase, 10^9 bytes of values")
	f.Float64Var(&s.catchUpGB, "catch-up-gb", 4, "amount of a catch-up phase, 10^9 bytes of values")
	f.Float64Var(&s.pace, "pace", 5000, "records per second of the producer beside a reader that catches up")
	f.DurationVar(&s.before, "before", 10*time.Second, "how long that producer is measured without the reader")
	f.BoolVar(&s.library, "library", false, "catch up with franz-go instead of a reader that decodes no records")
	f.IntVar(&s.recordBytes, "record-bytes", 1024, "bytes of a record's value")
}

func (s *consumeSuite) check(o *options, quick bool) error {
	if quick {
		s.tailGB, s.catchUpGB, s.before = 0.1, 0.2, 2*time.Second
	}
	return nil
}

func (s *consumeSuite) contenders() []contender { return the(rival, ours, floor) }

// consumerCounts are the numbers of consumers, each with a partition of its own.
var consumerCounts = []int{1, 16}

func (s *consumeSuite) measure(ctx context.Context, b *bench) error {
	for _, n := range consumerCounts {
		produce, tail, read := s.works(n, b.o.warmGB)
		if err := b.warmUp(ctx, b.peers, phase{work: produce}, phase{work: read}, phase{work: tail}); err != nil {
			return err
		}
		_, tail, _ = s.works(n, s.tailGB)
		if err := b.rounds(ctx, b.o.rounds, b.peers, trial{scenario: "tail", setting: consumersText(n), phases: []phase{{name: "tail", work: tail}}}); err != nil {
			return err
		}
		produce, _, read = s.works(n, s.catchUpGB)
		err := b.rounds(ctx, b.o.rounds, b.peers, trial{scenario: "catch-up", setting: consumersText(n), phases: []phase{
			{name: "fill", work: produce, hidden: true},
			{name: "push", work: s.push(), hidden: true, aside: true},
			{name: "cold", work: read, before: func(p *peer, _ string) error { return evict(p.dir) }},
			{name: "again", work: read},
		}})
		if err != nil {
			return err
		}
	}
	for round := 1; round <= b.o.rounds; round++ {
		for _, p := range b.peers {
			if err := s.disturb(ctx, b, p, round); err != nil {
				return err
			}
		}
	}
	return nil
}

func consumersText(n int) string {
	if n == 1 {
		return "1 consumer"
	}
	return fmt.Sprintf("%d consumers", n)
}

// works are a producer's, that of a producer with consumers behind it, and the consumers'.
func (s *consumeSuite) works(n int, gb float64) (produce, tail, read work) {
	w := work{partitions: n, size: s.recordBytes, records: recordsOf(gb, s.recordBytes), maxTime: shortTime}
	produce, tail, read = w, w, w
	produce.mode = "produce"
	tail.mode, tail.consumers = "e2e", n
	read.mode, read.consumers, read.raw = "consume", n, !s.library
	return produce, tail, read
}

// pushGB is more than Millrace keeps of what was just written in memory of its own.
const pushGB = 0.4

// push is what makes a cold topic cold for a broker with such memory: writing another.
func (s *consumeSuite) push() work {
	return work{mode: "produce", size: s.recordBytes, records: recordsOf(pushGB, s.recordBytes), maxTime: shortTime}
}

// disturb measures a paced producer before and while a reader of another topic catches up
// from the disk.
func (s *consumeSuite) disturb(ctx context.Context, b *bench, p *peer, round int) error {
	cold, other, victim := b.newTopic(), b.newTopic(), b.newTopic()
	fill, _, read := s.works(1, s.catchUpGB)
	paced := work{mode: "produce", partitions: 1, size: s.recordBytes, rate: s.pace, records: int64(s.pace * s.before.Seconds()), maxTime: shortTime}
	t := trial{scenario: "disturbance"}
	keep := func(name string, together bool) func(result.Phase) error {
		return func(x result.Phase) error { return b.keepTogether(t, p, round, name, x, together) }
	}
	if err := b.o.load(ctx, p, cold, fill, nil); err != nil {
		return err
	}
	if err := b.o.load(ctx, p, other, s.push(), nil); err != nil {
		return err
	}
	if err := b.o.load(ctx, p, victim, paced, keep("produce before", false)); err != nil {
		return err
	}
	if err := evict(p.dir); err != nil {
		return err
	}
	paced.records, paced.untilTold = endless, true
	producing, err := b.o.startLoad(ctx, p, victim, paced)
	if err != nil {
		return err
	}
	err = b.o.load(ctx, p, cold, read, keep("cold beside", true))
	_ = producing.stop.Close()
	if waited := producing.wait(keep("produce during", true)); err == nil {
		err = waited
	}
	if err != nil {
		return err
	}
	return b.o.remove(ctx, p, paced, cold, other, victim)
}

// endless is more records than any phase sends.
const endless = 1 << 50

func (s *consumeSuite) print(w io.Writer, r *rows) {
	reader := "a reader on plain sockets that decodes no records"
	if s.library {
		reader = "franz-go"
	}
	fmt.Fprintf(w, "A partition for each consumer. Tail: one producer at full speed and consumers behind it (broker CPU is for both). Catch-up: %s; before a cold one another topic is written and the page cache of the broker's files given up.\n", reader)
	fmt.Fprintf(w, "Disturbance: a producer of %.0f records/s, acks=all, before and during a cold catch-up of another topic.\n\n", s.pace)
	r.printThroughput(w, inScenarios("tail", "catch-up", "disturbance"), theFloor)
	r.printMemory(w)
}

// beforehand is the same producer without a reader beside it.
func beforehand(c cell) cell { c.phase = "produce before"; return c }

var consumeTargets = func() []target {
	out := []target{}
	for _, x := range []struct{ scenario, phase string }{{"tail", "tail"}, {"catch-up", "cold"}} {
		out = append(out,
			target{scenario: x.scenario, phase: x.phase, figure: mbPerS, name: x.phase, unit: "MB/s", atLeast: true, factor: 1.2, than: rival, limitOf: floor},
			target{scenario: x.scenario, phase: x.phase, figure: cpuPerGB, name: x.phase, unit: "broker CPU s/GB", factor: 1.15, than: floor})
	}
	return append(out, target{
		scenario: "disturbance", phase: "produce during", figure: publishMs("p99"), name: "produce p99 during a cold catch-up", unit: "ms", factor: 2,
		than: ours, against: beforehand,
	})
}()

func (s *consumeSuite) judge(r *rows) []verdict { return r.judge(consumeTargets) }
