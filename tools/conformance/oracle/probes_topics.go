package oracle

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateTopics, DeleteTopics, CreatePartitions.

var topicRules = []Rule{topicIDs, messages, topicsByName, configsByName, endpoint, clusterID, internalEpochs}

// makes tries one topic at v7, first validated only and then for real.
func makes(name string, topic func(r *Run) kmsg.CreateTopicsRequestTopic) Probe {
	return Probe{Name: "create-" + name, Rules: topicRules, Play: func(r *Run) {
		t := topic(r)
		req := createTopics(t)
		req.ValidateOnly = true
		r.askAny("validate", 7, req)
		req.ValidateOnly = false
		resp := ask[*kmsg.CreateTopicsResponse](r, "create", 7, req)
		if len(resp.Topics) == 1 && resp.Topics[0].ErrorCode == 0 {
			r.until("leader", func() bool { return r.leads(t.Topic, 1) })
		}
		r.askAny("metadata", 13, metadataOf(t.Topic))
	}}
}

func topicProbes() []Probe {
	withConfig := func(name, key string, value *string) Probe {
		return makes("config-"+name, func(r *Run) kmsg.CreateTopicsRequestTopic {
			t := newTopic(r.Name("t"), 1)
			t.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: key, Value: value}}
			return t
		})
	}
	named := func(name, topic string) Probe {
		return makes("name-"+name, func(*Run) kmsg.CreateTopicsRequestTopic { return newTopic(topic, 1) })
	}
	counts := func(name string, partitions int32, rf int16) Probe {
		return makes(name, func(r *Run) kmsg.CreateTopicsRequestTopic {
			t := newTopic(r.Name("t"), partitions)
			t.ReplicationFactor = rf
			return t
		})
	}
	assigned := func(name string, replicas ...[]int32) Probe {
		return makes("assigned-"+name, func(r *Run) kmsg.CreateTopicsRequestTopic {
			t := newTopic(r.Name("t"), -1)
			t.ReplicationFactor = -1
			for i, ids := range replicas {
				t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(i), Replicas: ids})
			}
			return t
		})
	}
	probes := []Probe{
		counts("plain", 2, 1), counts("defaults", -1, -1), counts("no-partitions", 0, 1), counts("partitions-minus-2", -2, 1),
		counts("rf-2", 1, 2), counts("rf-0", 1, 0), counts("rf-minus-2", 1, -2),
		named("empty", ""), named("dot", "."), named("dots", ".."), named("slash", "a/b"), named("space", "a b"),
		named("too-long", strings.Repeat("a", 250)), named("internal", "__consumer_offsets"), named("umlaut", "ä"),
		assigned("one", []int32{1}), assigned("two-partitions", []int32{1}, []int32{1}), assigned("unknown-broker", []int32{7}),
		assigned("twice-the-same", []int32{1, 1}), assigned("none", []int32{}), assigned("negative", []int32{-1}),
		withConfig("retention", "retention.ms", ptr("1000")), withConfig("retention-bad", "retention.ms", ptr("soon")),
		withConfig("unknown", "no.such.config", ptr("1")), withConfig("null", "retention.ms", nil),
		withConfig("policy-both", "cleanup.policy", ptr("compact,delete")), withConfig("policy-bad", "cleanup.policy", ptr("burn")),
		withConfig("policy-empty", "cleanup.policy", ptr("")), withConfig("segment-small", "segment.bytes", ptr("1")),
		withConfig("default-set", "max.message.bytes", ptr("1048588")), withConfig("codec-bad", "compression.type", ptr("rar")),
		withConfig("ratio-bad", "min.cleanable.dirty.ratio", ptr("1.5")), withConfig("bool-bad", "preallocate", ptr("maybe")),
		withConfig("bool-case", "preallocate", ptr("TRUE")), withConfig("spaces", "retention.ms", ptr(" 1000 ")),
		withConfig("lag-order", "max.compaction.lag.ms", ptr("0")), withConfig("int-overflow", "segment.bytes", ptr("2147483648")),
	}
	return append(append(probes, createStories()...), partitionAndDelete()...)
}

func createStories() []Probe {
	return []Probe{
		{Name: "create-twice", Rules: topicRules, Play: func(r *Run) {
			name, _ := r.topic("t", 1)
			r.askAny("again", 7, createTopics(newTopic(name, 1)))
			r.askAny("again v2", 2, createTopics(newTopic(name, 1)))
		}},
		{Name: "create-duplicate-in-request", Rules: topicRules, Play: func(r *Run) {
			t := newTopic(r.Name("t"), 1)
			r.askAny("answer", 7, createTopics(t, t, newTopic(r.Name("u"), 1)))
			r.until("leader", func() bool { return r.leads(r.Name("u"), 1) })
			r.askAny("metadata", 13, metadataOf(t.Topic, r.Name("u")))
		}},
		{Name: "create-collision", Rules: topicRules, Play: func(r *Run) {
			r.topic("z_z", 1)
			r.askAny("dot beside underscore", 7, createTopics(newTopic(r.Name("z.z"), 1)))
			r.askAny("in one request", 7, createTopics(newTopic(r.Name("y_y"), 1), newTopic(r.Name("y.y"), 1)))
		}},
		{Name: "create-config-twice", Rules: topicRules, Play: func(r *Run) {
			r.askAny("answer", 7, createTopics(newTopic(r.Name("t"), 1, "retention.ms", "1", "retention.ms", "2")))
		}},
		{Name: "create-count-and-assignment", Rules: topicRules, Play: func(r *Run) {
			t := newTopic(r.Name("t"), 1)
			t.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Partition: 0, Replicas: []int32{1}}}
			r.askAny("answer", 7, createTopics(t))
		}},
		{Name: "create-assignment-gap", Rules: topicRules, Play: func(r *Run) {
			t := newTopic(r.Name("t"), -1)
			t.ReplicationFactor = -1
			t.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Partition: 1, Replicas: []int32{1}}}
			r.askAny("answer", 7, createTopics(t))
		}},
		{Name: "create-no-topics", Rules: topicRules, Play: func(r *Run) { r.askAny("answer", 7, createTopics()) }},
		{Name: "create-defaults-v2-v3-v4", Rules: topicRules, Play: func(r *Run) {
			for v := int16(2); v <= 6; v++ {
				t := newTopic(r.Name(fmt.Sprint("t", v)), -1)
				t.ReplicationFactor = -1
				r.askAny(fmt.Sprint("v", v), v, createTopics(t))
			}
		}},
		{Name: "create-mixed", Rules: topicRules, Play: func(r *Run) {
			r.askAny("answer", 7, createTopics(newTopic(r.Name("ok"), 1), newTopic("bad/name", 1), newTopic(r.Name("rf"), 0)))
		}},
		{Name: "create-zero-timeout", Rules: topicRules, Play: func(r *Run) {
			req := createTopics(newTopic(r.Name("t"), 1))
			req.TimeoutMillis = 0
			resp := send[*kmsg.CreateTopicsResponse](r, r.Conn(), "answer", 7, req)
			r.Note("ok or timed out", resp.Topics[0].ErrorCode == 0 || resp.Topics[0].ErrorCode == 7)
		}},
	}
}

func partitionAndDelete() []Probe {
	grow := func(r *Run, label, name string, count int32, validate bool, assignment ...[]int32) {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.TimeoutMillis, req.ValidateOnly = 5000, validate
		t := kmsg.CreatePartitionsRequestTopic{Topic: name, Count: count}
		for _, ids := range assignment {
			t.Assignment = append(t.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: ids})
		}
		req.Topics = append(req.Topics, t)
		r.askAny(label, 3, req)
	}
	del := func(names []string, topics ...kmsg.DeleteTopicsRequestTopic) *kmsg.DeleteTopicsRequest {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TimeoutMillis, req.TopicNames, req.Topics = 5000, names, topics
		return req
	}
	return []Probe{
		{Name: "partitions-grow", Rules: topicRules, Play: func(r *Run) {
			name, _ := r.topic("t", 2)
			grow(r, "validate", name, 3, true)
			r.askAny("still 2", 13, metadataOf(name))
			grow(r, "same", name, 2, false)
			grow(r, "fewer", name, 1, false)
			grow(r, "zero", name, 0, false)
			grow(r, "negative", name, -1, false)
			grow(r, "to 3", name, 3, false)
			r.until("leader", func() bool { return r.leads(name, 3) })
			r.askAny("3 now", 13, metadataOf(name))
		}},
		{Name: "partitions-assigned", Rules: topicRules, Play: func(r *Run) {
			name, _ := r.topic("t", 1)
			grow(r, "too few", name, 3, false, []int32{1})
			grow(r, "too many", name, 2, false, []int32{1}, []int32{1})
			grow(r, "unknown broker", name, 2, false, []int32{9})
			grow(r, "other rf", name, 2, false, []int32{1, 2})
			grow(r, "empty", name, 2, false, []int32{})
			grow(r, "good", name, 2, false, []int32{1})
		}},
		{Name: "partitions-unknown-topic", Rules: topicRules, Play: func(r *Run) {
			grow(r, "unknown", r.Name("none"), 2, false)
			grow(r, "bad name", "a/b", 2, false)
		}},
		{Name: "partitions-twice-in-request", Rules: topicRules, Play: func(r *Run) {
			name, _ := r.topic("t", 1)
			req := kmsg.NewPtrCreatePartitionsRequest()
			req.TimeoutMillis = 5000
			req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: name, Count: 2}, {Topic: name, Count: 3}}
			r.askAny("answer", 3, req)
		}},
		{Name: "delete-by-name", Rules: topicRules, Play: func(r *Run) {
			name, _ := r.topic("t", 1)
			r.askAny("v4", 4, del([]string{name, r.Name("none")}))
			r.until("gone", func() bool {
				return send[*kmsg.MetadataResponse](r, r.Conn(), "gone", 12, metadataOf(name)).Topics[0].ErrorCode == 3
			})
			r.askAny("again", 4, del([]string{name}))
		}},
		{Name: "delete-v6", Rules: topicRules, Play: func(r *Run) {
			name, id := r.topic("t", 1)
			r.askAny("unknown id", 6, del(nil, kmsg.DeleteTopicsRequestTopic{TopicID: [16]byte{1, 2, 3}}))
			r.askAny("neither", 6, del(nil, kmsg.DeleteTopicsRequestTopic{}))
			r.askAny("both", 6, del(nil, kmsg.DeleteTopicsRequestTopic{TopicID: id, Topic: &name}))
			r.askAny("by id", 6, del(nil, kmsg.DeleteTopicsRequestTopic{TopicID: id}))
			r.askAny("by id again", 6, del(nil, kmsg.DeleteTopicsRequestTopic{TopicID: id}))
		}},
		{Name: "delete-twice-in-request", Rules: topicRules, Play: func(r *Run) {
			name, _ := r.topic("t", 1)
			r.askAny("names", 4, del([]string{name, name}))
			r.askAny("metadata", 12, metadataOf(name))
		}},
		{Name: "delete-name-and-id-in-request", Rules: topicRules, Play: func(r *Run) {
			name, id := r.topic("t", 1)
			r.askAny("answer", 6, del(nil, kmsg.DeleteTopicsRequestTopic{Topic: &name}, kmsg.DeleteTopicsRequestTopic{TopicID: id}))
		}},
		{Name: "delete-none", Rules: topicRules, Play: func(r *Run) { r.askAny("answer", 6, del(nil)) }},
		{Name: "delete-bad-name", Rules: topicRules, Play: func(r *Run) { r.askAny("answer", 4, del([]string{"a/b", ""})) }},
		{Name: "delete-and-recreate", Rules: topicRules, Play: func(r *Run) {
			name, old := r.topic("t", 1)
			r.put(name, plain(3))
			r.drop(name)
			_, fresh := r.topic("t", 1)
			r.Note("id is new", old != fresh)
			fetch := fetchFrom("", 0)
			fetch.Topics[0].TopicID = old
			r.askAny("fetch old id", 13, fetch)
			fetch.Topics[0].TopicID = fresh
			r.askAny("fetch new id", 13, fetch)
		}},
	}
}
