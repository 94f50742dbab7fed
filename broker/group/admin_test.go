package group

import (
	"testing"
	"time"

	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Rule 70.
func TestDescribeUnknownGroup(t *testing.T) {
	b := newBench(t)
	for v := int16(0); v <= 6; v++ {
		g := b.describe(v, "nope")
		code := int16(0)
		if v >= 6 {
			code = 69
		}
		if g.ErrorCode != code || g.State != "Dead" || g.AuthorizedOperations != -2147483648 {
			t.Fatalf("version %d: %+v", v, g)
		}
	}
}

func TestDescribeGroupInItsStates(t *testing.T) {
	b := newBench(t)
	id := b.newID("g")
	if g := b.describe(6, "g"); g.State != "Empty" || len(g.Members) != 0 {
		t.Fatalf("pending: %+v", g)
	}
	f := b.joinAsync(joinRequest("g", id))
	if g := b.describe(6, "g"); g.State != "PreparingRebalance" || len(g.Members) != 1 {
		t.Fatalf("preparing: %+v", g)
	}
	b.advance(3 * time.Second)
	generation := f.get().Generation
	if g := b.describe(6, "g"); g.State != "CompletingRebalance" || g.Protocol != "" || g.ProtocolType != "consumer" || len(g.Members[0].ProtocolMetadata) != 0 {
		t.Fatalf("completing: %+v", g)
	}
	b.syncAll("g", []string{id}, generation)
	g := b.describe(6, "g")
	if g.State != "Stable" || g.Protocol != "range" {
		t.Fatalf("stable: %+v", g)
	}
	m := g.Members[0]
	if m.ClientHost != "/127.0.0.1" || m.ClientID != "c" || string(m.MemberAssignment) != "for "+id || string(m.ProtocolMetadata) != string(consumerMetadata("t1")) {
		t.Fatalf("member: %+v", m)
	}
	b.leave("g", named(id))
	if g := b.describe(6, "g"); g.State != "Empty" || g.Protocol != "" || g.ProtocolType != "consumer" {
		t.Fatalf("empty: %+v", g)
	}
}

func TestListGroupsFilters(t *testing.T) {
	b := newBench(t)
	b.stable("live", 1)
	b.commit(commitRequest("simple", "", -1, "t1", 0, 1))
	cases := []struct {
		name          string
		states, types []string
		want          []string
	}{
		{"all", nil, nil, []string{"live", "simple"}},
		{"by state", []string{"Stable"}, nil, []string{"live"}},
		{"state without regard to case", []string{"eMPTY"}, nil, []string{"simple"}},
		{"two states", []string{"empty", "stable"}, nil, []string{"live", "simple"}},
		{"unknown state", []string{"Bogus"}, nil, nil},
		{"by type", nil, []string{"Classic"}, []string{"live", "simple"}},
		{"other type", nil, []string{"consumer"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := kmsg.NewPtrListGroupsRequest()
			r.Version, r.StatesFilter, r.TypesFilter = 5, c.states, c.types
			got := b.s.ListGroups(b.client(), r)
			if got.ErrorCode != 0 || len(got.Groups) != len(c.want) {
				t.Fatalf("got %+v", got)
			}
			for i, g := range got.Groups {
				if g.Group != c.want[i] || g.GroupType != "classic" {
					t.Fatalf("got %+v", g)
				}
			}
		})
	}
}

func TestDeleteGroups(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("live", 1)
	b.commit(commitRequest("live", ids[0], generation, "t1", 0, 1))
	b.commit(commitRequest("simple", "", -1, "t1", 0, 1))
	got := b.deleteGroups("nope", "live", "simple", "", "nope")
	if len(got) != 4 {
		t.Fatalf("a group named twice is answered once: %+v", got)
	}
	for i, want := range []int16{69, 68, 0, 69} {
		wantCode(t, got[i].Group, got[i].ErrorCode, want)
	}
	b.leave("live", named(ids[0]))
	wantCode(t, "empty group", b.deleteGroups("live")[0].ErrorCode, 0)
	b.restart()
	if st := b.s.Stats(); st.Groups[Empty] != 0 || st.Offsets != 0 || b.state("live") != "Dead" {
		t.Fatalf("back after a restart: %+v", st)
	}
}

func TestDeleteGroupsTakesCommitsOnTheirWayAlong(t *testing.T) {
	b := newBench(t)
	b.commit(commitRequest("g", "", -1, "t1", 0, 1))
	b.disk.hold = true
	f := b.commitAsync(commitRequest("g", "", -1, "t1", 1, 2))
	r := kmsg.NewPtrDeleteGroupsRequest()
	r.Groups = []string{"g"}
	d := &future[*kmsg.DeleteGroupsResponse]{t: t, what: "DeleteGroups"}
	b.s.DeleteGroups(b.client(), r, d.set)
	wantCode(t, "commit into a group being deleted", b.commit(commitRequest("g", "", -1, "t1", 2, 3)), 15)
	wantCode(t, "join of a group being deleted", b.join(joinRequest("g", "")).ErrorCode, 15)
	b.disk.hold = false
	b.settle()
	f.get()
	wantCode(t, "delete", d.get().Groups[0].ErrorCode, 0)
	b.restart()
	if n := b.s.Stats().Offsets; n != 0 {
		t.Fatalf("%d offsets are back", n)
	}
}

func TestDeleteGroupThatFailsLeavesItAsItWas(t *testing.T) {
	b := newBench(t)
	b.commit(commitRequest("g", "", -1, "t1", 0, 1))
	b.disk.fail = errDisk
	wantCode(t, "delete", b.deleteGroups("g")[0].ErrorCode, 16)
	b.disk.fail = nil
	wantCode(t, "commit", b.commit(commitRequest("g", "", -1, "t1", 0, 2)), 0)
}

func TestFindCoordinator(t *testing.T) {
	d := newDisk()
	s := New(Options{Topics: d, Config: DefaultConfig(), NodeID: 7})
	client := server.Client{Listener: &server.Listener{AdvertisedHost: "broker.example", AdvertisedPort: 9093}}
	find := func(version int16, keyType int8, keys ...string) *kmsg.FindCoordinatorResponse {
		r := kmsg.NewPtrFindCoordinatorRequest()
		r.Version, r.CoordinatorType = version, keyType
		if version >= 4 {
			r.CoordinatorKeys = keys
		} else {
			r.CoordinatorKey = keys[0]
		}
		return s.FindCoordinator(client, r)
	}
	first := find(3, 0, "g")
	if first.ErrorCode != 15 || first.NodeID != -1 || first.Port != -1 {
		t.Fatalf("before there is an offsets topic: %+v", first)
	}
	for s.shards.Load() == nil { // it is created in the background
		time.Sleep(time.Millisecond)
	}
	want := map[string]string{"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}
	d.mu.Lock()
	for k, v := range want {
		if d.created[k] != v {
			t.Errorf("%s=%s, want %s", k, d.created[k], v)
		}
	}
	d.mu.Unlock()
	if got := find(2, 0, ""); got.ErrorCode != 0 || got.NodeID != 7 || got.Host != "broker.example" || got.Port != 9093 {
		t.Fatalf("version 2: %+v", got)
	}
	got := find(4, 0, "a", "", "a").Coordinators
	if len(got) != 3 || got[0].NodeID != 7 || got[2].Key != "a" || got[1].ErrorCode != 0 {
		t.Fatalf("version 4: %+v", got)
	}
	wantCode(t, "transactions", find(6, 1, "t").Coordinators[0].ErrorCode, 15)
	wantCode(t, "share groups", find(6, 2, "g").Coordinators[0].ErrorCode, 42)
	wantCode(t, "unknown type", find(6, 9, "g").Coordinators[0].ErrorCode, 42)
	if n := len(find(6, 0).Coordinators); n != 0 {
		t.Fatalf("%d coordinators for no key", n)
	}
	s.Close()
	s.Close()
}

// Rule 83, for groups.
func TestAuthorizedOperationsOnlyWhenAsked(t *testing.T) {
	b := newBench(t)
	b.stable("g", 1)
	r := kmsg.NewPtrDescribeGroupsRequest()
	r.Version, r.Groups = 6, []string{"g", "g", "nope"}
	for _, g := range b.s.DescribeGroups(b.client(), r).Groups {
		if g.AuthorizedOperations != -2147483648 {
			t.Fatalf("not asked for: %d", g.AuthorizedOperations)
		}
	}
	r.IncludeAuthorizedOperations = true
	got := b.s.DescribeGroups(b.client(), r).Groups
	if len(got) != 3 || got[0].AuthorizedOperations != 3400 || got[1].AuthorizedOperations != 3400 || got[2].AuthorizedOperations != -2147483648 {
		t.Fatalf("asked for: %+v", got)
	}
}
