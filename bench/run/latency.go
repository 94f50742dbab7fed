package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"
)

// latencySuite is the time from sending to receiving at given rates, Millrace beside
// Kafka and the brokers that are known for it.
type latencySuite struct {
	rateText    string
	rates       []int
	length      time.Duration
	recordBytes int
}

func (s *latencySuite) flags(f *flag.FlagSet, o *options) {
	f.StringVar(&s.rateText, "rates", "1000,20000", "records per second, comma-separated")
	f.IntVar(&o.rounds, "rounds", 3, "rounds of each rate")
	f.DurationVar(&s.length, "length", 20*time.Second, "length of one phase")
	f.IntVar(&s.recordBytes, "record-bytes", 1024, "bytes of a record's value")
}

func (s *latencySuite) check(o *options, quick bool) (err error) {
	if quick {
		s.length = 3 * time.Second
	}
	s.rates, err = parseInts("rates", s.rateText)
	return err
}

func (s *latencySuite) contenders() []contender {
	// Streams: their Go client falls behind at a chunk for each message, and would be what
	// is measured.
	return append(the(ours, oursAsync, rival, nats, natsAlways, rabbit), optional(the(rabbitStream, rivalFlushed, floor))...)
}

func (s *latencySuite) measure(ctx context.Context, b *bench) error {
	b.rows.lenient = true
	for _, rate := range s.rates {
		if err := measureLatency(ctx, b, "latency", rateText(rate), float64(rate), s.length, s.recordBytes); err != nil {
			return err
		}
	}
	return nil
}

func rateText(rate int) string { return withCommas(rate) + " records/s" }

// warmLatency is how long a broker is driven before its latency counts; Java compiles
// what is used often, and that takes a while.
const warmLatency = 5 * time.Second

// measureLatency sends at a rate for some time and looks at when each record arrives.
func measureLatency(ctx context.Context, b *bench, scenario, setting string, rate float64, length time.Duration, size int) error {
	w := work{mode: "e2e", size: size, rate: rate, maxTime: 2*length + warmLatency, cut: true}
	warm := w
	warm.records = int64(rate * min(warmLatency, length).Seconds())
	if err := b.warmUp(ctx, b.peers, phase{work: warm}); err != nil {
		return err
	}
	w.records = int64(rate * length.Seconds())
	return b.rounds(ctx, b.o.rounds, b.peers, trial{scenario: scenario, setting: setting, phases: []phase{{name: "e2e", work: w}}})
}

func (s *latencySuite) print(w io.Writer, r *rows) {
	fmt.Fprintf(w, "One producer, one consumer, one partition (or queue), records of %d bytes; acknowledged by the leader's disk only in millrace, nats-always and kafka-flushed.\n\n", s.recordBytes)
	r.printLatency(w, inScenarios("latency"))
	r.printMemory(w)
}

// latencyTargets are absolute where the machine is quiet, and relative to others.
var latencyTargets = func() []target {
	base := target{scenario: "latency", phase: "e2e", unit: "ms", factor: 1}
	slow := func(c cell) bool { return c.setting == rateText(1000) }
	var out []target
	add := func(q string, change func(*target)) {
		t := base
		t.figure, t.name = endToEndMs(q), "end to end "+q
		change(&t)
		out = append(out, t)
	}
	add("p50", func(t *target) { t.factor = 0.25 })
	add("p99", func(t *target) { t.factor = 0.6 })
	add("p99.9", func(t *target) { t.factor, t.than = 0.25, rival })
	for _, q := range []string{"p50", "p99"} {
		add(q, func(t *target) { t.than, t.only = natsAlways, slow })
		for _, other := range []string{nats, rabbit} {
			add(q, func(t *target) { t.who, t.than, t.only, t.name = oursAsync, other, slow, "async, "+t.name })
		}
	}
	return out
}()

func (s *latencySuite) judge(r *rows) []verdict { return r.judge(latencyTargets) }
