package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"millrace/bench/internal/histogram"
	"millrace/bench/internal/result"
)

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"too small for a stamp": {[]string{"--size", "8"}, "--size"},
		"codec":                 {[]string{"--compression", "brotli"}, "--compression"},
		"acks":                  {[]string{"--acks", "2"}, "--acks"},
		"process id":            {[]string{"--broker-pid", "1,x"}, "--broker-pid"},
		"no partitions":         {[]string{"--partitions", "0"}, "--partitions"},
	} {
		if _, err := parseOptions(tc.args); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error is %v, want one about %s", name, err, tc.want)
		}
	}
}

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{"--acks", "1", "--topics", "2", "--topic", "t", "--topic-config", "a=1,b=x=y", "--broker-pid", "7,8"})
	if err != nil {
		t.Fatal(err)
	}
	if o.idempotent {
		t.Error("a producer with acks=1 is said to be idempotent")
	}
	if got := strings.Join(o.topicNames(), " "); got != "t-0 t-1" {
		t.Errorf("topics are %q", got)
	}
	if *o.topicConfig["a"] != "1" || *o.topicConfig["b"] != "x=y" {
		t.Errorf("topic config is %v", o.topicConfig)
	}
	if len(o.brokers) != 2 || o.brokers[1] != 8 {
		t.Errorf("brokers are %v", o.brokers)
	}
}

func TestValuesAreOfTheSizeAskedForAndTheSameInEveryRun(t *testing.T) {
	for _, kind := range []string{"text", "random", "zero"} {
		for _, size := range []int{16, 100, 1024} {
			a, err := makeValues(kind, size)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := makeValues(kind, size)
			for i := range a {
				if len(a[i]) != size || !bytes.Equal(a[i], b[i]) {
					t.Fatalf("%s, %d bytes: value %d has %d bytes or differs between two runs", kind, size, i, len(a[i]))
				}
			}
		}
	}
	if _, err := makeValues("poems", 16); err == nil {
		t.Error("an unknown payload is accepted")
	}
}

func TestStampSurvivesTheRoundTripAndLeavesTheSharedValueAlone(t *testing.T) {
	value := make([]byte, 32)
	now := time.Now()
	if got := sentAt(stamped(value, now)); !got.Equal(now.Round(0)) {
		t.Errorf("stamp reads %v, want %v", got, now)
	}
	if !bytes.Equal(value, make([]byte, 32)) {
		t.Error("stamping changed the shared value")
	}
}

func TestALateRecordCountsFromWhenItWasDue(t *testing.T) {
	o := &options{rate: 1000}
	start := time.Now().Add(-time.Second)
	if got, due := o.waitForTurn(start, 10), start.Add(10*time.Millisecond); !got.Equal(due) {
		t.Errorf("a record 990 ms late counts from %v, want %v", got, due)
	}
	start = time.Now()
	got := o.waitForTurn(start, 20)
	if got.Before(start.Add(20 * time.Millisecond)) {
		t.Errorf("a record due in 20 ms is sent after %v", got.Sub(start))
	}
}

func TestReportHasThroughputLatencyAndTheUseOfTheBroker(t *testing.T) {
	o, err := parseOptions([]string{"--size", "1000", "--broker-pid", strconv.Itoa(os.Getpid())})
	if err != nil {
		t.Fatal(err)
	}
	ph, err := o.begin()
	if err != nil {
		t.Fatal(err)
	}
	ph.start = ph.start.Add(-2 * time.Second)
	ph.done.Store(1_000_000)
	ph.fail(os.ErrClosed)
	ph.fail(os.ErrExist)
	lat := new(histogram.Histogram)
	lat.Add(5 * time.Millisecond)
	var out bytes.Buffer
	if err := ph.end(&out, "produce", lat, nil); err != nil {
		t.Fatal(err)
	}
	var r result.Phase
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.MBPerS < 400 || r.MBPerS > 500 || r.Errors != 2 || r.FirstError != os.ErrClosed.Error() {
		t.Errorf("report is %+v", r)
	}
	if r.LatencyMs["p50"] < 5 || r.LatencyMs["p50"] > 5.2 || r.E2EMs != nil || r.BrokerRSSMiB <= 0 {
		t.Errorf("report is %+v", r)
	}
}
