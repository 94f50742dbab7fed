package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// topicsSuite is the same load over ever more topics of one partition.
type topicsSuite struct {
	countText   string
	counts      []int
	gb          float64
	limit       time.Duration
	rocketMost  int
	recordBytes int
}

const (
	// topicsProducers is the connections of the load, each with five requests in flight.
	topicsProducers = 4
	// warmTopics is the number of topics of the warm-up.
	warmTopics = 64
)

func (s *topicsSuite) flags(f *flag.FlagSet, o *options) {
	f.StringVar(&s.countText, "counts", "1,64,256,1024,4096,10000", "numbers of topics, comma-separated")
	f.IntVar(&o.rounds, "rounds", 2, "rounds of each number of topics")
	f.Float64Var(&s.gb, "gb", 1.5, "amount of one phase, 10^9 bytes of values")
	f.DurationVar(&s.limit, "limit", time.Minute, "a phase that takes longer is cut, and what it did until then is its result")
	f.IntVar(&s.rocketMost, "rocketmq-topics", 1024, "the most topics that RocketMQ is measured with")
	f.IntVar(&s.recordBytes, "record-bytes", 1024, "bytes of a record's value")
}

func (s *topicsSuite) check(o *options, quick bool) (err error) {
	s.counts, err = parseInts("counts", s.countText)
	if quick {
		s.counts, s.gb, s.limit = []int{1, 64, 1024}, 0.1, 5*time.Second
		s.rocketMost = min(s.rocketMost, 64)
	}
	return err
}

func (s *topicsSuite) contenders() []contender { return the(clientLimit, rival, ours, rocketmq) }

func (s *topicsSuite) measure(ctx context.Context, b *bench) error {
	b.rows.lenient = true
	warm := s.work(warmTopics)
	warm.records = recordsOf(b.o.warmGB, s.recordBytes)
	if err := b.warmUp(ctx, b.peers, phase{work: warm}); err != nil {
		return err
	}
	one := warm
	one.topics = 1
	gone := map[string]bool{} // who failed with fewer topics
	for _, n := range s.counts {
		t := trial{
			scenario: "topics", setting: topicsText(n), warm: &one,
			phases: []phase{{name: "first", work: s.work(n)}, {name: "warm", work: s.work(n)}},
		}
		for round := 1; round <= b.o.rounds; round++ {
			for _, p := range b.peers {
				if gone[p.name] || p.name == rocketmq && n > s.rocketMost {
					continue
				}
				err := b.measure(ctx, p, t, b.keep(t, p, round))
				if err == nil {
					continue
				}
				if ctx.Err() != nil || !b.rows.mayFail(p.name) {
					return err
				}
				b.rows.note("%s takes no further part after %s: %v", p.name, t.setting, err)
				gone[p.name] = true
			}
		}
	}
	return nil
}

// work is one phase: ready-made batches to n topics.
func (s *topicsSuite) work(n int) work {
	return work{
		mode: "produce", topics: n, size: s.recordBytes, records: recordsOf(s.gb, s.recordBytes),
		producers: topicsProducers, raw: true, maxTime: s.limit, cut: true,
	}
}

func topicsText(n int) string {
	if n == 1 {
		return "1 topic"
	}
	return withCommas(n) + " topics"
}

// oneTopic is the case of one topic instead of many.
func oneTopic(c cell) cell { c.setting = topicsText(1); return c }

func (s *topicsSuite) print(w io.Writer, r *rows) {
	fmt.Fprintf(w, "%d connections with five requests of %.1f MB in flight each, acks=all, records of %d bytes; a request to many topics has a batch of at least %d records for each of up to %d.\n",
		topicsProducers, float64(rawBytes)/1e6, s.recordBytes, rawRecords, max(rawBytes/s.recordBytes/rawRecords, 1))
	fmt.Fprintf(w, "RocketMQ: its own client, %d threads with one batch under way each. First: topics just made. Client-limit: a server that keeps nothing.\n\n", rocketThreads)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "topics\tphase\tbroker\tMB/s\tof 1 topic\tbroker CPU s/GB\tuser\tsys\tp50 ms\tp99\tclient CPU s\tRSS MiB")
	for _, c := range r.cells(inScenarios("topics")) {
		get := func(f func(row) float64) spread { s, _ := r.spread(c, f); return s }
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%s\t%s\t%.1f\t%.0f\n", strings.TrimSuffix(strings.TrimSuffix(c.setting, "s"), " topic"), c.phase, c.peer,
			get(mbPerS).format(0), r.share(c, oneTopic(c), mbPerS), get(cpuPerGB).format(2), get(userPerGB).median, get(sysPerGB).median,
			millis(get(publishMs("p50"))), millis(get(publishMs("p99"))), get(func(x row) float64 { return x.ClientCPUS }).median, get(rssMiB).median)
	}
	t.Flush()
	fmt.Fprintln(w)
}

// topicsTargets hold for new topics and warm ones alike.
var topicsTargets = func() []target {
	var out []target
	for _, phase := range []string{"first", "warm"} {
		for _, loss := range []struct {
			topics int
			keep   float64
		}{{1024, 0.95}, {4096, 0.90}, {10000, 0.80}} {
			out = append(out, target{
				scenario: "topics", phase: phase, figure: mbPerS, name: phase + " run", unit: "MB/s", atLeast: true, factor: loss.keep, than: ours,
				only: func(c cell) bool { return c.setting == topicsText(loss.topics) }, against: oneTopic,
			})
		}
		out = append(out, target{scenario: "topics", phase: phase, figure: mbPerS, name: phase + " run", unit: "MB/s", atLeast: true, factor: 1, than: rival})
	}
	return out
}()

func (s *topicsSuite) judge(r *rows) []verdict { return r.judge(topicsTargets) }
