package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/bench/internal/result"
)

// overview is a little of everything: idle memory, short and sustained producing,
// consuming, latency.
type overview struct {
	scenarioText, partitionText string

	scenarios   []string
	partitions  []int
	sustained   int // rounds of the sustained scenario
	shortGB     float64
	sustainedGB float64
	latency     time.Duration
	latencyRate float64
	recordBytes int
	settle      time.Duration

	// slabMiB is Millrace's slab budget, as it tells.
	slabMiB float64
}

// overviewScenarios are in the order in which they are measured.
var overviewScenarios = []string{"idle", "short", "latency", "sustained"}

func (s *overview) flags(f *flag.FlagSet, o *options) {
	f.StringVar(&s.scenarioText, "scenarios", strings.Join(overviewScenarios, ","), "which to run, comma-separated")
	f.StringVar(&s.partitionText, "partitions", "1,16", "partition counts of the short and the sustained scenario")
	f.IntVar(&o.rounds, "rounds", 3, "rounds of the short and the latency scenario")
	f.IntVar(&s.sustained, "sustained-rounds", 2, "rounds of the sustained scenario")
	f.Float64Var(&s.shortGB, "short-gb", 2, "amount of one short run, 10^9 bytes of values")
	f.Float64Var(&s.sustainedGB, "sustained-gb", 10, "amount of one sustained run, 10^9 bytes of values")
	f.DurationVar(&s.latency, "latency", 30*time.Second, "length of one latency run")
	f.Float64Var(&s.latencyRate, "latency-rate", 1000, "records per second of the latency scenario")
	f.IntVar(&s.recordBytes, "record-bytes", 1024, "bytes of a record's value")
	f.DurationVar(&s.settle, "settle", 5*time.Second, "time between the start of a broker and looking at its idle memory")
}

func (s *overview) check(o *options, quick bool) (err error) {
	if quick {
		s.sustained, s.shortGB, s.sustainedGB, s.latency = 1, 0.5, 2, 8*time.Second
	}
	s.scenarios = strings.Split(s.scenarioText, ",")
	for _, name := range s.scenarios {
		if !slices.Contains(overviewScenarios, name) {
			return fmt.Errorf("--scenarios: %q is none of %v", name, overviewScenarios)
		}
	}
	s.partitions, err = parseInts("partitions", s.partitionText)
	return err
}

func (s *overview) contenders() []contender { return the(rival, ours, floor) }

// measure runs the scenarios in their fixed order.
func (s *overview) measure(ctx context.Context, b *bench) (err error) {
	for _, p := range b.running(ours) {
		if s.slabMiB, err = slabBudgetMiB(ctx, p.addr); err != nil {
			return err
		}
	}
	for _, x := range []struct {
		name string
		run  func(context.Context, *bench) error
	}{{"idle", s.idle}, {"short", s.short}, {"latency", s.paced}, {"sustained", s.long}} {
		if !slices.Contains(s.scenarios, x.name) {
			continue
		}
		if err := x.run(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// idle looks at the memory of brokers that have done nothing yet.
func (s *overview) idle(ctx context.Context, b *bench) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(s.settle):
	}
	for _, p := range b.peers {
		u, err := p.usage()
		if err != nil {
			return err
		}
		x := result.Phase{Phase: "idle", BrokerRSSMiB: u.RSSMiB, BrokerPeakMiB: u.PeakMiB, BrokerCPUS: u.CPUSeconds()}
		if err := b.rows.add(row{Scenario: "idle", Peer: p.name, Round: 1, Time: time.Now(), Phase: x}); err != nil {
			return err
		}
	}
	return nil
}

// works is a produce phase of so many gigabytes and its like for consuming.
func (s *overview) works(partitions int, gb float64) (produce, consume work) {
	produce = work{mode: "produce", partitions: partitions, size: s.recordBytes, records: recordsOf(gb, s.recordBytes), maxTime: shortTime}
	consume = produce
	consume.mode = "consume"
	return produce, consume
}

func (s *overview) short(ctx context.Context, b *bench) error {
	for _, n := range s.partitions {
		produce, consume := s.works(n, b.o.warmGB)
		if err := b.warmUp(ctx, b.peers, phase{work: produce}, phase{work: consume}); err != nil {
			return err
		}
		produce, consume = s.works(n, s.shortGB)
		err := b.rounds(ctx, b.o.rounds, b.peers, trial{scenario: "short", phases: []phase{
			{name: "produce", work: produce}, {name: "consume", work: consume}, {name: "consume again", work: consume},
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *overview) long(ctx context.Context, b *bench) error {
	for _, n := range s.partitions {
		warm, _ := s.works(n, b.o.warmGB)
		if err := b.warmUp(ctx, b.peers, phase{work: warm}); err != nil {
			return err
		}
		produce, _ := s.works(n, s.sustainedGB)
		if err := b.rounds(ctx, s.sustained, b.peers, trial{scenario: "sustained", phases: []phase{{name: "produce", work: produce}}}); err != nil {
			return err
		}
	}
	return nil
}

func (s *overview) paced(ctx context.Context, b *bench) error {
	return measureLatency(ctx, b, "latency", "", s.latencyRate, s.latency, s.recordBytes)
}

func (s *overview) print(w io.Writer, r *rows) {
	r.printThroughput(w, inScenarios("short", "sustained"), theFloor)
	r.printLatency(w, inScenarios("latency"))
	r.printMemory(w)
}

// overviewTargets are what Millrace is to reach as one node, for each number of partitions.
var overviewTargets = []target{
	{scenario: "short", phase: "produce", figure: mbPerS, name: "produce, short and warm", unit: "MB/s", atLeast: true, factor: 1.2, than: rival},
	{scenario: "short", phase: "produce", figure: cpuPerGB, name: "produce, short and warm", unit: "broker CPU s/GB", factor: 0.5, than: rival},
	{scenario: "sustained", phase: "produce", figure: mbPerS, name: "produce, sustained", unit: "MB/s", atLeast: true, factor: 2.5, than: rival},
	{scenario: "sustained", phase: "produce", figure: cpuPerGB, name: "produce, sustained", unit: "broker CPU s/GB", factor: 0.25, than: rival},
	{scenario: "short", phase: "consume", figure: mbPerS, name: "consume", unit: "MB/s", atLeast: true, factor: 1, than: rival},
	{scenario: "short", phase: "consume", figure: cpuPerGB, name: "consume", unit: "broker CPU s/GB", factor: 1.25, than: floor},
	{scenario: "short", phase: "consume again", figure: mbPerS, name: "consume again", unit: "MB/s", atLeast: true, factor: 1, than: rival},
	{scenario: "short", phase: "consume again", figure: cpuPerGB, name: "consume again", unit: "broker CPU s/GB", factor: 1.25, than: floor},
	{scenario: "latency", phase: "e2e", figure: endToEndMs("p50"), name: "end to end p50", unit: "ms", factor: 1, than: rival},
	{scenario: "latency", phase: "e2e", figure: endToEndMs("p99"), name: "end to end p99", unit: "ms", factor: 0.5, than: rival},
}

// Memory targets are in MB of 10^6 bytes, what the kernel tells in MiB.
const (
	idleTargetMiB      = 60 * 1e6 / (1 << 20)
	aboveSlabTargetMiB = 150 * 1e6 / (1 << 20)
)

func (s *overview) judge(r *rows) []verdict {
	out := r.judge(overviewTargets)
	if idle, ok := r.spread(cell{scenario: "idle", phase: "idle", peer: ours}, rssMiB); ok {
		out = append(out, verdict{"idle RSS under 60 MB", fmt.Sprintf("%.1f MB", idle.median*(1<<20)/1e6), idle.median < idleTargetMiB})
	}
	if most := r.peak(ours); most > 0 {
		out = append(out, verdict{
			fmt.Sprintf("RSS in this run under the slab budget (%.0f MB) plus 150 MB", s.slabMiB*(1<<20)/1e6),
			fmt.Sprintf("%.1f MB", most*(1<<20)/1e6), most < s.slabMiB+aboveSlabTargetMiB,
		})
	}
	return out
}

// slabBudgetMiB asks the broker for its setting.
func slabBudgetMiB(ctx context.Context, addr string) (float64, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	brokers, err := adm.ListBrokers(ctx)
	if err != nil || len(brokers) == 0 {
		return 0, fmt.Errorf("list brokers at %s: %w", addr, err)
	}
	configs, err := adm.DescribeBrokerConfigs(ctx, brokers[0].NodeID)
	if err != nil {
		return 0, fmt.Errorf("describe broker configs: %w", err)
	}
	for _, rc := range configs {
		for _, c := range rc.Configs {
			if c.Key == "log.slab.bytes" {
				n, err := strconv.ParseFloat(c.MaybeValue(), 64)
				return n / (1 << 20), err
			}
		}
	}
	return 0, errors.New("the broker does not know log.slab.bytes")
}
