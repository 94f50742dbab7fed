package oracle

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetCommit, OffsetFetch, OffsetDelete.

func commitProbes() []Probe {
	// stored is a probe with a topic of two partitions and a group without members.
	stored := func(name string, play func(r *Run, group, topic string, id [16]byte)) Probe {
		return Probe{Name: "commit-" + name, Rules: groupRules, Play: func(r *Run) {
			g := r.Name("g")
			r.findCoordinator(g)
			topic, id := r.topic("t", 2)
			play(r, g, topic, id)
		}}
	}
	read := func(r *Run, label, group, topic string) {
		r.askAny(label+" v7", 7, committed(7, group, topic, 0))
		r.askAny(label+" v9", 9, committed(9, group, topic, 0))
	}
	probes := []Probe{
		stored("versions", func(r *Run, g, topic string, id [16]byte) {
			for v := int16(2); v <= 10; v++ {
				req := commit(g, topic, 0, int64(v))
				req.Topics[0].TopicID = id
				req.Topics[0].Partitions[0].LeaderEpoch = 0
				r.askAny(fmt.Sprint("commit v", v), v, req)
				r.askAny(fmt.Sprint("fetch after v", v), 7, committed(7, g, topic, 0))
			}
			for v := int16(1); v <= 10; v++ {
				req := committed(v, g, topic, 0)
				if v >= 8 {
					req.Groups[0].Topics[0].TopicID = id
				}
				r.askAny(fmt.Sprint("fetch v", v), v, req)
			}
		}),
		stored("metadata", func(r *Run, g, topic string, _ [16]byte) {
			for _, m := range []*string{ptr("note"), ptr(""), nil, ptr(strings.Repeat("m", 4096)), ptr(strings.Repeat("m", 4097)), ptr("ü")} {
				req := commit(g, topic, 0, 5)
				req.Topics[0].Partitions[0].Metadata = m
				label := "null"
				if m != nil {
					label = fmt.Sprint(len(*m))
				}
				r.askAny(label, 8, req)
				read(r, label, g, topic)
			}
		}),
		stored("leader-epoch", func(r *Run, g, topic string, _ [16]byte) {
			for _, epoch := range []int32{-1, 0, 7} {
				req := commit(g, topic, 0, 5)
				req.Topics[0].Partitions[0].LeaderEpoch = epoch
				r.askAny(fmt.Sprint("epoch ", epoch), 8, req)
				read(r, fmt.Sprint("epoch ", epoch), g, topic)
			}
		}),
		stored("odd-offsets", func(r *Run, g, topic string, _ [16]byte) {
			for _, offset := range []int64{0, -1, -2, 1 << 40} {
				r.askAny(fmt.Sprint("offset ", offset), 8, commit(g, topic, 0, offset))
				read(r, fmt.Sprint("offset ", offset), g, topic)
			}
		}),
		stored("unknown-topic", func(r *Run, g, topic string, _ [16]byte) {
			r.askAny("name", 8, commit(g, r.Name("none"), 0, 1))
			r.askAny("partition", 8, commit(g, topic, 9, 1))
			r.askAny("bad name", 8, commit(g, "a/b", 0, 1))
			req := commit(g, "", 0, 1)
			req.Topics[0].TopicID = [16]byte{3, 3}
			r.askAny("id", 10, req)
			req.Topics[0].TopicID = [16]byte{}
			r.askAny("zero id", 10, req)
		}),
		stored("by-strangers", func(r *Run, g, topic string, _ [16]byte) {
			req := commit(g, topic, 0, 1)
			req.MemberID, req.Generation = "stranger", 3
			r.askAny("member of no group", 8, req)
			req.Generation = -1
			r.askAny("member without generation", 8, req)
			req.MemberID, req.Generation = "", 3
			r.askAny("generation without member", 8, req)
			r.askAny("empty group", 8, commit("", topic, 0, 1))
			req = commit(g, topic, 0, 1)
			req.InstanceID = ptr("i")
			r.askAny("instance", 8, req)
		}),
		stored("into-live-group", func(r *Run, g, topic string, _ [16]byte) {
			story := &groupStory{r: r, id: g}
			m := story.stable()
			r.askAny("from outside", 8, commit(g, topic, 0, 1))
			m.commit("as member", topic, 2)
			other := *m
			other.generation++
			other.commit("later generation", topic, 3)
			other = *m
			other.id = "bogus"
			other.commit("bogus member", topic, 4)
			other = *m
			other.instance = ptr("i")
			other.commit("bogus instance", topic, 4)
			read(r, "then", g, topic)
			m.leave("leave")
			r.askAny("from outside, empty", 8, commit(g, topic, 0, 9))
			read(r, "in the end", g, topic)
		}),
		stored("before-sync", func(r *Run, g, topic string, _ [16]byte) {
			story := &groupStory{r: r, id: g}
			m := story.newMember()
			m.join("join")
			m.commit("before sync", topic, 2)
		}),
		stored("no-topics", func(r *Run, g, topic string, _ [16]byte) {
			req := commit(g, topic, 0, 1)
			req.Topics = nil
			r.askAny("answer", 8, req)
		}),
		stored("partition-twice", func(r *Run, g, topic string, _ [16]byte) {
			req := commit(g, topic, 0, 1)
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, commit(g, topic, 0, 2).Topics[0].Partitions...)
			r.askAny("answer", 8, req)
			read(r, "then", g, topic)
		}),
		stored("old-timestamp-fields", func(r *Run, g, topic string, _ [16]byte) {
			req := commit(g, topic, 0, 1)
			req.RetentionTimeMillis = 1000
			r.askAny("v4 with retention", 4, req)
			read(r, "then", g, topic)
		}),
	}
	return append(probes, fetchCommittedProbes()...)
}

func fetchCommittedProbes() []Probe {
	with := func(name string, play func(r *Run, group, topic string, id [16]byte)) Probe {
		return Probe{Name: "committed-" + name, Rules: groupRules, Play: func(r *Run) {
			g := r.Name("g")
			r.findCoordinator(g)
			topic, id := r.topic("t", 2)
			send[*kmsg.OffsetCommitResponse](r, r.Conn(), "setup.commit", 8, commit(g, topic, 0, 5))
			play(r, g, topic, id)
		}}
	}
	offsetDelete := func(group, topic string, partitions ...int32) *kmsg.OffsetDeleteRequest {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = group
		t := kmsg.OffsetDeleteRequestTopic{Topic: topic}
		for _, p := range partitions {
			t.Partitions = append(t.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: p})
		}
		req.Topics = append(req.Topics, t)
		return req
	}
	return []Probe{
		with("all-topics", func(r *Run, g, topic string, _ [16]byte) {
			for v := int16(1); v <= 9; v++ {
				req := committed(v, g, topic, 0)
				if v < 8 {
					req.Topics = nil
				} else {
					req.Groups[0].Topics = nil
				}
				r.askAny(fmt.Sprintf("null v%d", v), v, req)
				if v < 8 {
					req.Topics = []kmsg.OffsetFetchRequestTopic{}
				} else {
					req.Groups[0].Topics = []kmsg.OffsetFetchRequestGroupTopic{}
				}
				r.askAny(fmt.Sprintf("empty v%d", v), v, req)
			}
		}),
		with("nothing-stored", func(r *Run, g, topic string, _ [16]byte) {
			r.askAny("other partition", 7, committed(7, g, topic, 1))
			r.askAny("no such partition", 7, committed(7, g, topic, 9))
			r.askAny("no such topic", 7, committed(7, g, r.Name("none"), 0))
			r.askAny("no such group v7", 7, committed(7, r.Name("none"), topic, 0))
			r.askAny("no such group v9", 9, committed(9, r.Name("none"), topic, 0))
			r.askAny("empty group v7", 7, committed(7, "", topic, 0))
			r.askAny("empty group v9", 9, committed(9, "", topic, 0))
		}),
		with("several-groups", func(r *Run, g, topic string, _ [16]byte) {
			req := committed(9, g, topic, 0)
			req.Groups = append(req.Groups, committed(9, r.Name("none"), topic, 0).Groups...)
			r.askAny("two", 9, req)
			req.Groups = nil
			r.askAny("none", 9, req)
		}),
		with("require-stable", func(r *Run, g, topic string, _ [16]byte) {
			for _, v := range []int16{7, 8, 9} {
				req := committed(v, g, topic, 0)
				req.RequireStable = true
				r.askAny(fmt.Sprint("v", v), v, req)
			}
		}),
		with("by-member", func(r *Run, g, topic string, _ [16]byte) {
			req := committed(9, g, topic, 0)
			req.Groups[0].MemberID, req.Groups[0].MemberEpoch = ptr("stranger"), 3
			r.askAny("stranger", 9, req)
		}),
		with("by-topic-id", func(r *Run, g, topic string, id [16]byte) {
			req := committed(10, g, "", 0)
			req.Groups[0].Topics[0].TopicID = id
			r.askAny("id", 10, req)
			req.Groups[0].Topics[0].TopicID = [16]byte{7}
			r.askAny("unknown id", 10, req)
			req.Groups[0].Topics = nil
			r.askAny("all", 10, req)
		}),
		with("topic-deleted", func(r *Run, g, topic string, _ [16]byte) {
			r.drop(topic)
			r.until("offsets gone", func() bool {
				resp := send[*kmsg.OffsetFetchResponse](r, r.Conn(), "offsets gone", 7, committed(7, g, topic, 0))
				return resp.Topics[0].Partitions[0].Offset == -1
			})
			r.topic("t", 2)
			r.askAny("after recreation", 7, committed(7, g, topic, 0))
		}),
		with("offset-delete", func(r *Run, g, topic string, _ [16]byte) {
			send[*kmsg.OffsetCommitResponse](r, r.Conn(), "setup.commit", 8, commit(g, topic, 1, 6))
			r.askAny("one", 0, offsetDelete(g, topic, 0))
			r.askAny("then 0", 7, committed(7, g, topic, 0))
			r.askAny("then 1", 7, committed(7, g, topic, 1))
			r.askAny("again", 0, offsetDelete(g, topic, 0))
			r.askAny("no such partition", 0, offsetDelete(g, topic, 9))
			r.askAny("no such topic", 0, offsetDelete(g, r.Name("none"), 0))
			r.askAny("no such group", 0, offsetDelete(r.Name("none"), topic, 0))
			r.askAny("empty group", 0, offsetDelete("", topic, 0))
		}),
		with("offset-delete-subscribed", func(r *Run, g, topic string, _ [16]byte) {
			story := &groupStory{r: r, id: g}
			m := story.newMember()
			// A consumer subscription of version 1: the topic, no user data, nothing owned.
			meta := append([]byte{0, 1, 0, 0, 0, 1, 0, byte(len(topic))}, topic...)
			meta = append(meta, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
			m.protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: meta}}
			m.c = r.Dial()
			id := send[*kmsg.JoinGroupResponse](r, m.c, "join.id", 9, m.request()).MemberID
			m.id = id
			resp := send[*kmsg.JoinGroupResponse](r, m.c, "join", 9, m.request())
			m.generation = resp.Generation
			m.sync("sync", map[string]string{m.id: ""})
			r.askAny("subscribed", 0, offsetDelete(g, topic, 0))
			r.askAny("still there", 7, committed(7, g, topic, 0))
		}),
		with("group-deleted", func(r *Run, g, topic string, _ [16]byte) {
			req := kmsg.NewPtrDeleteGroupsRequest()
			req.Groups = []string{g, r.Name("none"), ""}
			r.askAny("delete", 2, req)
			r.askAny("offsets", 7, committed(7, g, topic, 0))
		}),
		with("group-deleted-twice-in-request", func(r *Run, g, topic string, _ [16]byte) {
			req := kmsg.NewPtrDeleteGroupsRequest()
			req.Groups = []string{g, g}
			resp := send[*kmsg.DeleteGroupsResponse](r, r.Conn(), "answer", 2, req)
			r.Note("first", errorName(resp.Groups[0].ErrorCode))
		}),
	}
}
