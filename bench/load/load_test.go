package main

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/bench/internal/payload"
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
		"no producers":          {[]string{"--producers", "0"}, "--producers"},
		"raw to partitions":     {[]string{"--raw", "--mode", "produce", "--partitions", "2"}, "--raw"},
		"raw batch too large":   {[]string{"--raw", "--batch-records", "2000"}, "--request-bytes"},
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

func TestARawRequestGoesToTheTopicsThatFollow(t *testing.T) {
	for _, tc := range []struct {
		topics, spread int
		records        int64
	}{{1, 1, 963}, {10, 10, 102}, {100, 64, 16}} {
		o, err := parseOptions([]string{"--raw", "--topics", strconv.Itoa(tc.topics)})
		if err != nil {
			t.Fatal(err)
		}
		l, err := o.newRawLoad()
		if err != nil {
			t.Fatal(err)
		}
		if l.spread != tc.spread || l.records != tc.records || l.size != tc.records*int64(tc.spread) {
			t.Errorf("%d topics: %d topics in a request, %d records for each", tc.topics, l.spread, l.records)
		}
		seen := map[string]bool{}
		var head []byte
		for i := range (tc.topics + tc.spread - 1) / tc.spread {
			r, ok := l.plan.take(t.Context())
			if !ok {
				t.Fatalf("request %d is not there", i)
			}
			var frame net.Buffers
			frame, head = l.encode(head, uint32(i), r)
			b := bytes.Join(frame, nil)
			req := kmsg.NewPtrProduceRequest()
			req.SetVersion(rawVersion)
			if err := req.ReadFrom(b[4+8+2+4:]); err != nil || int(binary.BigEndian.Uint32(b)) != len(b)-4 {
				t.Fatalf("request %d of %d bytes: %v", i, len(b), err)
			}
			for _, rt := range req.Topics {
				seen[rt.Topic] = true
			}
		}
		if len(seen) != tc.topics {
			t.Errorf("%d of %d topics are written", len(seen), tc.topics)
		}
	}
}

func TestWhatIsRefusedIsSentAgainToThoseTopicsOnly(t *testing.T) {
	p := newRawPlan(2, 3, 5)
	first, _ := p.take(t.Context())
	p.answered(first, []int{1})
	second, _ := p.take(t.Context())
	if !slices.Equal(first.topics, []int{0, 1, 2}) || !slices.Equal(second.topics, []int{3, 4, 0}) {
		t.Errorf("requests go to %v and %v", first.topics, second.topics)
	}
	p.answered(second, nil)
	again, ok := p.take(t.Context())
	if !ok || !slices.Equal(again.topics, []int{1}) || again.batch != first.batch || again.first != first.first || time.Now().Before(again.due) {
		t.Errorf("sent again is %+v, %v", again, ok)
	}
	p.answered(again, nil)
	if r, ok := p.take(t.Context()); ok || p.refused != 1 {
		t.Errorf("after the end comes %+v; %d refused", r, p.refused)
	}
}

func TestNothingIsHandedOutWhenTheTimeIsOver(t *testing.T) {
	p := newRawPlan(1, 1, 1)
	if _, ok := p.take(t.Context()); !ok {
		t.Fatal("there is nothing to send")
	}
	done := make(chan bool)
	go func() {
		_, ok := p.take(t.Context()) // waits: the request that is under way may have to be sent again
		done <- ok
	}()
	p.stop()
	if <-done {
		t.Error("something is sent after the end")
	}
}

func TestRecordsAreCountedFromTheOffsetAskedFor(t *testing.T) {
	values, _ := payload.Values("zero", 16)
	two := append(encodeBatch(values, 0, 10, time.Now()), encodeBatch(values, 0, 5, time.Now())...)
	second := len(two) - len(encodeBatch(values, 0, 5, time.Now()))
	binary.BigEndian.PutUint64(two[second:], 10)
	for _, tc := range []struct {
		bytes         []byte
		offset        int64
		records, next int64
	}{{two, 0, 15, 15}, {two, 3, 12, 15}, {two, 12, 3, 15}, {two[:len(two)-1], 0, 10, 10}, {two[:50], 4, 0, 4}, {nil, 4, 0, 4}} {
		if records, next := countRecords(tc.bytes, tc.offset); records != tc.records || next != tc.next {
			t.Errorf("%d bytes from offset %d: %d records, next %d; want %d, %d", len(tc.bytes), tc.offset, records, next, tc.records, tc.next)
		}
	}
}
