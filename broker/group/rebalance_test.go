package group

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Rule 61.
func TestHeartbeatCodes(t *testing.T) {
	b := newBench(t)
	wantCode(t, "no group name", b.heartbeat("", "x", 0), 24)
	wantCode(t, "unknown group", b.heartbeat("nope", "x", 0), 25)
	r := b.join(joinRequest("g", b.newID("g")))
	id, generation := r.MemberID, r.Generation
	wantCode(t, "before SyncGroup", b.heartbeat("g", id, generation), 0)
	wantCode(t, "wrong generation", b.heartbeat("g", id, generation+1), 22)
	wantCode(t, "unknown member", b.heartbeat("g", "x", generation), 25)
	b.syncAll("g", []string{id}, generation)
	wantCode(t, "stable", b.heartbeat("g", id, generation), 0)
	b.joinAsync(joinRequest("g", b.newID("g")))
	wantCode(t, "during a rebalance", b.heartbeat("g", id, generation), 27)
}

func TestSyncGroupCodes(t *testing.T) {
	b := newBench(t)
	r := b.join(joinRequest("g", b.newID("g")))
	id, generation := r.MemberID, r.Generation
	sync := func(change func(*kmsg.SyncGroupRequest)) int16 {
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version = 5
		protocolType, name := "consumer", "range"
		req.Group, req.MemberID, req.Generation, req.ProtocolType, req.Protocol = "g", id, generation, &protocolType, &name
		change(req)
		return b.syncRequest(req).get().ErrorCode
	}
	other := "other"
	wantCode(t, "no group name", sync(func(r *kmsg.SyncGroupRequest) { r.Group = "" }), 24)
	wantCode(t, "unknown group", sync(func(r *kmsg.SyncGroupRequest) { r.Group = "nope" }), 25)
	wantCode(t, "unknown member", sync(func(r *kmsg.SyncGroupRequest) { r.MemberID = "x" }), 25)
	wantCode(t, "wrong generation", sync(func(r *kmsg.SyncGroupRequest) { r.Generation++ }), 22)
	wantCode(t, "no protocol in version 5", sync(func(r *kmsg.SyncGroupRequest) { r.Protocol = nil }), 23)
	wantCode(t, "other protocol", sync(func(r *kmsg.SyncGroupRequest) { r.Protocol = &other }), 23)
	wantCode(t, "other type", sync(func(r *kmsg.SyncGroupRequest) { r.ProtocolType = &other }), 23)
	wantCode(t, "commit before the assignment", b.commit(commitRequest("g", id, generation, "t1", 0, 1)), 27)
	wantCode(t, "good", sync(func(r *kmsg.SyncGroupRequest) {}), 0)
	wantCode(t, "again when stable", sync(func(r *kmsg.SyncGroupRequest) {}), 0)
	b.joinAsync(joinRequest("g", b.newID("g")))
	wantCode(t, "during a rebalance", sync(func(r *kmsg.SyncGroupRequest) {}), 27)
}

func TestFollowersWaitForTheLeadersAssignment(t *testing.T) {
	b := newBench(t)
	ids, _ := b.stable("g", 3)
	for _, id := range ids[1:] { // the leader joins last: its generation comes at once
		changed := joinRequest("g", id)
		changed.Protocols[0].Metadata = consumerMetadata("t2")
		b.joinAsync(changed)
	}
	generation := b.join(joinRequest("g", ids[0])).Generation
	f1 := b.syncAsync("g", ids[1], generation, nil)
	f2 := b.syncAsync("g", ids[1], generation, nil) // its client has lost patience
	wantCode(t, "superseded SyncGroup", f1.get().ErrorCode, 27)
	if f2.done() {
		t.Fatal("answered before there is an assignment")
	}
	leader := b.syncAsync("g", ids[0], generation, map[string]string{ids[0]: "a", ids[1]: "b", "stranger": "x"})
	if got := string(f2.get().MemberAssignment); got != "b" {
		t.Fatalf("follower got %q", got)
	}
	if got := string(leader.get().MemberAssignment); got != "a" {
		t.Fatalf("leader got %q", got)
	}
	// Left out by the leader: nothing, not an error.
	if r := b.syncAsync("g", ids[2], generation, nil).get(); r.ErrorCode != 0 || len(r.MemberAssignment) != 0 {
		t.Fatalf("response %+v", r)
	}
}

// Rule 62: the barrier is looked at again on every leave and expiry.
func TestMemberThatLeavesDuringRebalanceDoesNotHoldIt(t *testing.T) {
	for name, gone := range map[string]func(b *bench, id string){
		"leaves":  func(b *bench, id string) { b.leave("g", named(id)) },
		"expires": func(b *bench, id string) { b.advance(10 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			ids, generation := b.stable("g", 3)
			f := b.joinAsync(joinRequest("g", ids[0]))
			f2 := b.joinAsync(joinRequest("g", ids[1]))
			if f.done() || f2.done() {
				t.Fatal("did not wait for the third")
			}
			gone(b, ids[2])
			if r := f.get(); r.ErrorCode != 0 || r.Generation != generation+1 || len(r.Members) != 2 {
				t.Fatalf("response %+v", r)
			}
			f2.get()
		})
	}
}

func TestPendingMemberThatLeavesDuringRebalanceDoesNotHoldIt(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("g", 1)
	pending := b.newID("g")
	f := b.joinAsync(joinRequest("g", ids[0]))
	if f.done() {
		t.Fatal("did not wait for the pending member")
	}
	b.leave("g", named(pending))
	if r := f.get(); r.Generation != generation+1 {
		t.Fatalf("response %+v", r)
	}
}

func TestMemberThatDoesNotRejoinIsOutAfterTheRebalanceTimeout(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("g", 2)
	f := b.joinAsync(joinRequest("g", ids[0]))
	for range 11 { // alive, but it never joins
		b.advance(5 * time.Second)
		wantCode(t, "heartbeat", b.heartbeat("g", ids[1], generation), 27)
	}
	if f.done() {
		t.Fatal("did not wait")
	}
	b.advance(6 * time.Second)
	if r := f.get(); r.Generation != generation+1 || len(r.Members) != 1 {
		t.Fatalf("response %+v", r)
	}
	wantCode(t, "heartbeat of the one left out", b.heartbeat("g", ids[1], generation), 25)
}

func TestLeaderChangesWhenItDoesNotRejoin(t *testing.T) {
	b := newBench(t)
	ids, _ := b.stable("g", 2)
	changed := joinRequest("g", ids[1])
	changed.Protocols[0].Metadata = consumerMetadata("t2")
	f := b.joinAsync(changed)
	b.advance(10 * time.Second)
	if r := f.get(); r.LeaderID != ids[1] || len(r.Members) != 1 {
		t.Fatalf("response %+v", r)
	}
}

func TestMemberThatDoesNotSyncIsOutAfterTheRebalanceTimeout(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("g", 2)
	f := b.joinAsync(joinRequest("g", ids[0]))
	b.join(joinRequest("g", ids[1]))
	f.get()
	generation++
	b.syncAsync("g", ids[0], generation, map[string]string{ids[0]: "a"})
	for range 13 {
		b.advance(5 * time.Second)
		b.heartbeat("g", ids[0], generation)
		b.heartbeat("g", ids[1], generation)
	}
	wantCode(t, "the one that never synced", b.heartbeat("g", ids[1], generation), 25)
	wantCode(t, "the other", b.heartbeat("g", ids[0], generation), 27)
}

func TestInitialDelayIsExtendedForThoseThatCome(t *testing.T) {
	b := newBench(t)
	var joins []*future[*kmsg.JoinGroupResponse]
	for range 3 {
		joins = append(joins, b.joinAsync(joinRequest("g", b.newID("g"))))
		b.advance(2 * time.Second)
	}
	if joins[0].done() {
		t.Fatal("delay was not extended")
	}
	b.advance(6 * time.Second)
	for _, f := range joins {
		if r := f.get(); r.Generation != 1 {
			t.Fatalf("response %+v", r)
		}
	}
}

func TestSessionTimeoutEmptiesTheGroup(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("g", 2)
	b.advance(9 * time.Second)
	wantCode(t, "heartbeat", b.heartbeat("g", ids[0], generation), 0)
	b.advance(2 * time.Second)
	wantCode(t, "silent member", b.heartbeat("g", ids[1], generation), 25)
	wantCode(t, "the other", b.heartbeat("g", ids[0], generation), 27)
	b.advance(10 * time.Second)
	if got := b.state("g"); got != "Empty" {
		t.Fatalf("state %s", got)
	}
}

func TestClockChangesDoNotExpireMembers(t *testing.T) {
	// time.Now carries a monotonic reading, which Sub uses; a Service must never
	// compare wall-clock times for a session.
	s := New(Options{Topics: newDisk(), Config: DefaultConfig()})
	before := s.mono()
	if after := s.mono(); after < before || after-before > time.Minute {
		t.Fatalf("clock went from %v to %v", before, after)
	}
}

func TestCommitKeepsTheSessionAlive(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("g", 1)
	for range 4 {
		b.advance(6 * time.Second)
		wantCode(t, "commit", b.commit(commitRequest("g", ids[0], generation, "t1", 0, 1)), 0)
	}
}

// A long rebalance does not expire those who wait for it, except new members,
// whose clients may have come again under another id.
func TestNewMemberThatWaitsTooLongIsDropped(t *testing.T) {
	b := newBench(t)
	slow := joinRequest("g", b.newID("g"))
	slow.RebalanceTimeoutMillis, slow.SessionTimeoutMillis = 1_000_000, 1_000_000
	r := b.join(slow)
	b.syncAll("g", []string{r.MemberID}, r.Generation)
	f := b.joinAsync(joinRequest("g", b.newID("g")))
	b.advance(newMemberJoinTimeout - time.Second)
	if f.done() {
		t.Fatalf("answered with %+v", f.get())
	}
	b.advance(2 * time.Second)
	wantCode(t, "JoinGroup", f.get().ErrorCode, 25)
}

func TestFailedGenerationIsTriedAgain(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("g", 1)
	b.disk.fail = errDisk
	wantCode(t, "JoinGroup on a broken disk", b.join(joinRequest("g", ids[0])).ErrorCode, 16)
	b.disk.fail = nil
	r := b.join(joinRequest("g", ids[0]))
	if r.ErrorCode != 0 || r.Generation <= generation {
		t.Fatalf("response %+v", r)
	}
	b.disk.fail = errDisk
	wantCode(t, "SyncGroup on a broken disk", b.syncAsync("g", ids[0], r.Generation, nil).get().ErrorCode, 16)
	b.disk.fail = nil
	r = b.join(joinRequest("g", ids[0]))
	wantCode(t, "JoinGroup", r.ErrorCode, 0)
	b.syncAll("g", ids, r.Generation)
}
