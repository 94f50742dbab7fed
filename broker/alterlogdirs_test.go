package broker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace/broker/brokertest"
	"millrace/segment"
	"millrace/segment/batch"
	"millrace/segment/segmenttest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// alterLogDirs asks for one replica to be in a log dir.
func alterLogDirs(c *brokertest.Conn, dir, topic string, partition int32) int16 {
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	req.Version = 2
	d := kmsg.NewAlterReplicaLogDirsRequestDir()
	d.Dir = dir
	d.Topics = []kmsg.AlterReplicaLogDirsRequestDirTopic{{Topic: topic, Partitions: []int32{partition}}}
	req.Dirs = append(req.Dirs, d)
	return c.Do(req).(*kmsg.AlterReplicaLogDirsResponse).Topics[0].Partitions[0].ErrorCode
}

// await waits until a condition holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain waited for: %s", what)
		}
	}
}

// where says which log dirs have a replica, in the order of log.dirs, "+future" where it is being moved to.
func where(c *brokertest.Conn, n *brokertest.Node, partition string) (in []string) {
	dirs := describeLogDirs(c)
	for i, d := range n.Dirs {
		for _, r := range replicas(dirs[d]) {
			if r == partition || r == partition+"+future" {
				in = append(in, strconv.Itoa(i)+strings.TrimPrefix(r, partition))
			}
		}
	}
	return in
}

// moveTo moves a replica and waits until it is there and nowhere else.
func moveTo(t testing.TB, c *brokertest.Conn, n *brokertest.Node, dir int, topic string, partition int32) {
	t.Helper()
	if code := alterLogDirs(c, n.Dirs[dir], topic, partition); code != 0 {
		t.Fatalf("move to dir %d: error %d", dir, code)
	}
	await(t, fmt.Sprintf("%s-%d in dir %d", topic, partition, dir), func() bool {
		in := where(c, n, fmt.Sprintf("%s-%d", topic, partition))
		return len(in) == 1 && in[0] == strconv.Itoa(dir)
	})
}

// dirOf is the log dir that has a replica.
func dirOf(t testing.TB, c *brokertest.Conn, n *brokertest.Node, partition string) int {
	t.Helper()
	in := where(c, n, partition)
	if len(in) != 1 {
		t.Fatalf("%s is in %v", partition, in)
	}
	i, err := strconv.Atoi(in[0])
	if err != nil {
		t.Fatalf("%s is in %v", partition, in)
	}
	return i
}

// writers produce numbered values to one partition until they are stopped, and know which were acknowledged.
type writers struct {
	stop  context.CancelFunc
	wg    sync.WaitGroup
	mu    sync.Mutex
	acked map[string]int64 // value to offset
}

// startWriters begins n writers to topic t, each with so many records on their way at most; what they write is told apart
// by a name.
func startWriters(t testing.TB, addr, name string, n, buffered int) *writers {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	w := &writers{stop: stop, acked: map[string]int64{}}
	for i := range n {
		cl, err := kgo.NewClient(
			kgo.SeedBrokers(addr), kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()),
			kgo.MaxBufferedRecords(buffered), kgo.ProducerLinger(0), kgo.MetadataMinAge(10*time.Millisecond),
			kgo.RetryBackoffFn(func(int) time.Duration { return 5 * time.Millisecond }),
		)
		if err != nil {
			t.Fatal(err)
		}
		w.wg.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				value := fmt.Sprintf("%s: %d-%d-%s", name, i, k, strings.Repeat("x", k%300))
				w.wg.Add(1) // the client may tell of a record after it was closed
				cl.Produce(ctx, &kgo.Record{Value: []byte(value)}, func(r *kgo.Record, err error) {
					defer w.wg.Done()
					if err == nil {
						w.mu.Lock()
						w.acked[value] = r.Offset
						w.mu.Unlock()
					}
				})
			}
			cl.Close()
		})
	}
	t.Cleanup(func() { w.end() })
	return w
}

func (w *writers) end() {
	w.stop()
	w.wg.Wait()
}

func (w *writers) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acked)
}

// history reads all of partition 0 and gives the offset of each value. It fails the test if an offset is missing or a
// value comes twice.
func history(t testing.TB, c *brokertest.Conn, topic string) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	for next := int64(0); ; {
		p := fetchOne(c, topic, next)
		if p.ErrorCode != 0 {
			t.Fatalf("fetch at %d: error %d", next, p.ErrorCode)
		}
		if next == p.HighWatermark {
			return found
		}
		for b, err := range batch.All(p.RecordBatches) {
			if err != nil {
				break // part of a batch, which the next fetch gives whole
			}
			for i, value := range valuesOf(t, b) {
				at := b.BaseOffset() + int64(i)
				if at < next {
					continue
				}
				if at != next {
					t.Fatalf("offset %d follows %d", at, next-1)
				}
				if before, twice := found[value]; twice {
					t.Errorf("%.40s is at offset %d and at %d", value, before, at)
				}
				found[value] = at
				next++
			}
		}
	}
}

// valuesOf is the values of a batch.
func valuesOf(t testing.TB, b batch.Batch) (out []string) {
	t.Helper()
	if !b.ValidCRC() {
		t.Fatalf("damaged batch at offset %d", b.BaseOffset())
	}
	err := batch.ForEach(b, 64<<20, func(r *batch.Record) error {
		out = append(out, string(r.Value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// expectHistory checks that every acknowledged value is where it was said to be, and nothing twice.
func expectHistory(t testing.TB, c *brokertest.Conn, topic string, w *writers) {
	t.Helper()
	found := history(t, c, topic)
	missing := 0
	for value, offset := range w.acked {
		if at, ok := found[value]; !ok || at != offset {
			if missing++; missing < 5 {
				t.Errorf("%.40s acknowledged at offset %d: found %v at %d", value, offset, ok, at)
			}
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d acknowledged records are missing or elsewhere", missing, len(w.acked))
	}
}

func TestAReplicaMovesWhileItIsWrittenAndRead(t *testing.T) {
	for _, durability := range []string{"flush", "async"} {
		t.Run(durability, func(t *testing.T) {
			n := onDirs(t, 3, map[string]string{"log.slab.bytes": "16777216"})
			c := n.Dial(t)
			c.CreateTopic("t", 1, "segment.bytes", "1048576", "durability", durability)
			w := startWriters(t, n.Addr, "w", 3, 200)
			reader, err := kgo.NewClient(kgo.SeedBrokers(n.Addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().AtStart()}}))
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			var read atomic.Int64
			reading, stop := context.WithCancel(t.Context())
			defer stop()
			var wg sync.WaitGroup
			wg.Go(func() {
				for reading.Err() == nil {
					f := reader.PollFetches(reading)
					f.EachError(func(_ string, _ int32, err error) {
						if reading.Err() == nil {
							t.Errorf("reader: %v", err)
						}
					})
					f.EachRecord(func(r *kgo.Record) {
						if r.Offset != read.Load() {
							t.Errorf("read offset %d after %d", r.Offset, read.Load()-1)
						}
						read.Store(r.Offset + 1)
					})
				}
			})
			at := dirOf(t, c, n, "t-0")
			for range 5 {
				before := w.count()
				await(t, "more records", func() bool { return w.count() > before+3000 })
				at = (at + 1) % 3
				moveTo(t, c, n, at, "t", 0)
				if got := holder(t, n, "t-0"); got != n.Dirs[at] {
					t.Errorf("is in %s, want %s", got, n.Dirs[at])
				}
			}
			w.end()
			expectHistory(t, c, "t", w)
			end := listOffsets(c, 7, "t", -1).Offset
			await(t, "the reader at the end", func() bool { return read.Load() >= end })
			stop()
			wg.Wait()
			reader.Close() // or its fetch is waited for
			n.Restart(t)
			c = n.Dial(t)
			if got := dirOf(t, c, n, "t-0"); got != at {
				t.Errorf("after a restart in dir %d, want %d", got, at)
			}
			expectHistory(t, c, "t", w)
		})
	}
}

func TestAMoveIsDescribedAndEndsWhenTheReplicaIsSentBack(t *testing.T) {
	n := onDirs(t, 3, nil)
	c := n.Dial(t)
	c.CreateTopic("t", 1)
	for range 10 {
		produce(c, "t", records(t, 100, nil))
	}
	// No byte may be copied.
	if r := alterBroker(c, "replica.alter.log.dirs.io.max.bytes.per.second", "0"); r.ErrorCode != 0 {
		t.Fatalf("throttle: %d", r.ErrorCode)
	}
	at := dirOf(t, c, n, "t-0")
	to, third := (at+1)%3, (at+2)%3
	future := func(dir int) *kmsg.DescribeLogDirsResponseDirTopicPartition {
		d := describeLogDirs(c)[n.Dirs[dir]]
		if len(d.Topics) == 1 && d.Topics[0].Partitions[0].IsFuture {
			return &d.Topics[0].Partitions[0]
		}
		return nil
	}
	if code := alterLogDirs(c, n.Dirs[to], "t", 0); code != 0 {
		t.Fatalf("move: error %d", code)
	}
	if f := future(to); f == nil || f.OffsetLag != 1000 || f.Size != 0 {
		t.Errorf("future replica %+v, want one that lacks 1000 records", f)
	}
	if dirs, _ := filepath.Glob(filepath.Join(n.Dirs[to], "t-0.????????????????????????????????-future")); len(dirs) != 1 {
		t.Errorf("future directories: %q", dirs)
	}
	if code := alterLogDirs(c, n.Dirs[to], "t", 0); code != 0 {
		t.Errorf("the same again: error %d", code)
	}
	if code := alterLogDirs(c, n.Dirs[third], "t", 0); code != 0 {
		t.Errorf("to another: error %d", code)
	}
	if future(to) != nil || future(third) == nil {
		t.Errorf("is in %v", where(c, n, "t-0"))
	}
	n.Restart(t) // it goes on
	c = n.Dial(t)
	if future(third) == nil {
		t.Errorf("after a restart in %v", where(c, n, "t-0"))
	}
	if code := alterLogDirs(c, n.Dirs[at], "t", 0); code != 0 {
		t.Errorf("back: error %d", code)
	}
	if in := where(c, n, "t-0"); len(in) != 1 || in[0] != strconv.Itoa(at) {
		t.Errorf("is in %v, want %d alone", in, at)
	}
	await(t, "removal of the copy", func() bool {
		left, _ := filepath.Glob(filepath.Join(n.Dirs[third], "t-0*"))
		return len(left) == 0
	})
	if r := alterBroker(c, "replica.alter.log.dirs.io.max.bytes.per.second", "100000000"); r.ErrorCode != 0 {
		t.Fatalf("throttle: %d", r.ErrorCode)
	}
	moveTo(t, c, n, to, "t", 0)
	if p := fetchOne(c, "t", 999); p.ErrorCode != 0 || p.HighWatermark != 1000 || len(p.RecordBatches) == 0 {
		t.Errorf("error %d, high watermark %d", p.ErrorCode, p.HighWatermark)
	}
}

func TestAMoveGoesOnWhenWhatItHasCopiedIsDeleted(t *testing.T) {
	n := onDirs(t, 2, nil)
	c := n.Dial(t)
	c.CreateTopic("t", 1)
	value := strings.Repeat("x", 20_000)
	for range 10 {
		produce(c, "t", records(t, 1, func(b *batch.Builder) { b.Add(time.Now().UnixMilli(), nil, []byte(value)) }))
	}
	if r := alterBroker(c, "replica.alter.log.dirs.io.max.bytes.per.second", "10000"); r.ErrorCode != 0 {
		t.Fatalf("throttle: %d", r.ErrorCode)
	}
	to := 1 - dirOf(t, c, n, "t-0")
	if code := alterLogDirs(c, n.Dirs[to], "t", 0); code != 0 {
		t.Fatalf("move: error %d", code)
	}
	await(t, "a copied batch", func() bool {
		d := describeLogDirs(c)[n.Dirs[to]]
		return len(d.Topics) == 1 && d.Topics[0].Partitions[0].Size > 0
	})
	del := kmsg.NewPtrDeleteRecordsRequest()
	del.Version, del.TimeoutMillis = 2, 10_000
	del.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: -1}}}}
	if p := c.Do(del).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.LowWatermark != 20 {
		t.Fatalf("delete records: error %d, low watermark %d", p.ErrorCode, p.LowWatermark)
	}
	moveTo(t, c, n, to, "t", 0)
	for range 2 {
		if first, end := listOffsets(c, 7, "t", -2), listOffsets(c, 7, "t", -1); first.Offset != 20 || end.Offset != 20 {
			t.Errorf("offsets %d to %d, want 20 to 20", first.Offset, end.Offset)
		}
		n.Restart(t)
		c = n.Dial(t)
	}
	if p := produce(c, "t", records(t, 1, nil)); p.ErrorCode != 0 || p.BaseOffset != 20 {
		t.Errorf("produced at %d, error %d", p.BaseOffset, p.ErrorCode)
	}
}

func TestAMoveIsThrottled(t *testing.T) {
	n := onDirs(t, 2, map[string]string{"replica.alter.log.dirs.io.max.bytes.per.second": "1000000"})
	c := n.Dial(t)
	c.CreateTopic("t", 1)
	value := strings.Repeat("x", 50_000)
	for range 20 {
		produce(c, "t", records(t, 1, func(b *batch.Builder) { b.Add(time.Now().UnixMilli(), nil, []byte(value)) }))
	}
	begin := time.Now()
	moveTo(t, c, n, 1-dirOf(t, c, n, "t-0"), "t", 0)
	if took := time.Since(begin); took < 900*time.Millisecond {
		t.Errorf("1 MB at 1 MB/s took %v", took)
	}
}

func TestErrorsOfAlterReplicaLogDirsAreKafkas(t *testing.T) {
	n := onDirs(t, 3, nil)
	n.Stop(t)
	broken := filepath.Join(n.Dirs[2], "file")
	if err := os.WriteFile(broken, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	n.Set("log.dirs", n.Dirs[0]+","+n.Dirs[1]+","+broken)
	n.Restart(t)
	c := n.Dial(t)
	c.CreateTopic("t", 1)
	at := dirOf(t, c, n, "t-0")
	for _, x := range []struct {
		what, dir, topic string
		partition        int32
		want             int16
	}{
		{"an unknown dir", "/nowhere", "t", 0, kerr.LogDirNotFound.Code},
		{"a relative path", "data", "t", 0, kerr.LogDirNotFound.Code},
		{"an offline dir", broken, "t", 0, kerr.KafkaStorageError.Code},
		{"an unknown topic", n.Dirs[0], "nope", 0, kerr.UnknownTopicOrPartition.Code},
		{"an unknown partition", n.Dirs[0], "t", 1, kerr.UnknownTopicOrPartition.Code},
		{"no partition", n.Dirs[0], "t", -1, kerr.UnknownTopicOrPartition.Code},
		{"where it is", n.Dirs[at], "t", 0, 0},
	} {
		if code := alterLogDirs(c, x.dir, x.topic, x.partition); code != x.want {
			t.Errorf("%s: error %d, want %d", x.what, code, x.want)
		}
	}
	if r := alterBroker(c, "cordoned.log.dirs", n.Dirs[1-at]); r.ErrorCode != 0 {
		t.Fatalf("cordon: %d", r.ErrorCode)
	}
	if code := alterLogDirs(c, n.Dirs[1-at], "t", 0); code != kerr.InvalidReplicaAssignment.Code {
		t.Errorf("a cordoned dir: error %d", code)
	}
}

func TestTheLogDirOfAPartitionCanBeChosenBeforeItExists(t *testing.T) {
	n := onDirs(t, 3, nil)
	c := n.Dial(t)
	for i := range int32(4) {
		if code := alterLogDirs(c, n.Dirs[2], "t", i); code != kerr.UnknownTopicOrPartition.Code {
			t.Errorf("error %d", code)
		}
	}
	c.CreateTopic("t", 4)
	if got := fmt.Sprint(replicas(describeLogDirs(c)[n.Dirs[2]])); got != "[t-0 t-1 t-2 t-3]" {
		t.Errorf("the chosen log dir has %s", got)
	}
}

func TestATopicIsDeletedWhileItMoves(t *testing.T) {
	n := onDirs(t, 2, map[string]string{"replica.alter.log.dirs.io.max.bytes.per.second": "0"})
	c := n.Dial(t)
	c.CreateTopic("t", 1)
	produce(c, "t", records(t, 100, nil))
	at := dirOf(t, c, n, "t-0")
	if code := alterLogDirs(c, n.Dirs[1-at], "t", 0); code != 0 {
		t.Fatalf("move: error %d", code)
	}
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis = 5, 10_000
	req.TopicNames = []string{"t"}
	if code := c.Do(req).(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode; code != 0 {
		t.Fatalf("delete: error %d", code)
	}
	await(t, "removal of the copy", func() bool {
		left, _ := filepath.Glob(filepath.Join(n.Dirs[1-at], "t-0*"))
		return len(left) == 0
	})
	c.CreateTopic("t", 1)
	if p := produce(c, "t", records(t, 1, nil)); p.ErrorCode != 0 || p.BaseOffset != 0 {
		t.Errorf("a new topic of the name: error %d, offset %d", p.ErrorCode, p.BaseOffset)
	}
}

// A log dir that fails while a replica is moved to it leaves the replica where it is.
func TestAMoveToALogDirThatFailsLeavesTheReplicaWhereItIs(t *testing.T) {
	n := onDirs(t, 2, nil)
	c := n.Dial(t)
	c.CreateTopic("t", 1)
	at := dirOf(t, c, n, "t-0")
	if at != 0 {
		t.Fatal("the first partition is not in the first log dir, which has the metadata log, too")
	}
	w := startWriters(t, n.Addr, "w", 1, 200)
	await(t, "records", func() bool { return w.count() > 1000 })
	w.end()
	disk := segmenttest.NewDisk()
	n.Options.Disk = func(dir string) segment.Disk {
		if dir == n.Dirs[1-at] {
			return disk
		}
		return nil
	}
	n.Restart(t)
	c = n.Dial(t)
	disk.TearNext(0)
	if code := alterLogDirs(c, n.Dirs[1-at], "t", 0); code != 0 {
		t.Fatalf("move: error %d", code)
	}
	await(t, "the failure", func() bool { return describeLogDirs(c)[n.Dirs[1-at]].ErrorCode != 0 })
	if p := produce(c, "t", records(t, 1, nil)); p.ErrorCode != 0 {
		t.Errorf("produce: error %d", p.ErrorCode)
	}
	expectHistory(t, c, "t", w)
}
