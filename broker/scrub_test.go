package broker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/broker/brokertest"
)

// A flipped byte in a closed segment is found and named, and a client gets everything but the batch it is in.
func TestDamageOnTheDiskIsFoundAndTheRestIsServed(t *testing.T) {
	n := brokertest.Start(t, map[string]string{
		"log.scrub.interval.ms": "1000", "log.scrub.bytes.per.second": "1000000000", "http.listen": "127.0.0.1:0",
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(n.Addr), kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	_, err = kadm.NewClient(cl).CreateTopic(ctx, 1, 1, map[string]*string{"segment.bytes": kadm.StringPtr("1048576")}, "t")
	if err != nil {
		t.Fatal(err)
	}
	const records = 300
	for i := range records { // a batch each
		value := bytes.Repeat([]byte{byte(i)}, 10_000)
		if err := cl.ProduceSync(ctx, &kgo.Record{Key: fmt.Append(nil, i), Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	const damaged = 50
	path := filepath.Join(n.Dir, "t-0", "00000000000000000000.log")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(content, bytes.Repeat([]byte{damaged}, 10_000))
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{damaged + 1}, int64(at)+5000); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	awaitMetric(t, ctx, n, "corrupt_ranges_total", 1)

	seen := map[int64]bool{}
	from := int64(0)
	for len(seen) < records-1 {
		next, err := readUntilError(ctx, n.Addr, from, records, seen)
		if err == nil {
			break
		}
		if !errors.Is(err, kerr.CorruptMessage) || next != damaged {
			t.Fatalf("at offset %d: %v", next, err)
		}
		from = damaged + 1
	}
	if len(seen) != records-1 || seen[damaged] {
		t.Errorf("%d records of %d read, the damaged one: %v", len(seen), records, seen[damaged])
	}
}

// readUntilError reads until the end or an error, which comes at offset next.
func readUntilError(ctx context.Context, addr string, from, end int64, seen map[int64]bool) (next int64, err error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.KeepRetryableFetchErrors(), // else the client asks again and again
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().At(from)}}))
	if err != nil {
		return from, err
	}
	defer cl.Close()
	for next = from; next < end; {
		fetches := cl.PollFetches(ctx)
		for r := range fetches.RecordsAll() {
			if r.Offset != next || len(r.Value) != 10_000 || r.Value[0] != byte(r.Offset) {
				return next, fmt.Errorf("offset %d where %d was due", r.Offset, next)
			}
			seen[r.Offset] = true
			next++
		}
		if err := fetches.Err(); err != nil {
			return next, err
		}
	}
	return next, nil
}

// awaitMetric waits until a metric of the log dir has a value.
func awaitMetric(t *testing.T, ctx context.Context, n *brokertest.Node, name string, want int) {
	t.Helper()
	row := regexp.MustCompile(fmt.Sprintf(`(?m)^millrace_log_%s\{dir=.*\} %d$`, name, want))
	for {
		resp, err := http.Get("http://" + n.Report().HTTP + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if row.Match(text) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s never was %d", name, want)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
