package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// start runs a floor server for the test and returns its address.
func start(t *testing.T, direct bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t.TempDir(), direct)
	done := make(chan error, 1)
	go func() { done <- s.serve(l) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func client(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr), kgo.MetadataMinAge(10*time.Millisecond))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func TestWhatAClientProducesItConsumesInOrder(t *testing.T) {
	for _, direct := range []bool{true, false} {
		t.Run(fmt.Sprintf("direct=%v", direct), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			addr := start(t, direct)
			const partitions, records = 3, 30000
			adm := kadm.NewClient(client(t, addr))
			if res, err := adm.CreateTopics(ctx, partitions, 1, nil, "t"); err != nil || res.Error() != nil {
				t.Fatal(err, res.Error())
			}
			prod := client(t, addr, kgo.RecordPartitioner(kgo.ManualPartitioner()))
			for i := range records {
				value := bytes.Repeat(fmt.Appendf(nil, "%d ", i/partitions), i%97+1)
				prod.Produce(ctx, &kgo.Record{Topic: "t", Partition: int32(i % partitions), Value: value}, func(_ *kgo.Record, err error) {
					if err != nil {
						t.Error(err)
					}
				})
			}
			if err := prod.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			cons := client(t, addr, kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
			next := map[int32]int64{}
			for got := 0; got < records; {
				fetches := cons.PollFetches(ctx)
				if err := fetches.Err(); err != nil {
					t.Fatal(err)
				}
				fetches.EachRecord(func(r *kgo.Record) {
					i := int(r.Offset)*partitions + int(r.Partition)
					if r.Offset != next[r.Partition] || !bytes.Equal(r.Value, bytes.Repeat(fmt.Appendf(nil, "%d ", r.Offset), i%97+1)) {
						t.Fatalf("partition %d: offset %d came where %d was due, value %.40q", r.Partition, r.Offset, next[r.Partition], r.Value)
					}
					next[r.Partition]++
					got++
				})
			}
			if res, err := adm.DeleteTopics(ctx, "t"); err != nil || res.Error() != nil {
				t.Fatal(err, res.Error())
			}
		})
	}
}

func TestAFetchAtTheEndWaitsForTheNextRecord(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	addr := start(t, false)
	cl := client(t, addr, kgo.ConsumeTopics("t"), kgo.FetchMaxWait(10*time.Second), kgo.DefaultProduceTopic("t"))
	if _, err := kadm.NewClient(cl).CreateTopics(ctx, 1, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		want := fmt.Appendf(nil, "%d", i)
		if err := cl.ProduceSync(ctx, &kgo.Record{Value: want}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if got := cl.PollFetches(ctx).Records(); len(got) != 1 || !bytes.Equal(got[0].Value, want) {
			t.Fatalf("record %d: got %v", i, got)
		}
		if waited := time.Since(begin); waited > 5*time.Second {
			t.Fatalf("record %d came after %v", i, waited)
		}
	}
}

func TestABatchWithAWrongCRCIsRefused(t *testing.T) {
	batch := make([]byte, headerSize+10)
	batch[posLength+3] = headerSize + 10 - overhead
	if _, ok := checkBatch(batch); ok {
		t.Error("a batch with CRC 0 is accepted")
	}
	if _, ok := checkBatch(batch[:20]); ok {
		t.Error("a batch cut short is accepted")
	}
}

func TestAnUnknownTopicIsNotServed(t *testing.T) {
	addr := start(t, false)
	adm := kadm.NewClient(client(t, addr))
	res, err := adm.DeleteTopics(t.Context(), "nothing")
	if err != nil || !errors.Is(res.Error(), kerr.UnknownTopicOrPartition) {
		t.Fatal(err, res.Error())
	}
}

func TestGarbageClosesTheConnection(t *testing.T) {
	addr := start(t, false)
	for _, bytes := range []string{"GET / HTTP/1.1\r\n\r\n", "\x00\x00\x00\x01x", "\x00\x00\x00\x0a\x7f\x7f\x00\x00\x00\x00\x00\x00\x00\x00"} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte(bytes)); err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(make([]byte, 10)); n > 0 || errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
			t.Errorf("%q: read %d bytes, %v; want the end of the connection", bytes, n, err)
		}
	}
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}
