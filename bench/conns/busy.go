package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/bench/internal/histogram"
)

const (
	topic      = "conns"
	partitions = 16
	// valueBytes is the size of a busy connection's records.
	valueBytes = 1024
)

// busyResult is what the busy connections did.
type busyResult struct {
	rounds  atomic.Int64
	latency histogram.Histogram // of a produce and a fetch
}

// createTopic makes the topic of the busy connections.
func createTopic(ctx context.Context, addr string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return err
	}
	defer cl.Close()
	res, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, 1, nil, topic)
	if err == nil {
		err = res.Err
	}
	if err != nil {
		return fmt.Errorf("create topic: %w", err)
	}
	return nil
}

// runBusy works on n connections until ctx ends; the first failure of each is an error.
func runBusy(ctx context.Context, addr string, n int, res *busyResult) []error {
	errs := make([]error, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			if err := runOne(ctx, addr, i, res); err != nil {
				errs[i] = fmt.Errorf("busy connection %d: %w", i, err)
			}
		})
	}
	running.Wait()
	return errs
}

// runOne produces a record and fetches it back, over and over, on one connection.
func runOne(ctx context.Context, addr string, i int, res *busyResult) error {
	c, err := dialFrom("", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for round := 0; ctx.Err() == nil; round++ {
		value := bytes.Repeat(fmt.Appendf(nil, "connection %d round %d ", i, round), valueBytes/20)[:valueBytes]
		begin := time.Now()
		offset, err := produce(c, int32(i%partitions), value)
		if err != nil {
			return fmt.Errorf("produce: %w", err)
		}
		if err := fetch(c, int32(i%partitions), offset, value); err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
		res.latency.Add(time.Since(begin))
		res.rounds.Add(1)
	}
	return nil
}

// produce appends one record with acks=all and returns its offset.
func produce(c net.Conn, partition int32, value []byte) (int64, error) {
	req, resp := kmsg.NewPtrProduceRequest(), kmsg.NewPtrProduceResponse()
	req.Version, req.Acks, req.TimeoutMillis = 7, -1, 10_000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, oneRecord(value)
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	if err := ask(c, req, resp); err != nil {
		return 0, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, fmt.Errorf("response is for %d topics", len(resp.Topics))
	}
	rp := resp.Topics[0].Partitions[0]
	return rp.BaseOffset, kerr.ErrorForCode(rp.ErrorCode)
}

// fetch reads from an offset and fails unless the record there has this value.
func fetch(c net.Conn, partition int32, offset int64, value []byte) error {
	req, resp := kmsg.NewPtrFetchRequest(), kmsg.NewPtrFetchResponse()
	req.Version, req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 11, -1, 1000, 1, 64<<10
	req.SessionEpoch = -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = partition, offset, 4<<10, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	if err := ask(c, req, resp); err != nil {
		return err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return fmt.Errorf("response is for %d topics", len(resp.Topics))
	}
	rp := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(rp.ErrorCode); err != nil {
		return err
	}
	if !bytes.Contains(rp.RecordBatches, value) {
		return fmt.Errorf("offset %d does not hold what was acknowledged there (%d bytes came)", offset, len(rp.RecordBatches))
	}
	return nil
}
