package group

import (
	"testing"
	"time"
)

func retention(minutes int32) func(*Config) {
	return func(c *Config) { c.OffsetsRetentionMinutes = minutes }
}

func (b *bench) expire() {
	b.s.expireOffsets()
	b.settle()
}

// A49: kept while the group has members, however long ago the commit was.
func TestOffsetsStayWhileTheGroupHasMembers(t *testing.T) {
	b := newBench(t, retention(2))
	ids, generation := b.stable("g", 1)
	b.commit(commitRequest("g", ids[0], generation, "t1", 0, 5))
	for range 120 {
		b.advance(5 * time.Second)
		wantCode(t, "heartbeat", b.heartbeat("g", ids[0], generation), 0)
		b.expire()
	}
	b.restart()
	b.expire()
	if got := b.committed("g", "t1", 0); got != 5 {
		t.Fatalf("offset %d", got)
	}
}

// Rule 69: retention counts from when the group turned empty, over restarts too.
func TestOffsetsExpireAfterTheGroupTurnedEmpty(t *testing.T) {
	b := newBench(t, retention(2))
	ids, generation := b.stable("g", 1)
	b.commit(commitRequest("g", ids[0], generation, "t1", 0, 5))
	for range 60 {
		b.advance(5 * time.Second)
		b.heartbeat("g", ids[0], generation)
	}
	b.leave("g", named(ids[0]))
	b.advance(119 * time.Second)
	b.expire()
	b.restart()
	if got := b.committed("g", "t1", 0); got != 5 {
		t.Fatalf("offset %d before its time", got)
	}
	b.advance(2 * time.Second)
	b.expire()
	if got := b.committed("g", "t1", 0); got != -1 {
		t.Fatalf("offset %d after its time", got)
	}
	if got := b.state("g"); got != "Dead" {
		t.Fatalf("group is %s", got)
	}
	b.restart()
	if st := b.s.Stats(); st.Offsets != 0 || st.Groups[Empty] != 0 {
		t.Fatalf("back after a restart: %+v", st)
	}
}

func TestOffsetsWithoutMembersExpireAfterTheirCommit(t *testing.T) {
	b := newBench(t, retention(2))
	b.commit(commitRequest("g", "", -1, "t1", 0, 5))
	b.advance(100 * time.Second)
	b.commit(commitRequest("g", "", -1, "t1", 1, 6))
	b.advance(30 * time.Second)
	b.expire()
	if b.committed("g", "t1", 0) != -1 || b.committed("g", "t1", 1) != 6 {
		t.Fatal("wrong offsets expired")
	}
	b.advance(100 * time.Second)
	b.expire()
	if got := b.state("g"); got != "Dead" {
		t.Fatalf("group is %s", got)
	}
}

// A stable group of consumers loses the offsets of topics nobody consumes any more.
func TestOffsetsOfTopicsNoLongerConsumedExpire(t *testing.T) {
	b := newBench(t, retention(1))
	ids, generation := b.stable("g", 1) // consumes t1
	b.commit(commitRequest("g", ids[0], generation, "t1", 0, 5))
	b.commit(commitRequest("g", ids[0], generation, "t2", 0, 6))
	for range 13 {
		b.advance(5 * time.Second)
		b.heartbeat("g", ids[0], generation)
	}
	b.expire()
	if b.committed("g", "t1", 0) != 5 || b.committed("g", "t2", 0) != -1 {
		t.Fatal("wrong offsets expired")
	}
}

// Old clients may ask for a retention of their own.
func TestCommitWithItsOwnRetention(t *testing.T) {
	b := newBench(t, retention(1))
	r := commitRequest("g", "", -1, "t1", 0, 5)
	r.Version, r.RetentionTimeMillis = 4, 600_000
	b.commit(r)
	b.restart()
	b.advance(9 * time.Minute)
	b.expire()
	if got := b.committed("g", "t1", 0); got != 5 {
		t.Fatalf("offset %d", got)
	}
	b.advance(2 * time.Minute)
	b.expire()
	if got := b.committed("g", "t1", 0); got != -1 {
		t.Fatalf("offset %d", got)
	}
}

// A tombstone behind a commit on its way would take that commit away.
func TestExpiryDoesNotOvertakeACommit(t *testing.T) {
	b := newBench(t, retention(1))
	b.commit(commitRequest("g", "", -1, "t1", 0, 5))
	b.advance(2 * time.Minute)
	b.disk.hold = true
	f := b.commitAsync(commitRequest("g", "", -1, "t1", 0, 6))
	b.expire()
	b.disk.hold = false
	b.settle()
	f.get()
	b.restart()
	if got := b.committed("g", "t1", 0); got != 6 {
		t.Fatalf("offset %d", got)
	}
}
