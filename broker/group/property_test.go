package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// world is clients of one group doing what clients do, in any order, and what each
// of them has been told.
type world struct {
	*bench
	clients []*simClient
	// owner is who was given each assignment: generation, then partition.
	owner map[int32]map[string]string
	// leaders is the member id that was told to lead a generation.
	leaders    map[int32]string
	newest     int32           // the highest generation anybody has been told of
	answered   map[int32]int64 // highest commit answered without error, by partition
	sent       map[int32]int64 // highest commit sent
	assignment int
}

// simClient is one client as a client library sees itself.
type simClient struct {
	name       string
	conn       uint64
	instance   *string
	id         string
	generation int32
	leads      bool
	members    []kmsg.JoinGroupResponseMember
	joined     bool // has a generation, no assignment yet
	assigned   bool
	join       *future[*kmsg.JoinGroupResponse]
	sync       *future[*kmsg.SyncGroupResponse]
}

func (c *simClient) reset() {
	c.id, c.generation, c.joined, c.assigned, c.leads = "", -1, false, false, false
}

func (w *world) pump(t *rapid.T) {
	w.settle()
	for _, c := range w.clients {
		if c.join != nil && c.join.done() {
			r := c.join.get()
			c.join = nil
			w.joinAnswered(t, c, r)
		}
		if c.sync != nil && c.sync.done() {
			r := c.sync.get()
			c.sync = nil
			w.syncAnswered(t, c, r)
		}
	}
}

func (w *world) joinAnswered(t *rapid.T, c *simClient, r *kmsg.JoinGroupResponse) {
	c.joined, c.assigned = false, false
	switch r.ErrorCode {
	case 0:
	case 79:
		c.id = r.MemberID
		return
	case 25, 82:
		c.reset()
		return
	default:
		return
	}
	if r.Generation < c.generation && r.MemberID == c.id {
		t.Fatalf("member %s went from generation %d to %d", c.id, c.generation, r.Generation)
	}
	w.newest = max(w.newest, r.Generation)
	c.id, c.generation, c.joined = r.MemberID, r.Generation, true
	c.leads, c.members = r.LeaderID == r.MemberID && !r.SkipAssignment, r.Members
	if c.leads {
		// A static leader that came back leads under its new id.
		if before, ok := w.leaders[r.Generation]; ok && before != c.name {
			t.Fatalf("%s and %s lead generation %d", before, c.name, r.Generation)
		}
		w.leaders[r.Generation] = c.name
	}
}

func (w *world) syncAnswered(t *rapid.T, c *simClient, r *kmsg.SyncGroupResponse) {
	switch r.ErrorCode {
	case 0:
	case 25, 82, 22:
		c.reset()
		return
	default:
		c.joined = false
		return
	}
	c.joined, c.assigned = false, true
	a := string(r.MemberAssignment)
	if a == "" {
		return
	}
	g := w.owner[c.generation]
	if g == nil {
		g = map[string]string{}
		w.owner[c.generation] = g
	}
	if before, ok := g[a]; ok && before != c.name {
		t.Fatalf("generation %d: partition %s belongs to %s and %s", c.generation, a, before, c.name)
	}
	g[a] = c.name
}

func (w *world) doJoin(c *simClient) {
	if c.join != nil || c.sync != nil {
		return
	}
	r := joinRequest("g", c.id)
	r.InstanceID = c.instance
	w.conn = c.conn
	c.join = w.joinAsync(r)
}

func (w *world) doSync(c *simClient) {
	if !c.joined || c.sync != nil || c.join != nil {
		return
	}
	assignments := map[string]string{}
	if c.leads {
		for i, m := range c.members {
			w.assignment++
			assignments[m.MemberID] = fmt.Sprintf("partition %d of plan %d", i, w.assignment)
		}
	}
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version = 3
	r.Group, r.MemberID, r.Generation, r.InstanceID = "g", c.id, c.generation, c.instance
	for id, a := range assignments {
		r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: []byte(a)})
	}
	w.conn = c.conn
	c.sync = w.syncRequest(r)
}

func (w *world) doHeartbeat(c *simClient) {
	if c.id == "" || c.generation < 0 {
		return
	}
	switch w.staticHeartbeat("g", c.id, c.instance, c.generation) {
	case 25, 22, 82:
		c.reset()
	case 27:
		c.joined, c.assigned = false, false
	}
}

func (w *world) doCommit(t *rapid.T, c *simClient) {
	if !c.assigned {
		return
	}
	p := rapid.Int32Range(0, 2).Draw(t, "partition")
	w.sent[p]++
	offset := w.sent[p]
	r := commitRequest("g", c.id, c.generation, "t1", p, offset)
	r.InstanceID = c.instance
	w.s.OffsetCommit(w.client(), r, func(r *kmsg.OffsetCommitResponse) {
		switch r.Topics[0].Partitions[0].ErrorCode {
		case 0:
			w.answered[p] = max(w.answered[p], offset)
		}
	})
}

func (w *world) check(t *rapid.T) {
	for p, want := range w.answered {
		got := w.committed("g", "t1", p)
		if got < want {
			t.Fatalf("partition %d: committed offset %d, %d had been answered", p, got, want)
		}
		if got > w.sent[p] {
			t.Fatalf("partition %d: committed offset %d was never sent", p, got)
		}
	}
	for _, sh := range w.s.all() {
		for _, g := range sh.groups {
			checkGroup(t, g)
			if g.generation < w.newest {
				t.Fatalf("group is at generation %d, members have been told of %d", g.generation, w.newest)
			}
		}
	}
}

// checkGroup holds a group to its invariants.
func checkGroup(t *rapid.T, g *group) {
	awaiting, offsets := 0, 0
	supported := map[string]int{}
	for _, m := range g.members {
		if m.join != nil {
			awaiting++
		}
		for _, p := range m.protocols {
			supported[p.name]++
		}
		if m.instance != nil && g.static[*m.instance] != m.id {
			t.Fatalf("static member %s is not known by its instance", m.id)
		}
		if !m.session.armed && (m.isNew || m.join == nil && m.sync == nil) {
			t.Fatalf("member %s has no session timer and waits for nothing", m.id)
		}
	}
	for _, x := range g.offsets {
		offsets += len(x)
	}
	switch {
	case awaiting != g.awaiting:
		t.Fatalf("awaiting is %d, %d wait", g.awaiting, awaiting)
	case fmt.Sprint(supported) != fmt.Sprint(g.supported):
		t.Fatalf("supported is %v, not %v", g.supported, supported)
	case len(g.members) > 0 && g.members[g.leader] == nil:
		t.Fatalf("leader %s is no member", g.leader)
	case len(g.members) == 0 && (g.state == Stable || g.state == CompletingRebalance):
		t.Fatalf("%s without members", g.state)
	case len(g.members) > 0 && g.state == Empty:
		t.Fatalf("Empty with %d members", len(g.members))
	case g.state == PreparingRebalance && !g.joinTimer.armed:
		t.Fatal("PreparingRebalance without a timer")
	case offsets > g.sh.offsets:
		t.Fatalf("shard counts %d offsets, a group has %d", g.sh.offsets, offsets)
	}
}

// Whatever clients, disk and clock do: a partition has one owner in a generation,
// generations and committed offsets never go back, also not over crashes.
func TestGroupProperties(t *testing.T) {
	made := 0 // assignments, so that the test knows that it tests
	t.Cleanup(func() {
		if !t.Failed() && made == 0 {
			t.Error("no group ever became stable")
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{bench: newBench(t), owner: map[int32]map[string]string{}, leaders: map[int32]string{},
			answered: map[int32]int64{}, sent: map[int32]int64{}}
		for i := range 4 {
			c := &simClient{name: fmt.Sprint("client ", i), conn: uint64(i + 1), generation: -1}
			if i < 2 {
				instance := fmt.Sprint("i", i)
				c.instance = &instance
			}
			w.clients = append(w.clients, c)
		}
		client := func(t *rapid.T) *simClient { return w.clients[rapid.IntRange(0, 3).Draw(t, "client")] }
		rt.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) { w.doJoin(client(t)); w.pump(t) },
			"join all": func(t *rapid.T) {
				for range 2 {
					for _, c := range w.clients {
						w.doJoin(c)
					}
					w.pump(t)
				}
			},
			"cycle": func(t *rapid.T) { // clients that want to work, in a quiet world
				w.disk.hold = false
				for range 3 {
					for _, c := range w.clients {
						if !c.assigned {
							w.doJoin(c)
						}
					}
					w.advance(3 * time.Second)
					w.pump(t)
					for _, c := range w.clients {
						w.doSync(c)
					}
					w.pump(t)
					for _, c := range w.clients {
						w.doHeartbeat(c)
					}
				}
				for _, c := range w.clients {
					w.doCommit(t, c)
				}
			},
			"silence": func(t *rapid.T) { // all but one are heard of no more
				c := client(t)
				for range 3 {
					w.advance(4 * time.Second)
					w.doHeartbeat(c)
					w.doJoin(c)
					w.pump(t)
				}
			},
			"admin": func(t *rapid.T) {
				w.disk.hold = false
				w.settle()
				w.s.expireOffsets()
				w.pump(t)
				if w.state("g") == "Dead" { // empty and without offsets: the next group is another one
					w.newest = 0
					clear(w.owner)
					clear(w.leaders)
				}
			},
			"sync all": func(t *rapid.T) {
				for _, c := range w.clients {
					w.doSync(c)
				}
				w.pump(t)
			},
			"sync":      func(t *rapid.T) { w.doSync(client(t)); w.pump(t) },
			"heartbeat": func(t *rapid.T) { w.doHeartbeat(client(t)) },
			"commit":    func(t *rapid.T) { w.doCommit(t, client(t)) },
			"new process": func(t *rapid.T) { // forgets its id; the old one's connection is gone
				c := client(t)
				c.join, c.sync = nil, nil
				c.reset()
			},
			"leave": func(t *rapid.T) {
				c := client(t)
				if c.id != "" && c.join == nil && c.sync == nil {
					w.s.LeaveGroup(w.client(), &kmsg.LeaveGroupRequest{Version: 5, Group: "g",
						Members: []kmsg.LeaveGroupRequestMember{named(c.id)}}, func(*kmsg.LeaveGroupResponse) {})
					c.reset()
				}
			},
			"time": func(t *rapid.T) {
				w.advance(time.Duration(rapid.IntRange(1, 9000).Draw(t, "ms")) * time.Millisecond)
				w.pump(t)
			},
			"disk holds":   func(t *rapid.T) { w.disk.hold = true },
			"disk goes on": func(t *rapid.T) { w.disk.hold = false; w.pump(t) },
			"disk fails once": func(t *rapid.T) {
				w.disk.hold = false
				w.pump(t)
				w.disk.fail = errDisk
				w.doCommit(t, client(t))
				w.doJoin(client(t))
				w.pump(t)
				w.disk.fail = nil
			},
			"connection lost": func(t *rapid.T) {
				c := client(t)
				w.s.Disconnected(c.conn)
				c.join, c.sync = nil, nil
			},
			"crash": func(t *rapid.T) {
				if rapid.IntRange(0, 2).Draw(t, "crash") != 0 {
					return
				}
				w.restart()
				for _, c := range w.clients {
					c.join, c.sync = nil, nil // connections are gone
				}
			},
			"": w.check,
		})
		made += len(w.owner)
	})
}
