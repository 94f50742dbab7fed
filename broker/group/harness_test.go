package group

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// bench is a Service on a disk, with a clock and threads that the test moves.
type bench struct {
	t     testing.TB
	s     *Service
	disk  *disk
	cfg   Config
	clock time.Time
	conn  uint64
}

func newBench(t testing.TB, change ...func(*Config)) *bench {
	cfg := DefaultConfig()
	cfg.OffsetsTopicPartitions = 3
	for _, f := range change {
		f(&cfg)
	}
	b := &bench{t: t, disk: newDisk(), cfg: cfg, clock: time.UnixMilli(1_700_000_000_000)}
	b.start()
	return b
}

// start makes a Service, without its goroutines, on the bench's disk.
func (b *bench) start() {
	b.s = New(Options{Topics: b.disk, Config: b.cfg, NodeID: 7,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: func() time.Time { return b.clock }})
	n, _ := b.disk.EnsureInternal(OffsetsTopic, b.cfg.OffsetsTopicPartitions, nil)
	b.s.open(n)
	b.settle()
}

// restart is a crash: what is not on the disk is lost.
func (b *bench) restart() {
	old := b.s
	b.disk.mu.Lock()
	for _, p := range b.disk.partitions {
		p.waiting = nil
	}
	b.disk.hold = false
	b.disk.mu.Unlock()
	for _, sh := range old.all() {
		sh.giveUp()
	}
	b.start()
}

// settle runs loads, timers and appends until nothing is left to do now.
func (b *bench) settle() {
	for range 1000 {
		b.s.fireTimers()
		busy := b.disk.complete()
		select {
		case f := <-b.s.loads:
			f()
			busy = true
		default:
		}
		if !busy {
			return
		}
	}
	b.t.Fatal("does not settle")
}

// advance lets time pass, firing each timer at its time.
func (b *bench) advance(d time.Duration) {
	end := b.clock.Add(d)
	for {
		b.settle()
		_, wait, any := b.s.timers.pop(-1)
		if !any {
			break
		}
		next := b.s.started.Add(wait - 1) // pop(-1): wait is counted from -1
		if next.After(end) {
			break
		}
		if next.After(b.clock) {
			b.clock = next
		}
		b.s.fireTimers()
	}
	b.clock = end
	b.settle()
}

func (b *bench) client() server.Client {
	return server.Client{ID: "c", Host: "127.0.0.1", ConnID: b.conn}
}

// future is a reply that may be yet to come.
type future[T any] struct {
	t    testing.TB
	got  []T
	what string
}

func (f *future[T]) set(r T) {
	f.got = append(f.got, r)
	if len(f.got) > 1 {
		f.t.Errorf("%s answered twice", f.what)
	}
}

func (f *future[T]) done() bool { return len(f.got) > 0 }

func (f *future[T]) get() T {
	f.t.Helper()
	if len(f.got) == 0 {
		f.t.Fatalf("%s is not answered", f.what)
	}
	return f.got[0]
}

func consumerMetadata(topics ...string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Topics = topics
	return m.AppendTo(nil)
}

func joinRequest(group, member string) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version = 9
	r.Group, r.MemberID, r.ProtocolType = group, member, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 10_000, 60_000
	for _, name := range []string{"range", "roundrobin"} {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = name, consumerMetadata("t1")
		r.Protocols = append(r.Protocols, p)
	}
	return r
}

func staticJoin(group, instance string) *kmsg.JoinGroupRequest {
	r := joinRequest(group, "")
	r.InstanceID = &instance
	return r
}

// joinAsync sends a JoinGroup and lets what can happen now happen.
func (b *bench) joinAsync(r *kmsg.JoinGroupRequest) *future[*kmsg.JoinGroupResponse] {
	f := &future[*kmsg.JoinGroupResponse]{t: b.t, what: "JoinGroup"}
	b.s.JoinGroup(b.client(), r, f.set)
	b.settle()
	return f
}

// join sends a JoinGroup that is answered within the initial rebalance delay.
func (b *bench) join(r *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse {
	b.t.Helper()
	f := b.joinAsync(r)
	if !f.done() {
		b.advance(ms(b.cfg.InitialRebalanceDelayMs))
	}
	return f.get()
}

// newID gets a member id, as the first JoinGroup of a client does.
func (b *bench) newID(group string) string {
	b.t.Helper()
	r := b.join(joinRequest(group, ""))
	wantCode(b.t, "first JoinGroup", r.ErrorCode, 79)
	return r.MemberID
}

func (b *bench) syncAsync(group, member string, generation int32, assignments map[string]string) *future[*kmsg.SyncGroupResponse] {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version = 5
	protocolType, name := "consumer", "range"
	r.Group, r.MemberID, r.Generation, r.ProtocolType, r.Protocol = group, member, generation, &protocolType, &name
	for id, a := range assignments {
		x := kmsg.NewSyncGroupRequestGroupAssignment()
		x.MemberID, x.MemberAssignment = id, []byte(a)
		r.GroupAssignment = append(r.GroupAssignment, x)
	}
	return b.syncRequest(r)
}

func (b *bench) syncRequest(r *kmsg.SyncGroupRequest) *future[*kmsg.SyncGroupResponse] {
	f := &future[*kmsg.SyncGroupResponse]{t: b.t, what: "SyncGroup"}
	b.s.SyncGroup(b.client(), r, f.set)
	b.settle()
	return f
}

// stable makes a stable group of n dynamic members, the leader first.
func (b *bench) stable(group string, n int) (ids []string, generation int32) {
	b.t.Helper()
	var joins []*future[*kmsg.JoinGroupResponse]
	for range n {
		id := b.newID(group)
		ids = append(ids, id)
	}
	for _, id := range ids {
		joins = append(joins, b.joinAsync(joinRequest(group, id)))
	}
	b.advance(2 * ms(b.cfg.InitialRebalanceDelayMs))
	for _, f := range joins {
		r := f.get()
		wantCode(b.t, "JoinGroup", r.ErrorCode, 0)
		generation = r.Generation
		if r.LeaderID != ids[0] {
			b.t.Fatalf("leader %s, want the first member", r.LeaderID)
		}
	}
	b.syncAll(group, ids, generation)
	return ids, generation
}

// syncAll syncs members, the leader first, giving each its own id as assignment.
func (b *bench) syncAll(group string, ids []string, generation int32) {
	b.t.Helper()
	assignments := map[string]string{}
	for _, id := range ids {
		assignments[id] = "for " + id
	}
	for _, id := range ids {
		r := b.syncAsync(group, id, generation, assignments).get()
		wantCode(b.t, "SyncGroup", r.ErrorCode, 0)
		if string(r.MemberAssignment) != "for "+id {
			b.t.Fatalf("assignment %q of %s", r.MemberAssignment, id)
		}
	}
}

func (b *bench) heartbeat(group, member string, generation int32) int16 {
	return b.staticHeartbeat(group, member, nil, generation)
}

func (b *bench) staticHeartbeat(group, member string, instance *string, generation int32) int16 {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version = 4
	r.Group, r.MemberID, r.Generation, r.InstanceID = group, member, generation, instance
	code := b.s.Heartbeat(b.client(), r).ErrorCode
	b.settle()
	return code
}

func commitRequest(group, member string, generation int32, topic string, partition int32, offset int64) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version = 9
	r.Group, r.MemberID, r.Generation = group, member, generation
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch = partition, offset, 5
	metadata := "m"
	p.Metadata = &metadata
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

func (b *bench) commitAsync(r *kmsg.OffsetCommitRequest) *future[*kmsg.OffsetCommitResponse] {
	f := &future[*kmsg.OffsetCommitResponse]{t: b.t, what: "OffsetCommit"}
	b.s.OffsetCommit(b.client(), r, f.set)
	b.settle()
	return f
}

// commit sends a commit and returns the code of its first partition.
func (b *bench) commit(r *kmsg.OffsetCommitRequest) int16 {
	b.t.Helper()
	return b.commitAsync(r).get().Topics[0].Partitions[0].ErrorCode
}

// committed is the offset OffsetFetch gives, -1 if none.
func (b *bench) committed(group, topic string, partition int32) int64 {
	b.t.Helper()
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version = 8
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.Partitions = topic, []int32{partition}
	g.Topics = append(g.Topics, t)
	r.Groups = append(r.Groups, g)
	resp := b.s.OffsetFetch(b.client(), r)
	wantCode(b.t, "OffsetFetch", resp.Groups[0].ErrorCode, 0)
	return resp.Groups[0].Topics[0].Partitions[0].Offset
}

func (b *bench) leave(group string, members ...kmsg.LeaveGroupRequestMember) *kmsg.LeaveGroupResponse {
	b.t.Helper()
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Version = 5
	r.Group, r.Members = group, members
	f := &future[*kmsg.LeaveGroupResponse]{t: b.t, what: "LeaveGroup"}
	b.s.LeaveGroup(b.client(), r, f.set)
	b.settle()
	return f.get()
}

func (b *bench) deleteGroups(names ...string) []kmsg.DeleteGroupsResponseGroup {
	b.t.Helper()
	r := kmsg.NewPtrDeleteGroupsRequest()
	r.Version = 3
	r.Groups = names
	f := &future[*kmsg.DeleteGroupsResponse]{t: b.t, what: "DeleteGroups"}
	b.s.DeleteGroups(b.client(), r, f.set)
	b.settle()
	return f.get().Groups
}

func (b *bench) describe(version int16, name string) kmsg.DescribeGroupsResponseGroup {
	r := kmsg.NewPtrDescribeGroupsRequest()
	r.Version = version
	r.Groups = []string{name}
	return b.s.DescribeGroups(b.client(), r).Groups[0]
}

// state is the group's, as DescribeGroups gives it.
func (b *bench) state(name string) string { return b.describe(5, name).State }

func wantCode(t testing.TB, what string, got, want int16) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: error code %d, want %d", what, got, want)
	}
}

func named(id string) kmsg.LeaveGroupRequestMember {
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = id
	return m
}

func instanceMember(id, instance string) kmsg.LeaveGroupRequestMember {
	m := named(id)
	m.InstanceID = &instance
	return m
}
