package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// franz drives twmb/franz-go.
type franz struct{ cmd *command }

var franzCodecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

func (f franz) seeds() kgo.Opt { return kgo.SeedBrokers(strings.Split(f.cmd.Brokers, ",")...) }

func (f franz) produce(ctx context.Context, t target, records []record) error {
	opts := []kgo.Opt{f.seeds(), kgo.ProducerBatchCompression(franzCodecs[t.Codec]), kgo.ProducerBatchMaxBytes(2 << 20),
		kgo.RecordPartitioner(kgo.ManualPartitioner())}
	if !t.Idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer cl.Close()
	out := make([]*kgo.Record, 0, len(records))
	for _, r := range records {
		rec := &kgo.Record{Topic: t.Topic, Partition: r.Partition, Timestamp: time.UnixMilli(r.Timestamp), Key: r.Key, Value: r.Value}
		for _, h := range r.Headers {
			rec.Headers = append(rec.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		out = append(out, rec)
	}
	return cl.ProduceSync(ctx, out...).FirstErr()
}

func franzRecord(r *kgo.Record) record {
	out := record{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, header{h.Key, h.Value})
	}
	return out
}

func (f franz) consume(ctx context.Context, topics []ends) error {
	assign, left := map[string]map[int32]kgo.Offset{}, int64(0)
	for _, t := range topics {
		assign[t.Topic] = map[int32]kgo.Offset{}
		for p, end := range t.Ends {
			assign[t.Topic][int32(p)] = kgo.NewOffset().AtStart()
			left += end
		}
	}
	cl, err := kgo.NewClient(f.seeds(), kgo.ConsumePartitions(assign))
	if err != nil {
		return err
	}
	defer cl.Close()
	for left > 0 {
		fetches := cl.PollFetches(ctx)
		for _, e := range fetches.Errors() {
			return fmt.Errorf("fetch %s/%d with %d records missing: %w", e.Topic, e.Partition, left, e.Err)
		}
		fetches.EachRecord(func(r *kgo.Record) { printRecord("", franzRecord(r)); left-- })
	}
	return nil
}

func (f franz) member(ctx context.Context, name string, p *progress) error {
	held := 0
	change := func(by int) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
			held += by * len(parts[f.cmd.Topic])
			p.hold(name, held)
		}
	}
	cl, err := kgo.NewClient(f.seeds(), kgo.ConsumerGroup(f.cmd.Group), kgo.ConsumeTopics(f.cmd.Topic), kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(500*time.Millisecond),
		kgo.OnPartitionsAssigned(change(1)), kgo.OnPartitionsRevoked(change(-1)), kgo.OnPartitionsLost(change(-1)))
	if err != nil {
		return err
	}
	defer cl.CloseAllowingRebalance()
	for {
		select {
		case <-p.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		poll, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		fetches := cl.PollFetches(poll)
		cancel()
		for _, e := range fetches.Errors() {
			if !errors.Is(e.Err, context.DeadlineExceeded) {
				return fmt.Errorf("member %s: %w", name, e.Err)
			}
		}
		var read []*kgo.Record
		next := map[int32]int64{}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset >= f.cmd.Until {
				return
			}
			printRecord(name, franzRecord(r))
			read, next[r.Partition] = append(read, r), r.Offset+1
		})
		if len(read) > 0 {
			if err := cl.CommitRecords(ctx, read...); err != nil {
				return fmt.Errorf("member %s: commit: %w", name, err)
			}
			for partition, offset := range next {
				p.commit(partition, offset)
			}
		}
		cl.AllowRebalance()
	}
}
