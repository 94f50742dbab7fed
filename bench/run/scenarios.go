package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"millrace/bench/internal/result"
)

// bench is a run under way.
type bench struct {
	o     *options
	peers []*peer
	rows  *rows
	// topics counts the topics made, so that each has a new name.
	topics int
}

// phase is one invocation of the load client within a measurement.
type phase struct {
	name string // in the rows
	args []string
}

// idle looks at the memory of brokers that have done nothing yet.
func (b *bench) idle(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(b.o.settle):
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

func (b *bench) short(ctx context.Context) error {
	records := "--records=" + strconv.FormatInt(b.o.records(b.o.shortGB), 10)
	for _, n := range b.o.partitions {
		err := b.rounds(ctx, "short", b.o.rounds, n, []phase{
			{"produce", []string{"--mode=produce", records}},
			{"consume", []string{"--mode=consume", records}},
			{"consume again", []string{"--mode=consume", records}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) sustained(ctx context.Context) error {
	records := "--records=" + strconv.FormatInt(b.o.records(b.o.sustainedGB), 10)
	for _, n := range b.o.partitions {
		if err := b.rounds(ctx, "sustained", b.o.sustained, n, []phase{{"produce", []string{"--mode=produce", records}}}); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) latency(ctx context.Context) error {
	return b.rounds(ctx, "latency", b.o.rounds, 1, []phase{{"e2e", []string{
		"--mode=e2e",
		"--rate=" + strconv.FormatFloat(b.o.latencyRate, 'f', -1, 64),
		"--records=" + strconv.FormatInt(int64(b.o.latencyRate*b.o.latency.Seconds()), 10),
	}}})
}

// rounds warms every broker up and then measures them in turn, n times.
func (b *bench) rounds(ctx context.Context, scenario string, n, partitions int, phases []phase) error {
	warm := []phase{{"warm", []string{"--mode=both", fmt.Sprintf("--records=%d", b.o.records(b.o.warmGB))}}}
	if scenario == "latency" {
		warm = []phase{{"warm", []string{"--mode=e2e", fmt.Sprintf("--rate=%v", b.o.latencyRate), fmt.Sprintf("--records=%d", int64(5*b.o.latencyRate))}}}
	}
	for _, p := range b.peers {
		if err := b.measure(ctx, p, partitions, warm, func(result.Phase, string) error { return nil }); err != nil {
			return err
		}
	}
	for round := 1; round <= n; round++ {
		for _, p := range b.peers {
			err := b.measure(ctx, p, partitions, phases, func(x result.Phase, name string) error {
				x.Phase = name
				fmt.Fprintf(os.Stderr, "%s, %d partitions, round %d, %s: %s\n", scenario, partitions, round, p.name, brief(x))
				return b.rows.add(row{Scenario: scenario, Peer: p.name, Round: round, Time: time.Now(), Phase: x})
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// measure runs phases on a fresh topic and returns when the topic is gone again.
func (b *bench) measure(ctx context.Context, p *peer, partitions int, phases []phase, each func(result.Phase, string) error) error {
	b.topics++
	topic := fmt.Sprintf("bench%d", b.topics)
	common := []string{"--topic", topic, "--partitions", strconv.Itoa(partitions), "--max-time", "10m"}
	for _, ph := range phases {
		err := b.o.load(ctx, p, func(x result.Phase) error { return each(x, ph.name) }, append(common, ph.args...)...)
		if err != nil {
			return err
		}
	}
	if err := b.o.load(ctx, p, nil, append(common, "--mode=delete")...); err != nil {
		return err
	}
	return p.awaitGone(ctx, topic)
}

// brief is a row for the eye while the run goes on.
func brief(x result.Phase) string {
	if ms := x.E2EMs; ms != nil {
		return fmt.Sprintf("%s p50 %.2f ms, p99 %.2f, p99.9 %.2f", x.Phase, ms["p50"], ms["p99"], ms["p99.9"])
	}
	return fmt.Sprintf("%s %.0f MB/s, %.2f broker CPU s/GB", x.Phase, x.MBPerS, x.BrokerCPUGB)
}
