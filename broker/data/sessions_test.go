package data

import (
	"testing"
	"time"
)

func TestSessionEpochWrapsPastTheReservedOnes(t *testing.T) {
	if e := nextEpoch(1<<31 - 1); e != 1 {
		t.Fatalf("epoch after the last is %d, want 1: 0 opens a session and -1 closes it", e)
	}
}

func TestSessionsInUseKeepTheirSlot(t *testing.T) {
	c, at := newSessionCache(2), time.Now()
	a, b := c.open(false, at), c.open(false, at)
	if a == nil || b == nil || a.id == b.id {
		t.Fatal("two slots did not give two sessions")
	}
	if x := c.open(false, at.Add(time.Second)); x != nil {
		t.Fatal("a session in use lost its slot")
	}
	c.use(a.id, at.Add(minEvictionAge))
	if x := c.open(false, at.Add(minEvictionAge+time.Second)); x == nil {
		t.Fatal("no session took the slot of one long unused")
	}
	if c.use(b.id, at) != nil || c.use(a.id, at) == nil {
		t.Fatal("the wrong session was evicted: the one used last went")
	}
	c.close(a.id)
	if c.len() != 1 {
		t.Fatalf("%d sessions after one was closed", c.len())
	}
}

func TestSessionsTogetherRememberABoundedNumberOfPartitions(t *testing.T) {
	c, at := newSessionCache(10), time.Now()
	a, b := c.open(false, at), c.open(false, at)
	if !c.resize(a, maxSessionPartitions-1) || !c.resize(b, 1) {
		t.Fatal("refused below the bound")
	}
	if c.resize(b, 2) || c.use(b.id, at) != nil {
		t.Fatal("a session that grew past the bound was kept")
	}
	if !c.resize(b, 5) {
		t.Fatal("a closed session is not counted")
	}
	c.close(a.id)
	if d := c.open(false, at); !c.resize(d, maxSessionPartitions) {
		t.Fatal("closed sessions still count")
	}
}

func TestAnIncrementalAnswerLeavesOutWhatDidNotChange(t *testing.T) {
	x := newSessionCache(1).open(false, time.Now())
	k := partitionKey{name: "t", index: 3}
	x.set(k, sessionPartition{name: "t", index: 3, fetchOffset: 5, maxBytes: 100})
	e := &fetchEntry{key: k, highWater: 5, logStart: 0}
	e.diverging.Epoch = -1
	for _, step := range []struct {
		what   string
		change func()
		want   bool
	}{
		{"first answer", func() {}, true},
		{"nothing new", func() {}, false},
		{"high watermark moved", func() { e.highWater = 6 }, true},
		{"told already", func() {}, false},
		{"log start moved", func() { e.logStart = 1 }, true},
		{"data", func() { e.bytes = 10 }, true},
		{"data again", func() {}, true},
		{"an error", func() { e.bytes, e.err = 0, 6 }, true},
		{"the error is over", func() { e.err = 0 }, true},
		{"quiet again", func() {}, false},
	} {
		step.change()
		if got := x.changed(e); got != step.want {
			t.Errorf("%s: told %v, want %v", step.what, got, step.want)
		}
	}
	x.forget(k)
	if x.changed(e) || len(x.parts) != 0 || x.order.Len() != 0 {
		t.Error("a forgotten partition is still told")
	}
}

func TestPartitionsThatGotDataAreServedLast(t *testing.T) {
	x := newSessionCache(1).open(false, time.Now())
	keys := []partitionKey{{name: "a"}, {name: "b"}, {name: "c"}}
	for _, k := range keys {
		x.set(k, sessionPartition{name: k.name})
	}
	x.servedLast(keys[0])
	var order string
	for e := x.order.Front(); e != nil; e = e.Next() {
		order += e.Value.(*sessionPartition).name
	}
	if order != "bca" {
		t.Fatalf("order %q after a was served, want bca", order)
	}
}
