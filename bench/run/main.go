package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err == nil {
		err = o.run(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run does all scenarios and prints tables and verdicts. Rows measured before an error
// are printed all the same.
func (o *options) run(ctx context.Context, w io.Writer) error {
	if _, err := os.Stat("bench/peers/peers"); err != nil {
		return fmt.Errorf("run from the root of the checkout: %w", err)
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	if err := command(ctx, "go", "build", "-o", o.loadProgram(), "./bench/load"); err != nil {
		return err
	}
	rows, err := newRows(o.results)
	if err != nil {
		return err
	}
	defer rows.file.Close()
	b := &bench{o: o, rows: rows}
	defer func() {
		for _, p := range b.peers {
			if err := p.stop(); err != nil {
				fmt.Fprintln(os.Stderr, "bench:", err)
			}
		}
	}()
	machine := describeMachine(o.dir)
	slabMiB, err := b.measureAll(ctx)
	fmt.Fprintf(w, "\n%s; records of %d bytes, acks=all, raw rows in %s\n\n", machine, o.recordBytes, rows.file.Name())
	rows.print(w)
	missed := printVerdicts(w, rows.judge(o.partitions, slabMiB))
	if err == nil && missed > 0 && o.strict {
		err = fmt.Errorf("%d targets are missed", missed)
	}
	return err
}

// measureAll starts the brokers, runs the scenarios in their fixed order, and returns
// Millrace's slab budget in MiB.
func (b *bench) measureAll(ctx context.Context) (slabMiB float64, err error) {
	for i, name := range b.o.peers {
		p, err := b.o.startPeer(ctx, i, name)
		if p != nil {
			b.peers = append(b.peers, p)
		}
		if err != nil {
			return 0, err
		}
		if name == ours {
			if slabMiB, err = slabBudgetMiB(ctx, p.addr); err != nil {
				return 0, err
			}
		}
	}
	for _, s := range []struct {
		name string
		run  func(context.Context) error
	}{{"idle", b.idle}, {"short", b.short}, {"latency", b.latency}, {"sustained", b.sustained}} {
		if !slices.Contains(b.o.scenarios, s.name) {
			continue
		}
		if err := s.run(ctx); err != nil {
			return slabMiB, err
		}
	}
	return slabMiB, nil
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
