package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"millrace/bench/internal/histogram"
	"millrace/bench/internal/pace"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	topic = "compacted"
	other = "other"
)

func connect(addr string) (*kgo.Client, error) {
	return kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.NoCompression()))
}

// topicBytes is the size of the compacted topic in its log dir.
func topicBytes(ctx context.Context, c *kgo.Client) (n int64, err error) {
	dirs, err := kadm.NewClient(c).DescribeAllLogDirs(ctx, kadm.TopicsSet{topic: {0: struct{}{}}})
	if err != nil {
		return 0, err
	}
	dirs.Each(func(d kadm.DescribedLogDir) {
		d.Topics.Each(func(p kadm.DescribedLogDirPartition) { n += p.Size })
	})
	return n, nil
}

// compact lets compaction run and returns when there is nothing left to do.
func (o *options) compact(ctx context.Context, c *kgo.Client) error {
	one := "1"
	if _, err := kadm.NewClient(c).AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "log.cleaner.threads", Value: &one}}); err != nil {
		return err
	}
	for idle := 0; idle < 5; { // between two passes nothing is under way for a moment
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
		s, err := metrics(ctx, fmt.Sprintf("http://127.0.0.1:%d/metrics", o.port+1))
		switch {
		case err != nil:
			return err
		case s["millrace_log_cleaner_uncleanable_partitions"] > 0 || s["millrace_log_cleaner_no_space_total"] > 0:
			return fmt.Errorf("compaction failed: %v", s)
		case s["millrace_log_cleaner_active"] == 0 && s["millrace_log_cleaner_runs_total"] > 0 && s["millrace_log_cleaner_max_dirty_ratio"] == 0:
			idle++
		default:
			idle = 0
		}
	}
	return nil
}

// metrics reads the numbers of compaction.
func metrics(ctx context.Context, url string) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out := map[string]float64{}
	in := bufio.NewScanner(resp.Body)
	for in.Scan() {
		name, value, ok := strings.Cut(in.Text(), " ")
		if !ok || !strings.HasPrefix(name, "millrace_log_cleaner_") {
			continue
		}
		if out[name], err = strconv.ParseFloat(value, 64); err != nil {
			return nil, fmt.Errorf("metric %q: %w", in.Text(), err)
		}
	}
	return out, in.Err()
}

// measure produces to the other topic at a steady pace while f runs, and gives the latencies.
func (o *options) measure(ctx context.Context, f func(context.Context) error) (*histogram.Histogram, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(o.addr()), kgo.DefaultProduceTopic(other), kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	if err := cl.ProduceSync(ctx, &kgo.Record{Value: []byte("first")}).FirstErr(); err != nil { // the topic is there, and the connection
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	var h histogram.Histogram
	value := make([]byte, 1024)
	p := pace.Pace{Start: time.Now(), Rate: o.rate}
	for i := int64(0); ; i++ {
		select {
		case err := <-ended:
			if err == nil {
				err = cl.Flush(ctx)
			}
			return &h, err
		default:
		}
		due := p.Await(i)
		cl.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				cancel(err)
				return
			}
			h.Add(time.Since(due))
		})
	}
}
