package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// startSink runs a sink that writes to path and returns its address.
func startSink(t *testing.T, path string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	s, err := newSink(addr, path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.run(addr) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(s.stop(ctx), <-done); err != nil {
			t.Error(err)
		}
	})
	return addr
}

func TestASinkAcknowledgesWhatItKeeps(t *testing.T) {
	for name, path := range map[string]string{"slabs": filepath.Join(t.TempDir(), "sink"), "nothing": ""} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			addr := startSink(t, path)
			prod := client(t, addr, kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(kgo.NoCompression()))
			adm := kadm.NewClient(prod)
			if res, err := adm.CreateTopics(ctx, 3, 1, nil, "t"); err != nil || res.Error() != nil {
				t.Fatal(err, res.Error())
			}
			const records = 80000 // of 1,000 bytes: more than two slabs
			value := bytes.Repeat([]byte("sink"), 250)
			for range records {
				prod.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
					if err != nil {
						t.Error(err)
					}
				})
			}
			if err := prod.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			if path != "" {
				b, err := os.ReadFile(path)
				if n := bytes.Count(b, value); err != nil || n < records/4 {
					t.Errorf("%d of %d values are in the file, %v", n, records, err)
				}
			}
			if err := prod.ProduceSync(ctx, &kgo.Record{Topic: "other", Value: value}).FirstErr(); !errors.Is(err, kerr.UnknownTopicOrPartition) {
				t.Errorf("to a topic that is not there: %v", err)
			}
			if res, err := adm.DeleteTopics(ctx, "t"); err != nil || res.Error() != nil {
				t.Fatal(err, res.Error())
			}
		})
	}
}

func TestASinkClosesConnectionsThatSendGarbage(t *testing.T) {
	addr := startSink(t, "")
	var c net.Conn
	var err error
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if c, err = net.Dial("tcp", addr); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 10)); n > 0 || isTimeout(err) {
		t.Errorf("read %d bytes, %v; want the end of the connection", n, err)
	}
}

func TestASlabIsWrittenWhenItsLastFrameIsComplete(t *testing.T) {
	s := &slabs{free: make(chan *slab, 2), full: make(chan *slab, 2)}
	for range 2 {
		sl, err := newSlab()
		if err != nil {
			t.Fatal(err)
		}
		s.free <- sl
	}
	first, _, err := s.reserve(slabBytes - 10)
	if err != nil {
		t.Fatal(err)
	}
	second, mem, err := s.reserve(11)
	if err != nil || second == first || len(mem) != 11 {
		t.Fatalf("a frame that does not fit: same slab %v, %d bytes, %v", second == first, len(mem), err)
	}
	if len(s.full) != 0 {
		t.Fatal("a slab is written while a frame in it is being read")
	}
	s.release(first)
	if len(s.full) != 1 || <-s.full != first {
		t.Fatal("a complete slab is not written")
	}
	if _, _, err := s.reserve(slabBytes + 1); err == nil {
		t.Error("a frame larger than a slab is accepted")
	}
}
