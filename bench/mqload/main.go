package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// options is one invocation, as the flags gave it.
type options struct {
	kind    string
	broker  string
	pids    []int
	mode    string
	name    string // of the stream or queue
	size    int
	records int64
	rate    float64
	maxTime time.Duration
	cut     bool
}

func main() {
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err == nil {
		err = o.endToEnd(context.Background(), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mqload:", err)
		os.Exit(1)
	}
}

func parseOptions(args []string) (*options, error) {
	var o options
	var pids string
	f := flag.NewFlagSet("mqload", flag.ContinueOnError)
	f.StringVar(&o.kind, "kind", "nats", "nats | rabbitmq | rabbitmq-stream")
	f.StringVar(&o.broker, "brokers", "127.0.0.1:24222", "the broker")
	f.StringVar(&pids, "broker-pid", "", "comma-separated broker process ids to account for")
	f.StringVar(&o.mode, "mode", "e2e", "e2e: one client writes and another reads at the same time")
	f.StringVar(&o.name, "topic", "load", "name of the stream or queue, which is made and deleted")
	f.IntVar(&o.size, "size", 1024, "value size in bytes (at least 16)")
	f.Int64Var(&o.records, "records", 10_000, "records to produce and consume")
	f.Float64Var(&o.rate, "rate", 1000, "records per second; 0 is as fast as possible")
	f.DurationVar(&o.maxTime, "max-time", 2*time.Minute, "stop after this long, finished or not")
	f.BoolVar(&o.cut, "cut", false, "a phase that reaches --max-time reports what it did, and that is no error")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	for p := range strings.FieldsFuncSeq(pids, func(r rune) bool { return r == ',' }) {
		pid, err := strconv.Atoi(p)
		if err != nil {
			return nil, fmt.Errorf("--broker-pid: %w", err)
		}
		o.pids = append(o.pids, pid)
	}
	switch {
	case kinds[o.kind] == nil:
		return nil, fmt.Errorf("--kind %q is not known", o.kind)
	case o.mode != "e2e":
		return nil, fmt.Errorf("--mode %q is not known", o.mode)
	case o.size < 16 || o.records < 1:
		return nil, errors.New("--size must be at least 16 and --records positive")
	}
	return &o, nil
}
