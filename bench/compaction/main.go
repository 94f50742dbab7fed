package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"millrace/bench/internal/launch"
	"millrace/bench/internal/proc"
	"millrace/tools/program"
)

// options is one run, as the flags gave it.
type options struct {
	dir          string
	port         int
	records      int64
	keys         int64
	gb           float64
	dedupeBytes  int64
	segmentBytes int64
	rate         float64
	before       time.Duration
	ratio        float64
	sets         []string
}

func parseOptions(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet("compaction", flag.ContinueOnError)
	f.StringVar(&o.dir, "dir", ".cache/compaction", "folder for the broker's data")
	f.IntVar(&o.port, "port", 21092, "its port; metrics are on the next one")
	f.Int64Var(&o.records, "records", 50_000_000, "records to compact")
	f.Int64Var(&o.keys, "keys", 10_000_000, "keys they have")
	f.Float64Var(&o.gb, "gb", 5, "size of the topic before, 10^9 bytes")
	f.Int64Var(&o.dedupeBytes, "dedupe-bytes", 1<<30, "log.cleaner.dedupe.buffer.size")
	f.Int64Var(&o.segmentBytes, "segment-bytes", 256<<20, "segment.bytes of the topic")
	f.Float64Var(&o.rate, "rate", 1000, "records/s to the other topic")
	f.DurationVar(&o.before, "before", 20*time.Second, "how long its latency is measured before compaction")
	f.Float64Var(&o.ratio, "ratio", 2, "most its p99 may rise by, as a factor")
	f.Func("set", "a setting of the broker, KEY=VALUE; may be repeated", func(s string) error { o.sets = append(o.sets, s); return nil })
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.records < 1 || o.keys < 1 || o.gb <= 0 || o.rate <= 0 {
		return nil, errors.New("records, keys, gb and rate must be positive")
	}
	return &o, nil
}

func main() {
	program.Main("compaction", parseOptions, func(ctx context.Context, o *options) error { return o.run(ctx, os.Stdout) })
}

func (o *options) addr() string { return fmt.Sprintf("127.0.0.1:%d", o.port) }

func (o *options) run(ctx context.Context, w io.Writer) (err error) {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, launch.Stop("millrace", dir)) }()
	pids, err := launch.Start(ctx, "millrace", dir, o.port, append([]string{
		"log.cleaner.threads=0", "log.cleaner.backoff.ms=200", fmt.Sprintf("log.cleaner.dedupe.buffer.size=%d", o.dedupeBytes),
		fmt.Sprintf("http.listen=127.0.0.1:%d", o.port+1),
	}, o.sets...))
	if err != nil {
		return err
	}
	c, err := connect(o.addr())
	if err != nil {
		return err
	}
	defer c.Close()
	m := newModel(o)
	begin := time.Now()
	if err := m.fill(ctx, c, o); err != nil {
		return err
	}
	before, err := topicBytes(ctx, c)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d records of %d keys, %.2f GB, in %v\n", o.records, o.keys, float64(before)/1e9, time.Since(begin).Round(time.Second))

	quiet, err := o.measure(ctx, func(ctx context.Context) error { return sleep(ctx, o.before) })
	if err != nil {
		return err
	}
	begin = time.Now()
	busy, err := o.measure(ctx, func(ctx context.Context) error { return o.compact(ctx, c) })
	if err != nil {
		return err
	}
	took := time.Since(begin)
	after, err := topicBytes(ctx, c)
	if err != nil {
		return err
	}
	usage, err := proc.Of(pids...)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "compacted to %.2f GB in %v; broker RSS at most %.0f MB\n", float64(after)/1e9, took.Round(time.Second), usage.PeakMiB*(1<<20)/1e6)
	p99 := [2]float64{quiet.Millis()["p99"], busy.Millis()["p99"]}
	fmt.Fprintf(w, "another topic at %.0f records/s: p50 %.2f ms, p99 %.2f ms before; p50 %.2f ms, p99 %.2f ms meanwhile (%d and %d records)\n",
		o.rate, quiet.Millis()["p50"], p99[0], busy.Millis()["p50"], p99[1], quiet.Count(), busy.Count())
	if err := m.check(ctx, o, w); err != nil {
		return err
	}
	if p99[1] >= o.ratio*p99[0] {
		return fmt.Errorf("p99 rose %.1f times, the limit is %.1f", p99[1]/p99[0], o.ratio)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
