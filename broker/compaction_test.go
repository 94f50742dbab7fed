package broker_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace/broker/brokertest"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// readToEnd reads partition 0 of a topic from its start to its end as it is now. Any error of a fetch fails it.
func readToEnd(ctx context.Context, addr, topic string) (out []*kgo.Record, err error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.KeepRetryableFetchErrors(), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	last, _ := ends.Lookup(topic, 0)
	for at := int64(0); at < last.Offset; {
		fetches := cl.PollFetches(ctx)
		if errs := fetches.Errors(); len(errs) > 0 {
			return out, errs[0].Err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset < at {
				err = fmt.Errorf("offset %d after %d", r.Offset, at)
			}
			out, at = append(out, r), r.Offset+1
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// A compacted topic becomes the newest record of each key, while it is written and read from its start again and again.
func TestACompactedTopicConverges(t *testing.T) {
	n := brokertest.Start(t, map[string]string{"log.cleaner.backoff.ms": "20", "log.cleaner.dedupe.buffer.size": "6000"})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(n.Addr), kgo.DefaultProduceTopic("c"), kgo.ProducerBatchMaxBytes(20_000),
		kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	_, err = kadm.NewClient(cl).CreateTopic(ctx, 1, 1, map[string]*string{
		"cleanup.policy": kadm.StringPtr("compact"), "segment.bytes": kadm.StringPtr("1048576"), "delete.retention.ms": kadm.StringPtr("1"),
		"min.cleanable.dirty.ratio": kadm.StringPtr("0"), "file.delete.delay.ms": kadm.StringPtr("0"),
	}, "c")
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for !stop.Load() {
				if _, err := readToEnd(ctx, n.Addr, "c"); err != nil {
					t.Errorf("read while it is compacted: %v", err)
					return
				}
			}
		})
	}
	const keys, rounds = 300, 30
	padding := strings.Repeat("x", 1000)
	for round := range rounds {
		var records []*kgo.Record
		for k := range keys {
			r := &kgo.Record{Key: fmt.Appendf(nil, "key-%d", k), Value: fmt.Appendf(nil, "%d %s", round, padding)}
			if k%10 == 0 && round >= rounds/2 {
				r.Value = nil
			}
			records = append(records, r)
		}
		if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	// Most of it is below the active segment, which is never compacted.
	for deadline := time.Now().Add(time.Minute); ; {
		records, err := readToEnd(ctx, n.Addr, "c")
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]*kgo.Record{}
		tombstones := 0
		for _, r := range records {
			seen[string(r.Key)] = r
			if r.Value == nil && r.Offset < (rounds-5)*keys {
				tombstones++
			}
		}
		for k := range keys {
			r := seen[fmt.Sprintf("key-%d", k)]
			switch {
			case k%10 == 0 && r != nil && r.Value != nil:
				t.Fatalf("deleted key %d is back: offset %d", k, r.Offset)
			case k%10 != 0 && (r == nil || !bytes.HasPrefix(r.Value, fmt.Appendf(nil, "%d ", rounds-1)) || r.Offset != int64((rounds-1)*keys+k)):
				t.Fatalf("key %d ends with %+v", k, r)
			}
		}
		if len(records) < 6*keys && tombstones == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d records are left, %d of %d keys, and %d old tombstones", len(records), len(seen), keys, tombstones)
		}
	}
	stop.Store(true)
	readers.Wait()
	n.Restart(t)
	if records, err := readToEnd(ctx, n.Addr, "c"); err != nil || len(records) >= 6*keys {
		t.Errorf("after a restart %d records, %v", len(records), err)
	}
}

// What groups commit is compacted, and a deleted group leaves nothing behind, not even tombstones.
func TestCommittedOffsetsAreCompacted(t *testing.T) {
	n := brokertest.Start(t, map[string]string{
		"log.cleaner.backoff.ms": "20", "log.cleaner.delete.retention.ms": "1", "log.cleaner.min.cleanable.ratio": "0",
		"offsets.topic.num.partitions": "1", "offsets.topic.segment.bytes": "1048576", "log.segment.delete.delay.ms": "0",
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(n.Addr))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	admin := kadm.NewClient(cl)
	const partitions = 200
	if _, err := admin.CreateTopic(ctx, partitions, 1, nil, "many"); err != nil {
		t.Fatal(err)
	}
	commits := 0
	commit := func(group string, times int) {
		t.Helper()
		for range times {
			commits++
			offsets := kadm.Offsets{}
			for p := range int32(partitions) {
				offsets.AddOffset("many", p, int64(commits), -1)
			}
			if err := admin.CommitAllOffsets(ctx, group, offsets); err != nil {
				t.Fatal(err)
			}
		}
	}
	commit("doomed-group", 30)
	if _, err := admin.DeleteGroups(ctx, "doomed-group"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		commit("lasting-group", 20) // until what the other group has left is below the active segment
		records, err := readToEnd(ctx, n.Addr, "__consumer_offsets")
		if err != nil {
			t.Fatal(err)
		}
		doomed := 0
		for _, r := range records {
			if bytes.Contains(r.Key, []byte("doomed-group")) {
				doomed++
			}
		}
		if doomed == 0 && len(records) < commits*partitions/2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d records after %d were committed, %d of the deleted group", len(records), commits*partitions, doomed)
		}
	}
	n.Restart(t)
	got, err := kadm.NewClient(mustClient(t, n.Addr)).FetchOffsets(ctx, "lasting-group")
	if err != nil || len(got["many"]) != partitions {
		t.Fatalf("%d offsets after a restart, %v", len(got["many"]), err)
	}
	got.Each(func(o kadm.OffsetResponse) {
		if o.At != int64(commits) {
			t.Errorf("partition %d at %d, want %d", o.Partition, o.At, commits)
		}
	})
}

func mustClient(t *testing.T, addr string) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}
