package group

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// staticGroup makes a stable group of static members i0, i1 ...; the first leads.
func (b *bench) staticGroup(group string, instances ...string) (ids []string, generation int32) {
	b.t.Helper()
	var joins []*future[*kmsg.JoinGroupResponse]
	for _, i := range instances {
		joins = append(joins, b.joinAsync(staticJoin(group, i)))
	}
	b.advance(2 * ms(b.cfg.InitialRebalanceDelayMs))
	for i, f := range joins {
		r := f.get()
		wantCode(b.t, "static JoinGroup", r.ErrorCode, 0)
		if !strings.HasPrefix(r.MemberID, instances[i]+"-") {
			b.t.Fatalf("member id %s", r.MemberID)
		}
		ids, generation = append(ids, r.MemberID), r.Generation
	}
	b.syncAll(group, ids, generation)
	return ids, generation
}

// Rule 63: a new id, the old one fenced, no rebalance, the assignment as it was.
func TestStaticMemberComesBackWithoutRebalance(t *testing.T) {
	b := newBench(t)
	ids, generation := b.staticGroup("g", "i0", "i1")
	r := b.join(staticJoin("g", "i1"))
	if r.ErrorCode != 0 || r.Generation != generation || r.MemberID == ids[1] || len(r.Members) != 0 || r.SkipAssignment {
		t.Fatalf("response %+v", r)
	}
	i1 := "i1"
	wantCode(t, "old id", b.staticHeartbeat("g", ids[1], &i1, generation), 82)
	wantCode(t, "old id without instance", b.heartbeat("g", ids[1], generation), 25)
	wantCode(t, "new id", b.staticHeartbeat("g", r.MemberID, &i1, generation), 0)
	again := staticJoin("g", "i1")
	again.MemberID = ids[1]
	wantCode(t, "JoinGroup with old id", b.join(again).ErrorCode, 82)
	c := commitRequest("g", ids[1], generation, "t1", 0, 1)
	c.InstanceID = &i1
	wantCode(t, "commit with old id", b.commit(c), 82)
	s := b.syncAsync("g", r.MemberID, generation, nil).get()
	if string(s.MemberAssignment) != "for "+ids[1] || b.state("g") != "Stable" {
		t.Fatalf("assignment %q in state %s", s.MemberAssignment, b.state("g"))
	}
	leaves := b.leave("g", instanceMember(ids[1], "i1"))
	wantCode(t, "LeaveGroup with old id", leaves.Members[0].ErrorCode, 82)
}

func TestStaticLeaderComesBackAsLeader(t *testing.T) {
	b := newBench(t)
	ids, generation := b.staticGroup("g", "i0", "i1")
	r := b.join(staticJoin("g", "i0"))
	if r.LeaderID != r.MemberID || !r.SkipAssignment || len(r.Members) != 2 || r.Generation != generation {
		t.Fatalf("response %+v", r)
	}
	// A client that cannot skip the assignment is told of the old leader, so that
	// it does not think it is the leader.
	old := staticJoin("g", "i0")
	old.Version = 8
	r2 := b.join(old)
	if r2.LeaderID != r.MemberID || r2.SkipAssignment || len(r2.Members) != 0 {
		t.Fatalf("response %+v", r2)
	}
	// The leader's id has changed: a rebalance by it works, with all members.
	changed := staticJoin("g", "i0")
	changed.MemberID = r2.MemberID
	f := b.joinAsync(changed)
	follower := staticJoin("g", "i1")
	follower.MemberID = ids[1]
	b.join(follower)
	if r := f.get(); r.LeaderID != r2.MemberID || len(r.Members) != 2 || r.Generation != generation+1 {
		t.Fatalf("response %+v", r)
	}
}

// Rule 64: a static member keeps its place until its session is over.
func TestStaticMemberKeepsItsPlaceWhileAway(t *testing.T) {
	b := newBench(t)
	ids, generation := b.staticGroup("g", "i0", "i1")
	b.s.Disconnected(b.conn)
	b.advance(9 * time.Second)
	if r := b.leave("g", instanceMember("", "i0")); r.Members[0].ErrorCode != 0 {
		t.Fatalf("leave by instance: %+v", r)
	}
	rejoin := staticJoin("g", "i1")
	rejoin.MemberID = ids[1]
	r := b.join(rejoin)
	if r.ErrorCode != 0 || r.Generation != generation+1 || len(r.Members) != 1 {
		t.Fatalf("response %+v", r)
	}
	b.advance(11 * time.Second)
	if got := b.state("g"); got != "Empty" {
		t.Fatalf("state %s after the session", got)
	}
}

// A static member that is away takes part in a rebalance by its old subscription.
func TestRebalanceKeepsAbsentStaticMembers(t *testing.T) {
	b := newBench(t)
	long := staticJoin("g", "away")
	long.SessionTimeoutMillis, long.RebalanceTimeoutMillis = 600_000, 20_000
	away := b.joinAsync(long)
	r := joinRequest("g", b.newID("g"))
	r.RebalanceTimeoutMillis, r.SessionTimeoutMillis = 20_000, 600_000
	here := b.joinAsync(r)
	b.advance(6 * time.Second)
	ids := []string{away.get().MemberID, here.get().MemberID}
	b.syncAll("g", ids, 1)
	changed := joinRequest("g", ids[1])
	changed.RebalanceTimeoutMillis, changed.SessionTimeoutMillis = 20_000, 600_000
	changed.Protocols[0].Metadata = consumerMetadata("t2")
	f := b.joinAsync(changed)
	b.advance(21 * time.Second)
	got := f.get()
	if got.Generation != 2 || got.LeaderID != ids[1] || len(got.Members) != 2 {
		t.Fatalf("response %+v", got)
	}
	b.syncAsync("g", ids[1], 2, map[string]string{ids[0]: "x", ids[1]: "y"}).get()
	b.advance(60 * time.Second)
	if n := len(b.describe(6, "g").Members); n != 2 {
		t.Fatalf("%d members: the one away must keep its place for its session", n)
	}
}

// A50: two clients with one instance id, in every state: exactly one goes on.
func TestSecondClientWithTheSameInstanceFencesTheFirst(t *testing.T) {
	t.Run("while members are collected", func(t *testing.T) {
		b := newBench(t)
		first := b.joinAsync(staticJoin("g", "i"))
		second := b.joinAsync(staticJoin("g", "i"))
		wantCode(t, "first", first.get().ErrorCode, 82)
		b.advance(3 * time.Second)
		if r := second.get(); r.ErrorCode != 0 || len(r.Members) != 1 {
			t.Fatalf("response %+v", r)
		}
	})
	t.Run("while the assignment is awaited", func(t *testing.T) {
		b := newBench(t)
		ids, _ := b.staticGroup("g", "i0", "i1")
		lead := staticJoin("g", "i0")
		lead.MemberID = ids[0]
		f := b.joinAsync(lead)
		follow := staticJoin("g", "i1")
		follow.MemberID = ids[1]
		r := b.join(follow)
		f.get()
		waiting := b.syncAsync("g", ids[1], r.Generation, nil)
		second := b.joinAsync(staticJoin("g", "i1"))
		wantCode(t, "first client's SyncGroup", waiting.get().ErrorCode, 82)
		wantCode(t, "leader's SyncGroup", b.syncAsync("g", ids[0], r.Generation, map[string]string{ids[1]: "x"}).get().ErrorCode, 27)
		b.join(lead)
		r2 := second.get()
		if r2.ErrorCode != 0 || r2.Generation != r.Generation+1 {
			t.Fatalf("response %+v", r2)
		}
		b.syncAll("g", []string{ids[0], r2.MemberID}, r2.Generation)
	})
}

func TestStaticReplacementThatCannotBeWrittenIsTakenBack(t *testing.T) {
	b := newBench(t)
	ids, generation := b.staticGroup("g", "i0", "i1")
	b.disk.fail = errDisk
	wantCode(t, "JoinGroup", b.join(staticJoin("g", "i0")).ErrorCode, 16)
	b.disk.fail = nil
	i0 := "i0"
	wantCode(t, "the id in the log", b.staticHeartbeat("g", ids[0], &i0, generation), 0)
	if got := b.describe(6, "g"); len(got.Members) != 2 || got.State != "Stable" {
		t.Fatalf("group %+v", got)
	}
}

func TestStaticMemberWithOtherProtocolsRebalances(t *testing.T) {
	b := newBench(t)
	ids, generation := b.staticGroup("g", "i0", "i1")
	other := staticJoin("g", "i1")
	other.Protocols = other.Protocols[1:] // no range any more
	f := b.joinAsync(other)
	if f.done() || b.state("g") != "PreparingRebalance" {
		t.Fatalf("state %s", b.state("g"))
	}
	lead := staticJoin("g", "i0")
	lead.MemberID = ids[0]
	b.join(lead)
	if r := f.get(); r.Generation != generation+1 || *r.Protocol != "roundrobin" {
		t.Fatalf("response %+v", r)
	}
}
