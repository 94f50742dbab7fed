package segment_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"millrace/segment"
	"millrace/segment/batch"
)

// killEnv makes the test binary the process to be killed.
const killEnv = "SEGMENT_TEST_APPENDER"

func TestMain(m *testing.M) {
	if path := os.Getenv(killEnv); path != "" {
		appendForEver(path, os.Getenv(killEnv+"_ENGINE"))
		return
	}
	// A property test opens and kills dirs many times; the command line may ask for more.
	flag.Set("rapid.checks", "30")
	os.Exit(m.Run())
}

// appendForEver appends numbered batches and prints each durable offset.
func appendForEver(path, engine string) {
	d, err := segment.OpenDir(options(path, combination{engine, "auto", "journal"}))
	if err != nil {
		fmt.Println("error", err)
		return
	}
	durable := make(chan int64, 1024)
	cfg := newHarness(&testing.T{}, combination{}, "").cfg
	cfg.SegmentBytes = 200_000
	l, err := d.OpenLog("t", 0, segment.LogOptions{Config: cfg, OnDurable: func(o int64) { durable <- o }})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	go func() {
		w := batch.NewBuilder()
		w.ProducerID, w.ProducerEpoch = 9, 0
		for {
			w.Reset()
			w.BaseSequence = int32(l.EndOffset())
			for range 1 + rand.IntN(3) {
				w.Add(time.Now().UnixMilli(), nil, make([]byte, rand.IntN(2000)))
			}
			b, err := w.Build(nil)
			if err == nil {
				_, err = l.Append(b, 0)
			}
			for l.EndOffset()-l.DurableOffset() > 50 {
				runtime.Gosched()
			}
			if err != nil {
				fmt.Println("error", err)
				return
			}
		}
	}()
	for o := range durable {
		fmt.Println(o)
	}
}

// A process killed at random has lost nothing that it said was durable, and goes on where it was.
func TestKilledProcessLosesNothingDurable(t *testing.T) {
	h := onOne(t)
	for round := range 6 {
		engine := []string{"auto", "pwritev2"}[round%2]
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killEnv+"="+h.path, killEnv+"_ENGINE="+engine)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acked := int64(-1)
		lines := 20 + rand.IntN(150)
		in := bufio.NewScanner(out)
		for in.Scan() {
			o, err := strconv.ParseInt(in.Text(), 10, 64)
			if err != nil {
				t.Fatal(in.Text())
			}
			acked = o
			if lines--; lines == 0 {
				break
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for in.Scan() {
			if o, err := strconv.ParseInt(in.Text(), 10, 64); err == nil {
				acked = max(acked, o)
			}
		}
		io.Copy(io.Discard, out)
		cmd.Wait()

		d := h.open()
		l, err := d.OpenLog("t", 0, segment.LogOptions{Config: h.cfg})
		if err != nil {
			t.Fatal(err)
		}
		if l.EndOffset() < acked {
			t.Fatalf("round %d: durable %d, found %d", round, acked, l.EndOffset())
		}
		w := &watched{Log: l, t: t}
		batches := w.contents()
		if last := batches[len(batches)-1]; int64(last.LastSequence()) != last.LastOffset() {
			t.Errorf("sequence %d at offset %d", last.LastSequence(), last.LastOffset())
		}
		if p := l.Producers(); len(p) != 1 || int64(p[0].LastSequence) != l.EndOffset()-1 {
			t.Errorf("producers %+v at end %d", p, l.EndOffset())
		}
		if round%3 == 0 {
			// Not closed cleanly: the next process meets what this one left.
			h.crash()
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(h.path, "t-0", "*.log")); len(names) < 2 {
		t.Errorf("%d segments", len(names))
	}
}
