package oracle

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The classic group protocol: members come, are given work, stay, go.

var groupRules = []Rule{
	endpoint, messages, memberIDs, leaderIDs, topicsByName, topicIDs, Keyed("*.Groups", "Group"),
	Keyed("a rejoins.Members", "ProtocolMetadata"), // members have no order
}

// group is a probe with a group of its own, whose coordinator is ready.
func group(name string, play func(r *Run, g *groupStory)) Probe {
	return Probe{Name: "group-" + name, Rules: groupRules, Play: func(r *Run) {
		g := &groupStory{r: r, id: r.Name("g")}
		r.findCoordinator(g.id)
		play(r, g)
	}}
}

// groupStory is one group as its members see it.
type groupStory struct {
	r  *Run
	id string
}

// member is one member: a connection, its id and where it stands.
type member struct {
	g          *groupStory
	c          *Conn
	id         string
	instance   *string
	generation int32
	protocols  []kmsg.JoinGroupRequestProtocol
	session    int32
}

// newMember is a member on a connection of its own that has not joined.
func (g *groupStory) newMember() *member { return &member{g: g, c: g.r.Dial(), session: 30000} }

// request is the JoinGroup request of m as it stands.
func (m *member) request() *kmsg.JoinGroupRequest {
	req := join(m.g.id, m.id)
	req.InstanceID, req.SessionTimeoutMillis = m.instance, m.session
	if m.protocols != nil {
		req.Protocols = m.protocols
	}
	return req
}

// join enters the group: first for an id, if the version wants that, then for a
// generation. It waits for the group.
func (m *member) join(label string) *kmsg.JoinGroupResponse {
	if m.id == "" && m.instance == nil {
		m.id = askOn[*kmsg.JoinGroupResponse](m.g.r, m.c, label+".id", 9, m.request()).MemberID
	}
	resp := askOn[*kmsg.JoinGroupResponse](m.g.r, m.c, label, 9, m.request())
	m.id, m.generation = resp.MemberID, resp.Generation
	return resp
}

// start sends a join and leaves the answer for later.
func (m *member) start(label string) (finish func()) {
	if m.id == "" && m.instance == nil {
		m.id = askOn[*kmsg.JoinGroupResponse](m.g.r, m.c, label+".id", 9, m.request()).MemberID
	}
	req := m.request()
	req.SetVersion(9)
	frame, correlation := m.c.encode(req)
	m.c.Write(frame)
	return func() {
		resp := receive[*kmsg.JoinGroupResponse](m.g.r, m.c, label, req, correlation)
		m.g.r.see(label, resp)
		m.id, m.generation = resp.MemberID, resp.Generation
	}
}

// sync asks for this member's work, and hands out that of others if any.
func (m *member) sync(label string, work map[string]string) {
	m.g.r.askAnyOn(m.c, label, 5, m.syncRequest(work))
}

func (m *member) syncRequest(work map[string]string) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation, req.InstanceID = m.g.id, m.id, m.generation, m.instance
	req.ProtocolType, req.Protocol = ptr("consumer"), ptr("range")
	for id, w := range work {
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: []byte(w)})
	}
	return req
}

func (m *member) beat(label string) {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation, req.InstanceID = m.g.id, m.id, m.generation, m.instance
	m.g.r.askAnyOn(m.c, label, 4, req)
}

func (m *member) leave(label string) {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = m.g.id
	lm := kmsg.NewLeaveGroupRequestMember()
	lm.MemberID, lm.InstanceID, lm.Reason = m.id, m.instance, ptr("done")
	req.Members = append(req.Members, lm)
	m.g.r.askAnyOn(m.c, label, 5, req)
}

// commit stores an offset as member m.
func (m *member) commit(label, topic string, offset int64) {
	req := commit(m.g.id, topic, 0, offset)
	req.MemberID, req.Generation, req.InstanceID = m.id, m.generation, m.instance
	m.g.r.askAnyOn(m.c, label, 9, req)
}

// stable makes a group of one member with work.
func (g *groupStory) stable() *member {
	m := g.newMember()
	m.join("join")
	m.sync("sync", map[string]string{m.id: "work"})
	return m
}

func (g *groupStory) describe(label string) {
	for _, v := range []int16{5, 6} {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{g.id}
		g.r.askAny(fmt.Sprintf("%s v%d", label, v), v, req)
	}
}

func (g *groupStory) delete(label string) {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{g.id}
	g.r.askAny(label, 2, req)
}

func groupProbes() []Probe {
	probes := []Probe{
		group("one-member-whole-life", func(r *Run, g *groupStory) {
			g.describe("before")
			m := g.newMember()
			m.join("join")
			g.describe("joined")
			m.beat("beat before sync")
			m.sync("sync", map[string]string{m.id: "work"})
			m.beat("beat")
			g.describe("stable")
			g.delete("delete while live")
			m.leave("leave")
			g.describe("empty")
			g.delete("delete")
			g.describe("deleted")
			g.delete("delete again")
		}),
		group("join-versions", func(r *Run, g *groupStory) {
			for v := range int16(10) {
				h := &groupStory{r: r, id: fmt.Sprint(g.id, v)}
				m := h.newMember()
				resp := askOn[*kmsg.JoinGroupResponse](r, m.c, fmt.Sprint("v", v), v, m.request())
				m.id = resp.MemberID
				if resp.ErrorCode != 0 {
					resp = askOn[*kmsg.JoinGroupResponse](r, m.c, fmt.Sprintf("v%d again", v), v, m.request())
				}
				m.generation = resp.Generation
				m.sync(fmt.Sprintf("v%d sync", v), map[string]string{m.id: "w"})
			}
		}),
		group("join-refused", func(r *Run, g *groupStory) {
			try := func(label string, change func(req *kmsg.JoinGroupRequest)) {
				req := join(g.id+" "+label, "") // a group of its own: some are let in
				change(req)
				r.askAny(label, 9, req)
			}
			try("bogus id", func(req *kmsg.JoinGroupRequest) { req.MemberID = "bogus" })
			try("no protocols", func(req *kmsg.JoinGroupRequest) { req.Protocols = nil })
			try("no protocol type", func(req *kmsg.JoinGroupRequest) { req.ProtocolType = "" })
			try("session too short", func(req *kmsg.JoinGroupRequest) { req.SessionTimeoutMillis = 5999 })
			try("session too long", func(req *kmsg.JoinGroupRequest) { req.SessionTimeoutMillis = 1800001 })
			try("session negative", func(req *kmsg.JoinGroupRequest) { req.SessionTimeoutMillis = -1 })
			try("empty group", func(req *kmsg.JoinGroupRequest) { req.Group = "" })
			try("empty instance", func(req *kmsg.JoinGroupRequest) { req.InstanceID = ptr("") })
			try("bad instance", func(req *kmsg.JoinGroupRequest) { req.InstanceID = ptr("a b") })
		}),
		group("beats-refused", func(r *Run, g *groupStory) {
			m := g.stable()
			other := *m
			other.generation++
			other.beat("later generation")
			other.generation = m.generation - 1
			other.beat("earlier generation")
			other.generation = -1
			other.beat("generation -1")
			other = *m
			other.id = "bogus"
			other.beat("bogus member")
			other = *m
			other.g = &groupStory{r: r, id: r.Name("none")}
			other.beat("unknown group")
			other.g = &groupStory{r: r, id: ""}
			other.beat("empty group")
			other.id, other.generation = "", -1
			other.beat("empty group and member")
		}),
		group("sync-refused", func(r *Run, g *groupStory) {
			m := g.stable()
			try := func(label string, change func(req *kmsg.SyncGroupRequest)) {
				req := m.syncRequest(nil)
				change(req)
				r.askAny(label, 5, req)
			}
			try("again", func(*kmsg.SyncGroupRequest) {})
			try("later generation", func(req *kmsg.SyncGroupRequest) { req.Generation++ })
			try("bogus member", func(req *kmsg.SyncGroupRequest) { req.MemberID = "bogus" })
			try("other type", func(req *kmsg.SyncGroupRequest) { req.ProtocolType = ptr("connect") })
			try("other protocol", func(req *kmsg.SyncGroupRequest) { req.Protocol = ptr("sticky") })
			try("null type and protocol", func(req *kmsg.SyncGroupRequest) { req.ProtocolType, req.Protocol = nil, nil })
			try("unknown group", func(req *kmsg.SyncGroupRequest) { req.Group = r.Name("none") })
			try("empty group", func(req *kmsg.SyncGroupRequest) { req.Group = "" })
		}),
		group("leave-refused", func(r *Run, g *groupStory) {
			m := g.stable()
			leave := func(label string, version int16, change func(req *kmsg.LeaveGroupRequest)) {
				req := kmsg.NewPtrLeaveGroupRequest()
				req.Group, req.MemberID = g.id, "bogus"
				req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: "bogus"}}
				change(req)
				r.askAny(label, version, req)
			}
			for v := range int16(6) {
				leave(fmt.Sprint("bogus v", v), v, func(*kmsg.LeaveGroupRequest) {})
			}
			leave("unknown group v2", 2, func(req *kmsg.LeaveGroupRequest) { req.Group = r.Name("none") })
			leave("unknown group v5", 5, func(req *kmsg.LeaveGroupRequest) { req.Group = r.Name("none") })
			leave("empty group", 5, func(req *kmsg.LeaveGroupRequest) { req.Group = "" })
			leave("nobody", 5, func(req *kmsg.LeaveGroupRequest) { req.Members = nil })
			leave("bogus instance", 5, func(req *kmsg.LeaveGroupRequest) { req.Members[0].InstanceID = ptr("x") })
			leave("one of two", 5, func(req *kmsg.LeaveGroupRequest) {
				req.Members = append(req.Members, kmsg.LeaveGroupRequestMember{MemberID: m.id})
			})
			g.describe("then")
		}),
	}
	return append(append(probes, rebalanceProbes()...), staticProbes()...)
}

func rebalanceProbes() []Probe {
	return []Probe{
		group("second-member-rebalances", func(r *Run, g *groupStory) {
			a := g.stable()
			b := g.newMember()
			finish := b.start("b joins")
			g.awaitState("PreparingRebalance")
			a.beat("a is told")
			a.commit("a commits meanwhile", r.Name("t"), 3)
			a.join("a rejoins")
			finish()
			a.sync("a syncs", map[string]string{a.id: "a's", b.id: "b's"})
			b.sync("b syncs", nil)
			g.describeAnyOrder("two")
			a.leave("a leaves")
			b.beat("b is told")
			b.join("b rejoins")
			b.sync("b alone", map[string]string{b.id: "all"})
		}),
		group("follower-waits-for-leader", func(r *Run, g *groupStory) {
			a := g.stable()
			b := g.newMember()
			finish := b.start("b joins")
			g.awaitState("PreparingRebalance")
			a.join("a rejoins")
			finish()
			req := b.syncRequest(nil)
			req.SetVersion(5)
			frame, correlation := b.c.encode(req)
			b.c.Write(frame)
			a.beat("a beats, group waits for it")
			a.sync("a syncs", map[string]string{a.id: "a's", b.id: "b's"})
			r.see("b has its part", receive[kmsg.Response](r, b.c, "b has its part", req, correlation))
		}),
		group("leave-completes-the-join", func(r *Run, g *groupStory) {
			a := g.stable()
			b := g.newMember()
			finish := b.start("b joins")
			g.awaitState("PreparingRebalance")
			a.leave("a leaves meanwhile")
			finish()
			b.sync("b alone", map[string]string{b.id: "all"})
		}),
		group("other-protocol-refused", func(r *Run, g *groupStory) {
			g.stable()
			b := g.newMember()
			b.protocols = []kmsg.JoinGroupRequestProtocol{{Name: "sticky", Metadata: []byte("x")}}
			r.askAnyOn(b.c, "no protocol in common", 9, b.request())
			req := b.request()
			req.ProtocolType = "connect"
			r.askAnyOn(b.c, "another type", 9, req)
		}),
		group("protocol-vote", func(r *Run, g *groupStory) {
			a := g.newMember()
			a.protocols = []kmsg.JoinGroupRequestProtocol{{Name: "sticky", Metadata: []byte("s")}, {Name: "range", Metadata: []byte("r")}}
			a.join("a")
			b := g.newMember()
			b.protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte("r2")}}
			finish := b.start("b joins")
			g.awaitState("PreparingRebalance")
			a.join("a rejoins")
			finish()
		}),
		group("follower-rejoins-unchanged", func(r *Run, g *groupStory) {
			m := g.stable()
			m.protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte("new topics")}}
			m.join("leader rejoins")
			m.beat("beat in the new generation")
			m.sync("sync", map[string]string{m.id: "w2"})
		}),
		group("non-consumer-type", func(r *Run, g *groupStory) {
			req := join(g.id, "")
			req.ProtocolType = "connect"
			req.Protocols[0].Name = "sessioned"
			r.askAny("v3", 3, req)
			g.describe("then")
		}),
		group("session-expires", func(r *Run, g *groupStory) {
			m := g.newMember()
			m.session = 6000
			m.join("join")
			m.sync("sync", map[string]string{m.id: "w"})
			m.c.Close()
			g.awaitState("Empty")
			other := *m
			other.c = r.Conn()
			other.beat("beat of the expired")
			g.describe("then")
		}),
		{Name: "group-list", Rules: groupRules, Play: func(r *Run) {
			g := &groupStory{r: r, id: r.Name("g")}
			r.findCoordinator(g.id)
			m := g.stable()
			empty := r.Name("empty")
			topic, _ := r.topic("t", 1)
			send[*kmsg.OffsetCommitResponse](r, r.Conn(), "commit", 8, commit(empty, topic, 0, 1))
			list := func(label string, v int16, states, types []string) {
				req := kmsg.NewPtrListGroupsRequest()
				req.StatesFilter, req.TypesFilter = states, types
				resp := send[*kmsg.ListGroupsResponse](r, r.Conn(), label, v, req)
				r.Note(label+" error", errorName(resp.ErrorCode))
				for _, lg := range resp.Groups {
					if lg.Group == g.id || lg.Group == empty {
						r.Note(label+" "+lg.Group, fmt.Sprintf("%q %q %q", lg.ProtocolType, lg.GroupState, lg.GroupType))
					}
				}
			}
			for v := range int16(6) {
				list(fmt.Sprint("v", v), v, nil, nil)
			}
			list("stable", 5, []string{"Stable"}, nil)
			list("lower case", 5, []string{"stable"}, nil)
			list("no such state", 5, []string{"Sleepy"}, nil)
			list("classic", 5, nil, []string{"classic"})
			list("Classic", 5, nil, []string{"Classic"})
			list("consumer", 5, nil, []string{"consumer"})
			list("no such type", 5, nil, []string{"nice"})
			list("both", 5, []string{"Empty", "Stable"}, []string{"classic"})
			m.leave("leave")
		}},
		{Name: "group-find-coordinator", Rules: append([]Rule{Keyed("*.Coordinators", "Key")}, groupRules...), Play: func(r *Run) {
			g := r.Name("g")
			r.findCoordinator(g)
			for v := range int16(7) {
				r.askAny(fmt.Sprint("v", v), v, coordinatorOf(v, g))
			}
			r.askAny("v2 empty", 2, coordinatorOf(2, ""))
			req := coordinatorOf(4, g)
			req.CoordinatorKeys = []string{g, g + "2", ""}
			r.askAny("three", 4, req)
			req.CoordinatorKeys = nil
			r.askAny("none", 4, req)
			req = coordinatorOf(4, g)
			req.CoordinatorType = 9
			r.askAny("type 9", 4, req)
			req = coordinatorOf(2, g)
			req.CoordinatorType = 9
			r.askAny("type 9 v2", 2, req)
		}},
		{Name: "group-describe-unknown", Rules: groupRules, Play: func(r *Run) {
			r.findCoordinator(r.Name("g"))
			for v := range int16(7) {
				req := kmsg.NewPtrDescribeGroupsRequest()
				req.Groups = []string{r.Name("none"), ""}
				req.IncludeAuthorizedOperations = true
				r.askAny(fmt.Sprint("v", v), v, req)
			}
		}},
	}
}

// awaitState waits until the coordinator tells that the group is in state.
func (g *groupStory) awaitState(state string) {
	g.r.until("state "+state, func() bool {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{g.id}
		return send[*kmsg.DescribeGroupsResponse](g.r, g.r.Conn(), "state", 5, req).Groups[0].State == state
	})
}

// describeAnyOrder tells state and number of members: members have no order.
func (g *groupStory) describeAnyOrder(label string) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{g.id}
	d := send[*kmsg.DescribeGroupsResponse](g.r, g.r.Conn(), label, 5, req).Groups[0]
	g.r.Note(label, fmt.Sprintf("%s, %q, %q, %d members", d.State, d.ProtocolType, d.Protocol, len(d.Members)))
}

func staticProbes() []Probe {
	static := func(g *groupStory, instance string) *member {
		m := g.newMember()
		m.instance = ptr(g.r.Name(instance))
		return m
	}
	return []Probe{
		group("static-rejoin-is-a-new-id", func(r *Run, g *groupStory) {
			m := static(g, "i")
			m.join("join")
			m.sync("sync", map[string]string{m.id: "work"})
			old := *m
			again := static(g, "i")
			again.join("same instance")
			r.Note("id is new", again.id != old.id)
			old.beat("old id is fenced")
			old.sync("old sync is fenced", nil)
			old.commit("old commit is fenced", r.Name("t"), 1)
			old.leave("old leave")
			again.beat("new id lives")
			again.sync("new id has the work", nil)
			g.describe("then")
		}),
		group("static-known-id-of-another", func(r *Run, g *groupStory) {
			m := static(g, "i")
			m.join("join")
			m.sync("sync", map[string]string{m.id: "work"})
			wrong := *m
			wrong.instance = ptr(r.Name("j"))
			wrong.beat("instance unknown")
			wrong.id = "bogus"
			wrong.instance = m.instance
			wrong.beat("member unknown")
			r.askAny("join with bogus id", 9, wrong.request())
		}),
		group("static-stays-when-gone", func(r *Run, g *groupStory) {
			m := static(g, "i")
			m.join("join")
			m.sync("sync", map[string]string{m.id: "work"})
			m.c.Close()
			g.describe("still there")
		}),
		group("static-leave-by-instance", func(r *Run, g *groupStory) {
			m := static(g, "i")
			m.join("join")
			m.sync("sync", map[string]string{m.id: "work"})
			m.id = ""
			m.leave("by instance alone")
			m.leave("again")
			g.describe("then")
		}),
		group("static-wrong-id-leaves", func(r *Run, g *groupStory) {
			m := static(g, "i")
			m.join("join")
			m.sync("sync", map[string]string{m.id: "work"})
			m.id = "bogus"
			m.leave("bogus")
			g.describe("then")
		}),
		group("static-below-v5", func(r *Run, g *groupStory) {
			m := static(g, "i")
			r.askAnyOn(m.c, "v4 has no instance", 4, m.request())
		}),
	}
}
