package rig

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/tools/rig/history"
)

// StartOffsets asks for the log start offset of each partition.
func StartOffsets(ctx context.Context, adm *kadm.Client, topic string) (map[int32]int64, error) {
	listed, err := adm.ListStartOffsets(ctx, topic)
	if err = errors.Join(err, listed.Error()); err != nil {
		return nil, fmt.Errorf("list start offsets: %w", err)
	}
	out := map[int32]int64{}
	listed.Each(func(l kadm.ListedOffset) { out[l.Partition] = l.Offset })
	return out, nil
}

// EndOffsets asks for the log end offset of each partition.
func EndOffsets(ctx context.Context, adm *kadm.Client, topic string) (map[int32]int64, error) {
	listed, err := adm.ListEndOffsets(ctx, topic)
	if err = errors.Join(err, listed.Error()); err != nil {
		return nil, fmt.Errorf("list end offsets: %w", err)
	}
	out := map[int32]int64{}
	listed.Each(func(l kadm.ListedOffset) { out[l.Partition] = l.Offset })
	return out, nil
}

// ReadBack reads a partition of a topic from offset start to end, in the order in which the broker gives it, and hands
// each record to the checker. failed is why it ended before the end.
func ReadBack(ctx context.Context, addr, topic string, partition int32, start, end int64, failed *error) iter.Seq[history.Record] {
	return func(yield func(history.Record) bool) {
		for r := range ReadRecords(ctx, addr, topic, partition, start, end, failed) {
			if !yield(history.Record{Offset: r.Offset, Key: r.Key, Value: r.Value}) {
				return
			}
		}
	}
}

// ReadRecords is ReadBack with all that the client knows of a record.
func ReadRecords(ctx context.Context, addr, topic string, partition int32, start, end int64, failed *error) iter.Seq[*kgo.Record] {
	return func(yield func(*kgo.Record) bool) {
		if start >= end {
			return
		}
		at := map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().At(start)}}
		cl, err := kgo.NewClient(append(ClientOptions(addr), kgo.ConsumePartitions(at), kgo.FetchMaxPartitionBytes(8<<20))...)
		if err != nil {
			*failed = err
			return
		}
		defer cl.Close()
		for next := start; next < end; {
			fetches := cl.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				*failed = fmt.Errorf("read partition %d back at offset %d of %d: %w", partition, next, end, err)
				return
			}
			for r := range fetches.RecordsAll() {
				if r.Offset >= end {
					return
				}
				if !yield(r) {
					return
				}
				next = r.Offset + 1
			}
		}
	}
}
