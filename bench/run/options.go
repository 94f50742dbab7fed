package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options is one run, as the flags gave it.
type options struct {
	scenarios  []string
	peers      []string
	partitions []int
	sets       map[string][]string // by peer

	rounds      int
	sustained   int // rounds of the sustained scenario
	shortGB     float64
	sustainedGB float64
	warmGB      float64
	latency     time.Duration
	latencyRate float64
	recordBytes int
	settle      time.Duration
	strict      bool
	dir         string
	results     string
	basePort    int
}

// The names of scenarios and of the brokers that take part by default, in the order in
// which they are measured.
var (
	scenarioNames = []string{"idle", "short", "latency", "sustained"}
	defaultPeers  = []string{"kafka", "millrace", "floor"}
)

func parseOptions(args []string) (*options, error) {
	o := options{sets: map[string][]string{
		"kafka":    {"log.segment.delete.delay.ms=1000"},
		"millrace": {"log.segment.delete.delay.ms=1000"},
	}}
	var scenarios, peers, partitions string
	var quick bool
	f := flag.NewFlagSet("run", flag.ContinueOnError)
	f.StringVar(&scenarios, "scenarios", strings.Join(scenarioNames, ","), "which to run, comma-separated")
	f.StringVar(&peers, "peers", strings.Join(defaultPeers, ","), "brokers to measure, in this order, comma-separated")
	f.StringVar(&partitions, "partitions", "1,16", "partition counts of the short and the sustained scenario")
	f.IntVar(&o.rounds, "rounds", 3, "rounds of the short and the latency scenario")
	f.IntVar(&o.sustained, "sustained-rounds", 2, "rounds of the sustained scenario")
	f.Float64Var(&o.shortGB, "short-gb", 2, "amount of one short run, 10^9 bytes of values")
	f.Float64Var(&o.sustainedGB, "sustained-gb", 10, "amount of one sustained run, 10^9 bytes of values")
	f.Float64Var(&o.warmGB, "warm-gb", 0.5, "amount of the warm-up before a scenario, 10^9 bytes of values")
	f.DurationVar(&o.latency, "latency", 30*time.Second, "length of one latency run")
	f.Float64Var(&o.latencyRate, "latency-rate", 1000, "records per second of the latency scenario")
	f.IntVar(&o.recordBytes, "record-bytes", 1024, "bytes of a record's value")
	f.DurationVar(&o.settle, "settle", 5*time.Second, "time between the start of a broker and looking at its idle memory")
	f.BoolVar(&quick, "quick", false, "one short round of everything, in under three minutes; the amounts are too small for conclusions")
	f.BoolVar(&o.strict, "strict", false, "exit with an error when a target is missed")
	f.StringVar(&o.dir, "dir", ".cache/bench", "folder for brokers' data and programs, on a disk that takes direct writes")
	f.StringVar(&o.results, "results", "bench/results", "folder for the raw rows")
	f.IntVar(&o.basePort, "base-port", 17100, "first of the ports used")
	f.Func("set", "PEER:KEY=VALUE, a setting of one broker; may be repeated", func(s string) error {
		peer, kv, ok := strings.Cut(s, ":")
		if !ok || !strings.Contains(kv, "=") {
			return errors.New("want PEER:KEY=VALUE")
		}
		o.sets[peer] = append(o.sets[peer], kv)
		return nil
	})
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if quick {
		o.rounds, o.sustained, o.shortGB, o.sustainedGB, o.warmGB, o.latency = 1, 1, 0.5, 2, 0.2, 8*time.Second
	}
	o.scenarios, o.peers = strings.Split(scenarios, ","), strings.Split(peers, ",")
	for p := range strings.SplitSeq(partitions, ",") {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("--partitions %q: want positive numbers", partitions)
		}
		o.partitions = append(o.partitions, n)
	}
	for _, s := range o.scenarios {
		if !slices.Contains(scenarioNames, s) {
			return nil, fmt.Errorf("--scenarios: %q is none of %v", s, scenarioNames)
		}
	}
	return &o, nil
}

// records is how many records make so many gigabytes.
func (o *options) records(gb float64) int64 { return max(int64(gb*1e9)/int64(o.recordBytes), 1) }
