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

// options are what every suite has, as the flags gave it.
type options struct {
	suite suite
	name  string // of the suite

	peers []contender
	sets  map[string][]string // by contender

	rounds   int
	warmGB   float64
	strict   bool
	dir      string
	results  string
	basePort int
}

// parseOptions takes the name of a suite, if the first argument is none of the flags,
// and its flags.
func parseOptions(args []string) (*options, error) {
	o := &options{name: "overview", sets: map[string][]string{}}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		o.name, args = args[0], args[1:]
	}
	make, ok := suites[o.name]
	if !ok {
		return nil, fmt.Errorf("%q is none of %v", o.name, suiteNames())
	}
	o.suite = make()
	all := o.suite.contenders()
	var peers string
	var quick bool
	f := flag.NewFlagSet("run "+o.name, flag.ContinueOnError)
	f.StringVar(&peers, "peers", strings.Join(namesOf(all, true), ","),
		fmt.Sprintf("who takes part, comma-separated, of %s", strings.Join(namesOf(all, false), ", ")))
	f.BoolVar(&quick, "quick", false, "one short round of everything; the amounts are too small for conclusions")
	f.BoolVar(&o.strict, "strict", false, "exit with an error when a target is missed")
	f.StringVar(&o.dir, "dir", ".cache/bench", "folder for brokers' data and programs, on a disk that takes direct writes")
	f.StringVar(&o.results, "results", "bench/results", "folder for the raw rows")
	f.IntVar(&o.basePort, "base-port", 17100, "first of the 200 ports used")
	f.Float64Var(&o.warmGB, "warm-gb", 0.5, "amount of the warm-up before a case, 10^9 bytes of values")
	f.Func("set", "PEER:KEY=VALUE, a setting of one of them; may be repeated", func(s string) error {
		peer, kv, ok := strings.Cut(s, ":")
		if !ok || !strings.Contains(kv, "=") {
			return errors.New("want PEER:KEY=VALUE")
		}
		o.sets[peer] = append(o.sets[peer], kv)
		return nil
	})
	o.suite.flags(f, o)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("%q is not understood", f.Arg(0))
	}
	var err error
	if o.peers, err = pick(all, peers); err != nil {
		return nil, err
	}
	for name := range o.sets {
		if !slices.ContainsFunc(all, func(c contender) bool { return c.name == name }) {
			return nil, fmt.Errorf("--set: %q does not take part", name)
		}
	}
	if quick {
		o.rounds, o.warmGB = 1, 0.05
	}
	if o.rounds < 1 {
		return nil, errors.New("--rounds must be positive")
	}
	return o, o.suite.check(o, quick)
}

// parseInts reads comma-separated positive numbers.
func parseInts(flag, text string) ([]int, error) {
	var out []int
	for s := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("--%s %q: want positive numbers", flag, text)
		}
		out = append(out, n)
	}
	return out, nil
}

// recordsOf is how many records of a size make so many gigabytes.
func recordsOf(gb float64, size int) int64 { return max(int64(gb*1e9)/int64(size), 1) }

// shortTime is the limit of phases that should take seconds.
const shortTime = 10 * time.Minute
