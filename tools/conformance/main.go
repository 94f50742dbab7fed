package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"time"

	"millrace/tools/conformance/kgosuite"
	"millrace/tools/conformance/oracle"
)

// options are the flags.
type options struct {
	kafka, millrace string // addresses of brokers that run; empty to start one
	peers, program  string // the launcher of Kafka, the program under test
	dir             string // this command's files
	run             string // probes or tests by name
	parallel        int    // probes at a time
	records         int    // per topic in the kgo suite
	verbose         bool
}

func main() {
	var o options
	flag.StringVar(&o.kafka, "kafka", "", "HOST:PORT of a running Kafka 4.4 (default: start one)")
	flag.StringVar(&o.millrace, "millrace", "", "HOST:PORT of a running Millrace (default: start one)")
	flag.StringVar(&o.peers, "peers", "bench/peers/peers", "launcher of Kafka")
	flag.StringVar(&o.program, "program", "bin/millrace", "the program under test")
	flag.StringVar(&o.dir, "dir", "tools/conformance", "folder of differences.txt and kgo-allow.txt")
	flag.StringVar(&o.run, "run", "", "only probes or tests whose name matches this expression")
	flag.IntVar(&o.parallel, "parallel", 6, "probes at a time")
	flag.IntVar(&o.records, "records", 20000, "records per test of the kgo suite; its own default, 500000, is load rather than conformance")
	flag.BoolVar(&o.verbose, "v", false, "print every field of Kafka's answers, and the output of failed tests")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	ok, err := conform(ctx, o, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// conform runs the parts named in args, or both, and reports whether all hold.
func conform(ctx context.Context, o options, args []string) (ok bool, err error) {
	wants := func(part string) bool { return len(args) == 0 || slices.Contains(args, part) }
	scratch, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	if o.millrace == "" {
		b, err := startMillrace(ctx, o.program, filepath.Join(scratch, "millrace"))
		if err != nil {
			return false, err
		}
		defer b.stop()
		o.millrace = b.addr
	}
	ok = true
	if wants("oracle") {
		if ok, err = compare(ctx, o, scratch); err != nil {
			return false, err
		}
	}
	if wants("kgo") && ctx.Err() == nil {
		held, err := runSuite(ctx, o, scratch)
		if err != nil {
			return false, err
		}
		ok = ok && held
	}
	return ok, ctx.Err()
}

func compare(ctx context.Context, o options, scratch string) (bool, error) {
	var only *regexp.Regexp
	if o.run != "" {
		var err error
		if only, err = regexp.Compile(o.run); err != nil {
			return false, err
		}
	}
	file, err := os.Open(filepath.Join(o.dir, "differences.txt"))
	if err != nil {
		return false, err
	}
	defer file.Close()
	declared, err := oracle.ReadDeclared(file)
	if err != nil {
		return false, err
	}
	if o.kafka == "" {
		b, err := startKafka(ctx, o.peers, filepath.Join(scratch, "kafka"))
		if err != nil {
			return false, err
		}
		defer b.stop()
		o.kafka = b.addr
	}
	return oracle.Compare(os.Stdout, oracle.Options{
		Kafka: o.kafka, Millrace: o.millrace, Only: only, Declared: declared,
		RunID: "c" + strconv.FormatInt(time.Now().Unix()%100000, 36), Parallel: o.parallel, Verbose: o.verbose,
	}), nil
}

func runSuite(ctx context.Context, o options, scratch string) (bool, error) {
	file, err := os.Open(filepath.Join(o.dir, "kgo-allow.txt"))
	if err != nil {
		return false, err
	}
	defer file.Close()
	allowed, err := kgosuite.ReadAllowed(file)
	if err != nil {
		return false, err
	}
	program, err := kgosuite.Build(ctx, filepath.Join(scratch, "kgo"))
	if err != nil {
		return false, err
	}
	results, err := kgosuite.Run(ctx, program, kgosuite.Options{Seeds: o.millrace, Records: o.records, Only: o.run, Hanging: allowed.Hanging()})
	if err != nil {
		return false, err
	}
	return kgosuite.Report(os.Stdout, results, allowed, o.run != "", o.verbose), nil
}
