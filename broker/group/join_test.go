package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestJoinGroupRefusals(t *testing.T) {
	b := newBench(t)
	instance := "i"
	cases := []struct {
		name   string
		change func(*kmsg.JoinGroupRequest)
		code   int16
		member string
	}{
		{"no group", func(r *kmsg.JoinGroupRequest) { r.Group = "" }, 24, ""},
		{"session too short", func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 5999 }, 26, ""},
		{"session too long", func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 1800001 }, 26, ""},
		{"no protocols", func(r *kmsg.JoinGroupRequest) { r.Protocols = nil }, 23, ""},
		{"no protocol type", func(r *kmsg.JoinGroupRequest) { r.ProtocolType = "" }, 23, ""},
		{"unknown member of unknown group", func(r *kmsg.JoinGroupRequest) { r.MemberID = "bogus" }, 25, "bogus"},
		{"static with bogus id", func(r *kmsg.JoinGroupRequest) { r.MemberID, r.InstanceID = "bogus", &instance }, 25, "bogus"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := joinRequest("g", "")
			c.change(r)
			got := b.join(r)
			wantCode(t, "JoinGroup", got.ErrorCode, c.code)
			if got.MemberID != c.member || got.Generation != -1 || got.ProtocolType != nil {
				t.Fatalf("response %+v", got)
			}
		})
	}
	if n := b.s.Stats().Groups[Empty]; n != 0 {
		t.Fatalf("refused requests left %d groups", n)
	}
}

// Rule 60: a member id first, a member only when the client comes back with it.
func TestFirstJoinGroupGetsAnIDAndNoMember(t *testing.T) {
	b := newBench(t)
	id := b.newID("g")
	if st := b.s.Stats(); st.Members != 0 || st.Pending != 1 {
		t.Fatalf("stats %+v", st)
	}
	wantCode(t, "heartbeat of pending member", b.heartbeat("g", id, 0), 25)
	wantCode(t, "commit of pending member", b.commit(commitRequest("g", id, 0, "t1", 0, 1)), 25)
	r := b.join(joinRequest("g", id))
	wantCode(t, "second JoinGroup", r.ErrorCode, 0)
	if r.Generation != 1 || r.LeaderID != id || r.MemberID != id || *r.Protocol != "range" || *r.ProtocolType != "consumer" || len(r.Members) != 1 {
		t.Fatalf("response %+v", r)
	}
}

func TestOldClientsBecomeMembersAtOnce(t *testing.T) {
	b := newBench(t)
	for v := int16(0); v < 4; v++ {
		req := joinRequest(fmt.Sprint("g", v), "")
		req.Version = v
		r := b.join(req)
		wantCode(t, "JoinGroup", r.ErrorCode, 0)
		if r.MemberID == "" || r.Generation != 1 {
			t.Fatalf("version %d: response %+v", v, r)
		}
	}
}

func TestPendingMemberExpires(t *testing.T) {
	b := newBench(t)
	id := b.newID("g")
	b.advance(10 * time.Second)
	if st := b.s.Stats(); st.Pending != 0 || st.Groups[Empty] != 0 {
		t.Fatalf("left behind: %+v", st)
	}
	wantCode(t, "late JoinGroup", b.join(joinRequest("g", id)).ErrorCode, 25)
}

func TestPendingMembersAreBounded(t *testing.T) {
	b := newBench(t, func(c *Config) { c.OffsetsTopicPartitions = 1 })
	first := b.newID("g0")
	for i := range maxPendingMembers + 100 {
		b.newID(fmt.Sprint("g", i))
	}
	if n := b.s.Stats().Pending; n != maxPendingMembers {
		t.Fatalf("%d pending members, want %d", n, maxPendingMembers)
	}
	wantCode(t, "the oldest", b.join(joinRequest("g0", first)).ErrorCode, 25)
}

func TestGroupMaxSize(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxSize = 2 })
	ids, generation := b.stable("g", 2)
	wantCode(t, "one too many", b.join(joinRequest("g", "")).ErrorCode, 81)
	wantCode(t, "member of the full group", b.heartbeat("g", ids[0], generation), 0)

	// While members are collected, the last to come back does not fit.
	b2 := newBench(t, func(c *Config) { c.MaxSize = 2 })
	var last *future[*kmsg.JoinGroupResponse]
	for _, id := range []string{b2.newID("g"), b2.newID("g"), b2.newID("g")} {
		last = b2.joinAsync(joinRequest("g", id))
	}
	wantCode(t, "third", last.get().ErrorCode, 81)
	b2.advance(10 * time.Second)
	if n := len(b2.describe(6, "g").Members); n != 2 {
		t.Fatalf("%d members", n)
	}
}

func TestInconsistentProtocols(t *testing.T) {
	b := newBench(t)
	b.stable("g", 1)
	other := joinRequest("g", "")
	other.ProtocolType = "connect"
	wantCode(t, "other type", b.join(other).ErrorCode, 23)
	other = joinRequest("g", "")
	other.Protocols = other.Protocols[:1]
	other.Protocols[0].Name = "sticky"
	wantCode(t, "no common protocol", b.join(other).ErrorCode, 23)
}

func TestProtocolThatMostPreferIsChosen(t *testing.T) {
	b := newBench(t)
	var joins []*future[*kmsg.JoinGroupResponse]
	for i := range 3 {
		r := joinRequest("g", b.newID("g"))
		if i > 0 { // two of three prefer roundrobin
			r.Protocols[0], r.Protocols[1] = r.Protocols[1], r.Protocols[0]
		}
		joins = append(joins, b.joinAsync(r))
	}
	b.advance(10 * time.Second)
	if got := *joins[0].get().Protocol; got != "roundrobin" {
		t.Fatalf("chose %s", got)
	}
}

func TestRepeatedJoinOfAFollowerChangesNothing(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("g", 2)
	r := b.join(joinRequest("g", ids[1]))
	if r.ErrorCode != 0 || r.Generation != generation || len(r.Members) != 0 || b.state("g") != "Stable" {
		t.Fatalf("response %+v in state %s", r, b.state("g"))
	}
	// New metadata is a reason to rebalance, and so is the leader's coming again.
	changed := joinRequest("g", ids[1])
	changed.Protocols[0].Metadata = consumerMetadata("t1", "t2")
	f := b.joinAsync(changed)
	if f.done() || b.state("g") != "PreparingRebalance" {
		t.Fatalf("answered %v in state %s", f.done(), b.state("g"))
	}
	if r := b.join(joinRequest("g", ids[0])); r.Generation != generation+1 || f.get().Generation != generation+1 {
		t.Fatalf("response %+v", r)
	}
}

func TestJoinWhileItsFirstJoinWaitsAnswersBoth(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("g", 2)
	first := b.joinAsync(joinRequest("g", ids[0]))
	second := b.joinAsync(joinRequest("g", ids[0]))
	wantCode(t, "superseded JoinGroup", first.get().ErrorCode, 27)
	b.join(joinRequest("g", ids[1]))
	if r := second.get(); r.ErrorCode != 0 || r.Generation != generation+1 {
		t.Fatalf("response %+v", r)
	}
}
