package controller_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/meta"
	"millrace/net/server"
)

func (b *bench) delete(version int16, names ...string) []kmsg.DeleteTopicsResponseTopic {
	b.t.Helper()
	var topics []kmsg.DeleteTopicsRequestTopic
	for _, n := range names {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = &n
		topics = append(topics, t)
	}
	return b.deleteTopics(version, names, topics)
}

func (b *bench) deleteTopics(version int16, names []string, topics []kmsg.DeleteTopicsRequestTopic) []kmsg.DeleteTopicsResponseTopic {
	b.t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TopicNames, req.Topics = version, names, topics
	resp := b.DeleteTopics(server.Client{}, req)
	roundTrip(b.t, resp, kmsg.NewPtrDeleteTopicsResponse())
	return resp.Topics
}

func TestDeleteTopicsByName(t *testing.T) {
	for _, version := range []int16{1, 4, 5, 6} {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			b := open(t, nil)
			b.mustCreate(topic("a", 1, 1), topic("twice", 1, 1), topic("__consumer_offsets", 1, 1))
			id := b.image().Topic("a").ID
			got := b.delete(version, "nope", "a", "twice", "twice", "__consumer_offsets")
			if len(got) != 4 {
				t.Fatalf("%d results", len(got))
			}
			b.check("nope", got[0].ErrorCode, got[0].ErrorMessage, 3, "This server does not host this topic-partition.")
			b.check("a", got[1].ErrorCode, got[1].ErrorMessage, 0, "")
			b.check("twice", got[2].ErrorCode, got[2].ErrorMessage, 42, "Duplicate topic name.")
			b.check("__consumer_offsets", got[3].ErrorCode, got[3].ErrorMessage, 0, "")
			if got[1].TopicID != id {
				t.Error("the deleted topic's id is not answered")
			}
			if b.image().Topic("a") != nil || b.image().Topic("twice") == nil || len(b.image().Topics()) != 1 {
				t.Error("the wrong topics are left")
			}
		})
	}
}

func TestDeleteTopicsByID(t *testing.T) {
	b := open(t, nil)
	b.mustCreate(topic("a", 1, 1), topic("b", 1, 1), topic("c", 1, 1))
	by := func(name *string, id [16]byte) kmsg.DeleteTopicsRequestTopic {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic, t.TopicID = name, id
		return t
	}
	a, bb := b.image().Topic("a").ID, b.image().Topic("b").ID
	got := b.deleteTopics(6, nil, []kmsg.DeleteTopicsRequestTopic{
		by(nil, a), by(nil, [16]byte{9}), by(nil, [16]byte{}), by(text("x"), a), by(text("b"), [16]byte{}), by(nil, bb),
	})
	for i, want := range []struct {
		code    int16
		message string
	}{
		{0, ""},
		{100, "This server does not host this topic ID."},
		{42, "Neither topic name nor id were specified."},
		{42, "You may not specify both topic name and topic id."},
		{42, "The provided topic name maps to an ID that was already supplied."},
		{42, "The provided topic name maps to an ID that was already supplied."},
	} {
		b.check(fmt.Sprint("topic ", i), got[i].ErrorCode, got[i].ErrorMessage, want.code, want.message)
	}
	if got[0].Topic == nil || *got[0].Topic != "a" {
		t.Error("the name of a topic deleted by id is not answered")
	}
	if len(b.image().Topics()) != 2 {
		t.Errorf("%d topics are left", len(b.image().Topics()))
	}
}

func TestDeletionCanBeSwitchedOff(t *testing.T) {
	b := open(t, map[string]string{"delete.topic.enable": "false"})
	b.mustCreate(topic("a", 1, 1))
	for version, code := range map[int16]int16{1: 42, 3: 73, 6: 73} {
		if got := b.delete(version, "a")[0]; got.ErrorCode != code || b.image().Topic("a") == nil {
			t.Errorf("version %d: error %d, want %d", version, got.ErrorCode, code)
		}
	}
}

func (b *bench) partitions(name string, count int32, replicas ...[]int32) kmsg.CreatePartitionsResponseTopic {
	b.t.Helper()
	return b.createPartitions(false, partitions(name, count, replicas...))[0]
}

func partitions(name string, count int32, replicas ...[]int32) kmsg.CreatePartitionsRequestTopic {
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = name, count
	for _, r := range replicas {
		a := kmsg.NewCreatePartitionsRequestTopicAssignment()
		a.Replicas = r
		t.Assignment = append(t.Assignment, a)
	}
	return t
}

func (b *bench) createPartitions(validateOnly bool, topics ...kmsg.CreatePartitionsRequestTopic) []kmsg.CreatePartitionsResponseTopic {
	b.t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Version, req.ValidateOnly, req.Topics = 3, validateOnly, topics
	resp := b.CreatePartitions(server.Client{}, req)
	roundTrip(b.t, resp, kmsg.NewPtrCreatePartitionsResponse())
	return resp.Topics
}

func TestCreatePartitions(t *testing.T) {
	for _, c := range []struct {
		name    string
		topic   kmsg.CreatePartitionsRequestTopic
		code    int16
		message string
		now     int
	}{
		{"more", partitions("a", 5), 0, "", 5},
		{"more, assigned", partitions("a", 4, []int32{1}, []int32{1}), 0, "", 4},
		{"internal topic", partitions("__consumer_offsets", 2), 0, "", 2},
		{"as many", partitions("a", 2), 37, "Topic already has 2 partition(s).", 2},
		{"fewer", partitions("a", 1), 37, "The topic a currently has 2 partition(s); 1 would not be an increase.", 2},
		{"negative", partitions("a", -1), 37, "The topic a currently has 2 partition(s); -1 would not be an increase.", 2},
		{"unknown topic", partitions("nope", 2), 3, "", 0},
		{"too few assignments", partitions("a", 4, []int32{1}), 39, "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.", 2},
		{"unknown broker", partitions("a", 3, []int32{7}), 39, "The manual partition assignment includes broker 7, but no such broker is registered.", 2},
		{"too many", partitions("a", 20_000), 44, "Excessively large number of additional partitions per request.", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, nil)
			b.mustCreate(topic("a", 2, 1), topic("__consumer_offsets", 1, 1))
			got := b.createPartitions(true, c.topic)[0]
			b.check("validate only", got.ErrorCode, got.ErrorMessage, c.code, c.message)
			if len(b.image().Topic("a").Partitions) != 2 {
				t.Error("validation created partitions")
			}
			got = b.createPartitions(false, c.topic)[0]
			b.check(c.topic.Topic, got.ErrorCode, got.ErrorMessage, c.code, c.message)
			if x := b.image().Topic(c.topic.Topic); x != nil && len(x.Partitions) != c.now {
				t.Errorf("%d partitions, want %d", len(x.Partitions), c.now)
			}
		})
	}
}

func TestCreatePartitionsAnswersEachTopicOnce(t *testing.T) {
	b := open(t, nil)
	b.mustCreate(topic("a", 1, 1), topic("b", 1, 1))
	got := b.createPartitions(false, partitions("a", 2), partitions("b", 3), partitions("a", 4))
	if len(got) != 2 {
		t.Fatalf("%d results", len(got))
	}
	b.check("a", got[0].ErrorCode, got[0].ErrorMessage, 42, "Duplicate topic name.")
	b.check("b", got[1].ErrorCode, got[1].ErrorMessage, 0, "")
	if len(b.image().Topic("a").Partitions) != 1 || len(b.image().Topic("b").Partitions) != 3 {
		t.Error("the wrong topic grew")
	}
}

func TestAutoCreateMakesTopicsSoonAndOnce(t *testing.T) {
	b := open(t, map[string]string{"num.partitions": "3", "offsets.topic.num.partitions": "7"})
	all := make(chan struct{})
	b.store.Subscribe(func(_, next *meta.Image) {
		if len(next.Topics()) == 3 {
			close(all)
		}
	})
	b.AutoCreate([]string{"a", "a", "b", "__consumer_offsets"})
	b.AutoCreate([]string{"a"})
	<-all
	b.Close()
	im := b.image()
	if len(im.Topics()) != 3 || len(im.Topic("a").Partitions) != 3 {
		t.Errorf("%d topics", len(im.Topics()))
	}
	offsets := im.Topic("__consumer_offsets")
	if len(offsets.Partitions) != 7 || !offsets.Config.Compact || offsets.Config.Delete || offsets.Config.SegmentBytes != 104857600 {
		t.Errorf("__consumer_offsets has %d partitions and config %+v", len(offsets.Partitions), offsets.Config)
	}
	b.AutoCreate([]string{"late"})
	if b.image().Topic("late") != nil {
		t.Error("created after Close")
	}
}

func TestEnsureInternalCreatesOnceWithNoMoreReplicasThanBrokers(t *testing.T) {
	b := open(t, nil) // offsets.topic.replication.factor is 3
	for _, asked := range []int32{4, 9} {
		n, err := b.EnsureInternal("__consumer_offsets", asked, map[string]string{"cleanup.policy": "compact"})
		if err != nil || n != 4 {
			t.Fatalf("asked for %d: %d partitions, %v", asked, n, err)
		}
	}
	x := b.image().Topic("__consumer_offsets")
	if !x.Internal || !x.Config.Compact || len(x.Partitions[0].Replicas) != 1 {
		t.Errorf("topic is %+v", x)
	}
	if _, err := b.EnsureInternal("__transaction_state", 0, nil); err == nil {
		t.Error("created without partitions")
	}
}
