package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// produceSuite is producing in many shapes: short and warm, and sustained.
type produceSuite struct {
	full        bool
	cases       []produceCase
	shortGB     float64
	sustainedGB float64
	mostRecords int64
	limit       time.Duration
	sustained   int // rounds of the sustained scenario
}

// produceCase is one shape of the load.
type produceCase struct {
	partitions, size, producers int
	keys                        bool
	acks                        string
	// async cases are measured with what does not wait for the disk, too.
	async bool
}

const (
	// produceKeys is how many different keys there are in cases with keys.
	produceKeys = 100_000
	// flushedPartitions is the number of partitions at which Kafka is measured with a flush
	// for each batch.
	flushedPartitions = 16
)

// usualCases change one thing at a time and take about twenty minutes with the sustained
// scenario.
var usualCases = []produceCase{
	{partitions: 1, size: 1024, producers: 1, acks: "all", async: true},
	{partitions: 16, size: 1024, producers: 1, acks: "all", async: true},
	{partitions: 16, size: 1024, producers: 16, acks: "all", keys: true, async: true},
	{partitions: 16, size: 1024, producers: 64, acks: "all"},
	{partitions: 16, size: 100, producers: 16, acks: "all"},
	{partitions: 16, size: 10240, producers: 16, acks: "all", async: true},
	{partitions: 1, size: 1024, producers: 16, acks: "1"},
}

// allCases is every combination.
func allCases() []produceCase {
	var out []produceCase
	for _, partitions := range []int{1, 16} {
		for _, size := range []int{100, 1024, 10240} {
			for _, producers := range []int{1, 16, 64} {
				for _, keys := range []bool{false, true} {
					for _, acks := range []string{"1", "all"} {
						out = append(out, produceCase{partitions, size, producers, keys, acks, true})
					}
				}
			}
		}
	}
	return out
}

func (c produceCase) setting() string {
	size := fmt.Sprintf("%d B", c.size)
	if c.size >= 1024 && c.size%1024 == 0 {
		size = fmt.Sprintf("%d KiB", c.size/1024)
	}
	parts := []string{caseText(c.partitions, ""), size, fmt.Sprintf("%d producers", c.producers)}
	if c.producers == 1 {
		parts[2] = "1 producer"
	}
	if c.keys {
		parts = append(parts, "keys")
	}
	return strings.Join(append(parts, "acks="+c.acks), ", ")
}

func (c produceCase) work(records int64, limit time.Duration) work {
	w := work{
		mode: "produce", partitions: c.partitions, size: c.size, producers: c.producers, acks: c.acks,
		records: records, maxTime: limit, cut: true,
	}
	if c.keys {
		w.keys = produceKeys
	}
	return w
}

func (s *produceSuite) flags(f *flag.FlagSet, o *options) {
	f.BoolVar(&s.full, "full", false, "every combination instead of a few; takes hours")
	f.IntVar(&o.rounds, "rounds", 2, "rounds of each short case")
	f.IntVar(&s.sustained, "sustained-rounds", 1, "rounds of the sustained scenario")
	f.Float64Var(&s.shortGB, "short-gb", 1, "amount of one short phase, 10^9 bytes of values")
	f.Int64Var(&s.mostRecords, "most-records", 4_000_000, "records of one short phase at most")
	f.Float64Var(&s.sustainedGB, "sustained-gb", 20, "amount of one sustained phase, 10^9 bytes of values")
	f.DurationVar(&s.limit, "limit", 30*time.Second, "a short phase that takes longer is cut, and what it did until then is its result")
}

func (s *produceSuite) check(o *options, quick bool) error {
	s.cases = usualCases
	if s.full {
		s.cases = allCases()
	}
	if quick {
		s.shortGB, s.sustainedGB, s.limit, s.mostRecords = 0.05, 0.2, 3*time.Second, 100_000
		if !s.full {
			s.cases = usualCases[1:5]
		}
	}
	return nil
}

func (s *produceSuite) contenders() []contender {
	return the(rival, ours, floor, rivalFlushed, oursAsync, floorAsync)
}

func (s *produceSuite) measure(ctx context.Context, b *bench) error {
	for _, c := range s.cases {
		names := []string{rival, ours, floor}
		if c.partitions == flushedPartitions && c.acks == "all" {
			names = append(names, rivalFlushed)
		}
		if c.async {
			names = append(names, oursAsync, floorAsync)
		}
		peers := b.running(names...)
		if err := b.warmUp(ctx, peers, phase{work: c.work(recordsOf(b.o.warmGB, c.size), s.limit/2)}); err != nil {
			return err
		}
		w := c.work(min(recordsOf(s.shortGB, c.size), s.mostRecords), s.limit)
		if err := b.rounds(ctx, b.o.rounds, peers, trial{scenario: "short", setting: c.setting(), phases: []phase{{name: "produce", work: w}}}); err != nil {
			return err
		}
	}
	for _, c := range s.sustainedCases() {
		w := c.work(recordsOf(s.sustainedGB, c.size), shortTime)
		t := trial{scenario: "sustained", setting: c.setting(), phases: []phase{{name: "produce", work: w}}}
		if err := b.rounds(ctx, s.sustained, b.running(rival, ours), t); err != nil {
			return err
		}
	}
	return nil
}

// sustainedCases are measured long enough that the page cache is always new.
func (s *produceSuite) sustainedCases() []produceCase {
	out := []produceCase{{partitions: 16, size: 1024, producers: 1, acks: "all"}}
	if s.full {
		out = append(out, produceCase{partitions: 1, size: 1024, producers: 1, acks: "all"})
	}
	return out
}

// itsFloor is what the figures of a contender are a share of.
func itsFloor(peer string) string {
	if peer == oursAsync || peer == floorAsync {
		return floorAsync
	}
	return floor
}

func (s *produceSuite) print(w io.Writer, r *rows) {
	fmt.Fprintf(w, "Idempotent producers where acks=all; what is not acknowledged is at most %d MB for more than one producer.\n\n", bufferBytes/1_000_000)
	r.printThroughput(w, inScenarios("short", "sustained"), itsFloor)
	r.printMemory(w)
}

var produceTargets = []target{
	{scenario: "short", phase: "produce", figure: mbPerS, name: "short and warm", unit: "MB/s", atLeast: true, factor: 1.4, than: rival},
	{scenario: "short", phase: "produce", figure: cpuPerGB, name: "short and warm", unit: "broker CPU s/GB", factor: 0.5, than: rival},
	{scenario: "sustained", phase: "produce", figure: mbPerS, name: "sustained", unit: "MB/s", atLeast: true, factor: 4, than: rival},
	{scenario: "sustained", phase: "produce", figure: cpuPerGB, name: "sustained", unit: "broker CPU s/GB", factor: 0.2, than: rival},
	{scenario: "short", phase: "produce", figure: mbPerS, name: "both flushed", unit: "MB/s", atLeast: true, factor: 5, than: rivalFlushed},
	{scenario: "short", phase: "produce", figure: mbPerS, name: "async", unit: "MB/s", atLeast: true, factor: 0.8, than: floorAsync, who: oursAsync},
}

func (s *produceSuite) judge(r *rows) []verdict { return r.judge(produceTargets) }
