package group

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Rules 65 and A46.
func TestCommitMetadataComesBackAndIsBounded(t *testing.T) {
	b := newBench(t)
	with := func(metadata *string) *kmsg.OffsetCommitRequest {
		r := commitRequest("g", "", -1, "t1", 0, 7)
		r.Topics[0].Partitions[0].Metadata = metadata
		return r
	}
	fits, tooLong, huge := strings.Repeat("ä", 4096), strings.Repeat("ä", 4097), strings.Repeat("x", 1<<20)
	pair := strings.Repeat("😀", 2049) // two UTF-16 units each
	wantCode(t, "4096 characters", b.commit(with(&fits)), 0)
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Version = 5
	fetch.Group = "g"
	got := b.s.OffsetFetch(b.client(), fetch).Topics[0].Partitions[0]
	if *got.Metadata != fits || got.Offset != 7 || got.LeaderEpoch != 5 {
		t.Fatalf("got offset %d epoch %d and %d bytes", got.Offset, got.LeaderEpoch, len(*got.Metadata))
	}
	wantCode(t, "4097 characters", b.commit(with(&tooLong)), 12)
	wantCode(t, "4098 UTF-16 units", b.commit(with(&pair)), 12)
	wantCode(t, "1 MiB", b.commit(with(&huge)), 12)
	wantCode(t, "null", b.commit(with(nil)), 0)
}

func TestRefusedCommitLeavesNoGroup(t *testing.T) {
	b := newBench(t)
	tooLong := strings.Repeat("x", 4097)
	r := commitRequest("g", "", -1, "t1", 0, 7)
	r.Topics[0].Partitions[0].Metadata = &tooLong
	wantCode(t, "commit", b.commit(r), 12)
	b.disk.fail = errDisk
	wantCode(t, "commit on a broken disk", b.commit(commitRequest("g", "", -1, "t1", 0, 7)), 16)
	if n := b.s.Stats().Groups[Empty]; n != 0 {
		t.Fatalf("%d groups", n)
	}
}

// Rule 66 and the codes around it.
func TestWhoMayCommit(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("live", 1)
	v8 := func(r *kmsg.OffsetCommitRequest) *kmsg.OffsetCommitRequest { r.Version = 8; return r }
	cases := []struct {
		name string
		req  *kmsg.OffsetCommitRequest
		code int16
	}{
		{"unknown group, no member", commitRequest("new", "", -1, "t1", 0, 1), 0},
		{"unknown group, member without generation", commitRequest("new2", "x", -1, "t1", 0, 1), 0},
		{"unknown group, generation, v8", v8(commitRequest("new3", "x", 3, "t1", 0, 1)), 22},
		{"unknown group, generation, v9", commitRequest("new3", "x", 3, "t1", 0, 1), 69},
		{"the group without a name", commitRequest("", "", -1, "t1", 0, 1), 0},
		{"live group, no member", commitRequest("live", "", -1, "t1", 0, 1), 25},
		{"live group, member without generation", commitRequest("live", ids[0], -1, "t1", 0, 1), 22},
		{"live group, stranger", commitRequest("live", "x", generation, "t1", 0, 1), 25},
		{"live group, old generation", commitRequest("live", ids[0], generation-1, "t1", 0, 1), 22},
		{"live group, member", commitRequest("live", ids[0], generation, "t1", 0, 1), 0},
		{"unknown topic", commitRequest("new", "", -1, "t9", 0, 1), 3},
		{"unknown partition", commitRequest("new", "", -1, "t1", 4, 1), 3},
		{"negative partition", commitRequest("new", "", -1, "t1", -1, 1), 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { wantCode(t, "commit", b.commit(c.req), c.code) })
	}
}

// A29.
func TestEmptyCommitSucceedsAndMakesNoGroup(t *testing.T) {
	b := newBench(t)
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.Generation = 9, "g", -1
	if got := b.commitAsync(r).get(); len(got.Topics) != 0 {
		t.Fatalf("response %+v", got)
	}
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = "t1"
	r.Topics = append(r.Topics, topic)
	if got := b.commitAsync(r).get(); len(got.Topics) != 0 {
		t.Fatalf("response %+v", got)
	}
	if n := b.s.Stats().Groups[Empty]; n != 0 {
		t.Fatalf("%d groups", n)
	}
}

// A21: a commit past the end of the log is the client's business; it comes back as it is.
func TestCommitPastTheLogEndIsKept(t *testing.T) {
	b := newBench(t)
	wantCode(t, "commit", b.commit(commitRequest("g", "", -1, "t1", 0, 1<<40)), 0)
	if got := b.committed("g", "t1", 0); got != 1<<40 {
		t.Fatalf("offset %d", got)
	}
}

func TestCommitIsAnsweredAndVisibleOnlyWhenWritten(t *testing.T) {
	b := newBench(t)
	b.commit(commitRequest("g", "", -1, "t1", 0, 1))
	b.disk.hold = true
	f := b.commitAsync(commitRequest("g", "", -1, "t1", 0, 2))
	if f.done() || b.committed("g", "t1", 0) != 1 {
		t.Fatal("visible before it is written")
	}
	b.disk.hold = false
	b.settle()
	f.get()
	if got := b.committed("g", "t1", 0); got != 2 {
		t.Fatalf("offset %d", got)
	}
}

func TestCommitsOfOneTurnAreOneAppendAndKeepTheirOrder(t *testing.T) {
	b := newBench(t, func(c *Config) { c.OffsetsTopicPartitions = 1 })
	b.disk.hold = true
	var fs []*future[*kmsg.OffsetCommitResponse]
	for i := range int64(100) {
		fs = append(fs, b.commitAsync(commitRequest("g", "", -1, "t1", 0, i)))
	}
	b.disk.hold = false
	b.settle()
	for _, f := range fs {
		f.get()
	}
	if n := len(b.disk.partitions[0].batches); n != 2 { // the first alone, the others behind it
		t.Fatalf("%d batches", n)
	}
	if got := b.committed("g", "t1", 0); got != 99 {
		t.Fatalf("offset %d", got)
	}
}

func TestCommitThatTakesTooLongIsAnswered(t *testing.T) {
	b := newBench(t)
	b.disk.hold = true
	f := b.commitAsync(commitRequest("g", "", -1, "t1", 0, 1))
	b.advance(2 * time.Second)
	late := b.commitAsync(commitRequest("g", "", -1, "t1", 0, 2))
	b.advance(3 * time.Second)
	wantCode(t, "commit", f.get().Topics[0].Partitions[0].ErrorCode, 15)
	if late.done() {
		t.Fatal("answered before its time")
	}
	b.disk.hold = false
	b.settle()
	wantCode(t, "commit in time", late.get().Topics[0].Partitions[0].ErrorCode, 0)
}

func TestAppendErrorsAsClientsSeeThem(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int16
	}{
		{errDisk, 16}, {kerr.KafkaStorageError, 16}, {kerr.NotLeaderForPartition, 16},
		{kerr.NotEnoughReplicas, 15}, {kerr.RequestTimedOut, 15}, {kerr.UnknownTopicOrPartition, 15},
		{kerr.MessageTooLarge, -1},
	} {
		b := newBench(t)
		b.disk.fail = c.err
		wantCode(t, c.err.Error(), b.commit(commitRequest("g", "", -1, "t1", 0, 1)), c.code)
		if got := b.committed("g", "t1", 0); got != -1 {
			t.Fatalf("failed commit is visible: %d", got)
		}
	}
}

func TestCommitByTopicID(t *testing.T) {
	b := newBench(t)
	by := func(id byte) *kmsg.OffsetCommitRequest {
		r := commitRequest("g", "", -1, "", 0, 4)
		r.Version = 10
		r.Topics[0].TopicID = [16]byte{id}
		return r
	}
	wantCode(t, "no id", b.commit(by(0)), 100)
	wantCode(t, "unknown id", b.commit(by(9)), 100)
	wantCode(t, "id of t1", b.commit(by(1)), 0)
	if got := b.committed("g", "t1", 0); got != 4 {
		t.Fatalf("offset %d", got)
	}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Version = 10
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = "g"
	fetch.Groups = append(fetch.Groups, g)
	all := b.s.OffsetFetch(b.client(), fetch).Groups[0].Topics
	if len(all) != 1 || all[0].TopicID != [16]byte{1} || all[0].Partitions[0].Offset != 4 {
		t.Fatalf("all: %+v", all)
	}
	for id, want := range map[byte]int16{1: 0, 9: 100} {
		topic := kmsg.NewOffsetFetchRequestGroupTopic()
		topic.TopicID, topic.Partitions = [16]byte{id}, []int32{0}
		fetch.Groups[0].Topics = []kmsg.OffsetFetchRequestGroupTopic{topic}
		wantCode(t, "fetch", b.s.OffsetFetch(b.client(), fetch).Groups[0].Topics[0].Partitions[0].ErrorCode, want)
	}
}

// Rule 68, in the forms of all versions.
func TestOffsetFetchOfWhatIsNotThere(t *testing.T) {
	b := newBench(t)
	for v := int16(1); v <= 7; v++ {
		r := kmsg.NewPtrOffsetFetchRequest()
		r.Version, r.Group = v, "nope"
		topic := kmsg.NewOffsetFetchRequestTopic()
		topic.Topic, topic.Partitions = "nope", []int32{0, 77}
		r.Topics = append(r.Topics, topic)
		got := b.s.OffsetFetch(b.client(), r)
		for _, p := range got.Topics[0].Partitions {
			if got.ErrorCode != 0 || p.ErrorCode != 0 || p.Offset != -1 || p.LeaderEpoch != -1 || *p.Metadata != "" {
				t.Fatalf("version %d: %+v", v, p)
			}
		}
		r.Topics = nil
		if got := b.s.OffsetFetch(b.client(), r); len(got.Topics) != 0 || got.ErrorCode != 0 {
			t.Fatalf("version %d, all topics: %+v", v, got)
		}
	}
}

func TestOffsetFetchOfSeveralGroups(t *testing.T) {
	b := newBench(t)
	b.commit(commitRequest("a", "", -1, "t1", 1, 1))
	b.commit(commitRequest("b", "", -1, "t2", 2, 2))
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version = 8
	for _, name := range []string{"a", "b", "c"} {
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = name
		r.Groups = append(r.Groups, g)
	}
	got := b.s.OffsetFetch(b.client(), r).Groups
	if len(got) != 3 || got[0].Topics[0].Topic != "t1" || got[1].Topics[0].Partitions[0].Offset != 2 || len(got[2].Topics) != 0 {
		t.Fatalf("got %+v", got)
	}
}

func TestOffsetDelete(t *testing.T) {
	b := newBench(t)
	del := func(group string, partitions ...int32) *kmsg.OffsetDeleteResponse {
		r := kmsg.NewPtrOffsetDeleteRequest()
		r.Group = group
		for _, name := range []string{"t1", "t2", "t9"} {
			topic := kmsg.NewOffsetDeleteRequestTopic()
			topic.Topic = name
			for _, p := range partitions {
				topic.Partitions = append(topic.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: p})
			}
			r.Topics = append(r.Topics, topic)
		}
		f := &future[*kmsg.OffsetDeleteResponse]{t: t, what: "OffsetDelete"}
		b.s.OffsetDelete(b.client(), r, f.set)
		b.settle()
		return f.get()
	}
	wantCode(t, "unknown group", del("nope", 0).ErrorCode, 69)
	wantCode(t, "no group name", del("", 0).ErrorCode, 24)
	ids, generation := b.stable("g", 1)
	b.commit(commitRequest("g", ids[0], generation, "t1", 0, 1))
	b.commit(commitRequest("g", ids[0], generation, "t2", 0, 1))
	r := del("g", 0, 99)
	for i, want := range [][]int16{{86, 3}, {0, 3}, {3, 3}} { // its members consume t1
		for j, code := range want {
			wantCode(t, r.Topics[i].Topic, r.Topics[i].Partitions[j].ErrorCode, code)
		}
	}
	if b.committed("g", "t1", 0) != 1 || b.committed("g", "t2", 0) != -1 {
		t.Fatal("wrong offset deleted")
	}
	b.leave("g", named(ids[0]))
	wantCode(t, "empty group", del("g", 0).Topics[0].Partitions[0].ErrorCode, 0)
	b.restart()
	if b.committed("g", "t1", 0) != -1 {
		t.Fatal("offset is back after a restart")
	}
}

func TestOffsetDeleteNeedsToKnowWhatMembersConsume(t *testing.T) {
	b := newBench(t)
	join := joinRequest("g", b.newID("g"))
	join.ProtocolType = "connect"
	b.join(join)
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = "g"
	f := &future[*kmsg.OffsetDeleteResponse]{t: t, what: "OffsetDelete"}
	b.s.OffsetDelete(b.client(), r, f.set)
	wantCode(t, "group of connect workers", f.get().ErrorCode, 68)
}

// Rule 17: offsets of a deleted topic are gone, and do not serve its successor.
func TestOffsetsOfADeletedTopicAreGone(t *testing.T) {
	b := newBench(t)
	b.commit(commitRequest("g", "", -1, "t1", 0, 5))
	b.commit(commitRequest("g", "", -1, "t2", 0, 6))
	b.disk.topics["t1"] = fakeTopic{[16]byte{11}, 4} // deleted and created again
	if got := b.committed("g", "t1", 0); got != -1 {
		t.Fatalf("offset %d of the old topic", got)
	}
	b.s.TopicDeleted("t1")
	b.settle()
	b.restart()
	if b.committed("g", "t1", 0) != -1 || b.committed("g", "t2", 0) != 6 {
		t.Fatal("wrong offsets after a restart")
	}
	if n := b.s.Stats().Offsets; n != 1 {
		t.Fatalf("%d offsets", n)
	}
}

func TestCommitOvertakenByTheDeletionOfItsTopicGoesToo(t *testing.T) {
	b := newBench(t)
	b.disk.hold = true
	f := b.commitAsync(commitRequest("g", "", -1, "t1", 0, 5))
	delete(b.disk.topics, "t1")
	b.s.TopicDeleted("t1")
	b.disk.hold = false
	b.settle()
	f.get()
	if n := b.s.Stats().Offsets; n != 0 {
		t.Fatalf("%d offsets", n)
	}
}
