package group

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"millrace/segment/batch"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Rule 72: while loading 14, except heartbeats; without the partition 16.
func TestCodesWhileLoadingAndWhenNotCoordinator(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("g", 1)
	codes := func() map[string]int16 {
		fetch := kmsg.NewPtrOffsetFetchRequest()
		fetch.Version = 8
		fetch.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g", MemberEpoch: -1}}
		fetch1 := kmsg.NewPtrOffsetFetchRequest()
		fetch1.Version, fetch1.Group = 1, "g"
		fetch1.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t1", Partitions: []int32{0}}}
		del := kmsg.NewPtrOffsetDeleteRequest()
		del.Group = "g"
		deleted := &future[*kmsg.OffsetDeleteResponse]{t: t, what: "OffsetDelete"}
		b.s.OffsetDelete(b.client(), del, deleted.set)
		groups := kmsg.NewPtrDeleteGroupsRequest()
		groups.Groups = []string{"g"}
		groupsDeleted := &future[*kmsg.DeleteGroupsResponse]{t: t, what: "DeleteGroups"}
		b.s.DeleteGroups(b.client(), groups, groupsDeleted.set)
		join := &future[*kmsg.JoinGroupResponse]{t: t, what: "JoinGroup"}
		b.s.JoinGroup(b.client(), joinRequest("g", ids[0]), join.set)
		commit := &future[*kmsg.OffsetCommitResponse]{t: t, what: "OffsetCommit"}
		b.s.OffsetCommit(b.client(), commitRequest("g", ids[0], generation, "t1", 0, 1), commit.set)
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Version, leave.Group = 5, "g"
		left := &future[*kmsg.LeaveGroupResponse]{t: t, what: "LeaveGroup"}
		b.s.LeaveGroup(b.client(), leave, left.set)
		sync := kmsg.NewPtrSyncGroupRequest()
		sync.Group = "g"
		synced := &future[*kmsg.SyncGroupResponse]{t: t, what: "SyncGroup"}
		b.s.SyncGroup(b.client(), sync, synced.set)
		beat := kmsg.NewPtrHeartbeatRequest()
		beat.Group, beat.MemberID, beat.Generation = "g", ids[0], generation
		return map[string]int16{
			"JoinGroup":      join.get().ErrorCode,
			"SyncGroup":      synced.get().ErrorCode,
			"LeaveGroup":     left.get().ErrorCode,
			"OffsetCommit":   commit.get().Topics[0].Partitions[0].ErrorCode,
			"OffsetFetch":    b.s.OffsetFetch(b.client(), fetch).Groups[0].ErrorCode,
			"OffsetFetch v1": b.s.OffsetFetch(b.client(), fetch1).Topics[0].Partitions[0].ErrorCode,
			"OffsetDelete":   deleted.get().ErrorCode,
			"DeleteGroups":   groupsDeleted.get().Groups[0].ErrorCode,
			"DescribeGroups": b.describe(5, "g").ErrorCode,
			"Heartbeat":      b.s.Heartbeat(b.client(), beat).ErrorCode,
		}
	}
	for _, sh := range b.s.all() {
		sh.giveUp()
	}
	for api, code := range codes() {
		wantCode(t, api+" to another broker", code, 16)
	}
	for i := range b.s.all() {
		b.s.Elected(int32(i))
	}
	for api, code := range codes() {
		if api == "Heartbeat" {
			wantCode(t, api+" while loading", code, 0)
			continue
		}
		wantCode(t, api+" while loading", code, 14)
	}
	list := kmsg.NewPtrListGroupsRequest()
	wantCode(t, "ListGroups while loading", b.s.ListGroups(b.client(), list).ErrorCode, 14)
	b.settle()
	wantCode(t, "Heartbeat after loading", b.heartbeat("g", ids[0], generation), 0)
}

func TestBrokerWithoutTheOffsetsTopicIsNoCoordinator(t *testing.T) {
	s := New(Options{Topics: newDisk(), Config: DefaultConfig()})
	f := &future[*kmsg.JoinGroupResponse]{t: t, what: "JoinGroup"}
	b := &bench{t: t, s: s}
	s.JoinGroup(b.client(), joinRequest("g", ""), f.set)
	wantCode(t, "JoinGroup", f.get().ErrorCode, 16)
}

func TestMembersSurviveARestart(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("g", 2)
	static, staticGeneration := b.staticGroup("s", "i0")
	b.commit(commitRequest("g", ids[0], generation, "t1", 0, 5))
	before := fmt.Sprint(b.describe(6, "g"))
	b.restart()
	if after := b.describe(6, "g"); len(after.Members) != 2 || fmt.Sprint(after.State, after.Protocol) != "Stablerange" {
		t.Fatalf("before %s, after %+v", before, after)
	}
	for _, id := range ids {
		wantCode(t, "heartbeat", b.heartbeat("g", id, generation), 0)
	}
	wantCode(t, "commit", b.commit(commitRequest("g", ids[1], generation, "t1", 0, 6)), 0)
	i0 := "i0"
	wantCode(t, "static heartbeat", b.staticHeartbeat("s", static[0], &i0, staticGeneration), 0)
	if r := b.join(staticJoin("s", "i0")); r.Generation != staticGeneration || !r.SkipAssignment {
		t.Fatalf("static member after a restart: %+v", r)
	}
	if s := b.syncAsync("g", ids[1], generation, nil).get(); string(s.MemberAssignment) != "for "+ids[1] {
		t.Fatalf("assignment %q", s.MemberAssignment)
	}
	b.advance(11 * time.Second)
	wantCode(t, "after a silent session", b.heartbeat("g", ids[0], generation), 25)
}

func TestReplacedStaticMemberStaysReplacedAfterARestart(t *testing.T) {
	b := newBench(t)
	ids, generation := b.staticGroup("g", "i0")
	r := b.join(staticJoin("g", "i0"))
	b.restart()
	i0 := "i0"
	wantCode(t, "old id", b.staticHeartbeat("g", ids[0], &i0, generation), 82)
	wantCode(t, "new id", b.staticHeartbeat("g", r.MemberID, &i0, generation), 0)
}

// A generation that members have heard of is not given to others after a crash.
func TestCrashBetweenJoinAndSyncDoesNotReuseTheGeneration(t *testing.T) {
	b := newBench(t)
	ids, _ := b.stable("g", 1)
	r := b.join(joinRequest("g", ids[0])) // generation 2, never synced
	b.restart()
	wantCode(t, "heartbeat", b.heartbeat("g", ids[0], r.Generation), 27)
	again := b.join(joinRequest("g", ids[0]))
	if again.ErrorCode != 0 || again.Generation != r.Generation+1 {
		t.Fatalf("response %+v", again)
	}
	b.syncAll("g", ids, again.Generation)
	b.leave("g", named(ids[0]))
	b.restart()
	next := b.join(joinRequest("g", b.newID("g")))
	if next.Generation <= again.Generation {
		t.Fatalf("generation went from %d to %d", again.Generation, next.Generation)
	}
}

// A47: a record larger than a batch, or any buffer.
func TestLargeGroupLoads(t *testing.T) {
	b := newBench(t)
	var topics []string
	for i := range 2000 {
		topics = append(topics, fmt.Sprintf("some-topic-with-a-long-name-%04d", i))
	}
	metadata := consumerMetadata(topics...)
	var joins []*future[*kmsg.JoinGroupResponse]
	for i := range 100 {
		r := staticJoin("g", fmt.Sprint("i", i))
		r.Protocols[0].Metadata, r.Protocols[1].Metadata = metadata, nil
		r.SessionTimeoutMillis = 600_000
		f := &future[*kmsg.JoinGroupResponse]{t: t, what: "JoinGroup"}
		b.s.JoinGroup(b.client(), r, f.set)
		joins = append(joins, f)
	}
	b.advance(10 * time.Second)
	assignments := map[string]string{}
	for _, f := range joins {
		assignments[f.get().MemberID] = string(bytes.Repeat([]byte{1}, 10_000))
	}
	leader := joins[0].get()
	b.syncAsync("g", leader.MemberID, leader.Generation, assignments).get()
	largest := 0
	for _, p := range b.disk.partitions {
		for _, x := range p.batches {
			largest = max(largest, x.Size())
		}
	}
	if largest < 5<<20 {
		t.Fatalf("largest batch %d bytes: the test does not test what it says", largest)
	}
	b.restart()
	if g := b.describe(6, "g"); g.State != "Stable" || len(g.Members) != 100 {
		t.Fatalf("state %s, %d members", g.State, len(g.Members))
	}
}

func TestFailedLoadIsTriedAgain(t *testing.T) {
	b := newBench(t)
	b.commit(commitRequest("g", "", -1, "t1", 0, 5))
	for _, p := range b.disk.partitions {
		p.readErr = errDisk
	}
	b.restart()
	wantCode(t, "DescribeGroups", b.describe(5, "g").ErrorCode, 16)
	for _, p := range b.disk.partitions {
		p.readErr = nil
	}
	b.advance(2 * time.Second)
	if got := b.committed("g", "t1", 0); got != 5 {
		t.Fatalf("offset %d", got)
	}
}

func TestGroupBeyondMaxSizeRebalancesAfterLoading(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("g", 3)
	b.cfg.MaxSize = 2
	b.restart()
	wantCode(t, "heartbeat", b.heartbeat("g", ids[0], generation), 27)
	f := b.joinAsync(joinRequest("g", ids[0]))
	b.joinAsync(joinRequest("g", ids[1]))
	wantCode(t, "the last to come back", b.join(joinRequest("g", ids[2])).ErrorCode, 81)
	if r := f.get(); len(r.Members) != 2 {
		t.Fatalf("response %+v", r)
	}
}

// Records of the newer group protocols in an adopted log are passed over.
func TestRecordsOfOtherKindsArePassedOver(t *testing.T) {
	b := newBench(t)
	b.commit(commitRequest("g", "", -1, "t1", 0, 5))
	w := batch.NewBuilder()
	w.Add(1, []byte{0, 3, 0, 1, 'g'}, []byte{0, 0, 1})
	w.Add(1, []byte{0, 20}, nil)
	x, err := w.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range b.disk.partitions {
		p.batches = append(p.batches, x)
	}
	b.restart()
	if got := b.committed("g", "t1", 0); got != 5 {
		t.Fatalf("offset %d", got)
	}
}

func TestResignationAnswersEverythingThatWaits(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("g", 2)
	join := b.joinAsync(joinRequest("g", ids[0]))
	b.disk.hold = true
	other := b.commitAsync(commitRequest("simple", "", -1, "t1", 0, 1))
	deleted := &future[*kmsg.DeleteGroupsResponse]{t: t, what: "DeleteGroups"}
	del := kmsg.NewPtrDeleteGroupsRequest()
	del.Groups = []string{"simple"}
	b.s.DeleteGroups(b.client(), del, deleted.set)
	for i := range b.s.all() {
		b.s.Resigned(int32(i))
	}
	wantCode(t, "JoinGroup", join.get().ErrorCode, 16)
	wantCode(t, "OffsetCommit", other.get().Topics[0].Partitions[0].ErrorCode, 16)
	wantCode(t, "DeleteGroups", deleted.get().Groups[0].ErrorCode, 16)
	b.disk.hold = false
	b.settle()
	for i := range b.s.all() {
		b.s.Elected(int32(i))
	}
	b.settle()
	wantCode(t, "Heartbeat", b.heartbeat("g", ids[1], generation), 0)
}

// A partition that is led without the Service having been told.
func TestFindCoordinatorTakesOverWhatIsLed(t *testing.T) {
	b := newBench(t)
	b.commit(commitRequest("g", "", -1, "t1", 0, 5))
	for _, sh := range b.s.all() {
		sh.giveUp()
	}
	r := kmsg.NewPtrFindCoordinatorRequest()
	r.CoordinatorKey = "g"
	wantCode(t, "FindCoordinator", b.s.FindCoordinator(b.client(), r).ErrorCode, 0)
	b.settle()
	if got := b.committed("g", "t1", 0); got != 5 {
		t.Fatalf("offset %d", got)
	}
}

func TestElectionDuringTheWaitAfterAFailedLoadLoadsOnce(t *testing.T) {
	b := newBench(t)
	b.commit(commitRequest("g", "", -1, "t1", 0, 5))
	for _, p := range b.disk.partitions {
		p.readErr = errDisk
	}
	b.restart()
	for i, p := range b.disk.partitions {
		p.readErr = nil
		b.s.Elected(i)
	}
	b.settle()
	epochs := make([]int, 0, 3)
	for _, sh := range b.s.all() {
		epochs = append(epochs, sh.epoch)
	}
	b.advance(10 * time.Second)
	for i, sh := range b.s.all() {
		if sh.epoch != epochs[i] || sh.state != active {
			t.Fatalf("partition %d was loaded again", i)
		}
	}
}
