package oracle

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Incremental fetch sessions (KIP-227).

func sessionProbes() []Probe {
	// session is a probe on a topic of three partitions; open makes a session on
	// all of them and gives its id.
	session := func(name string, play func(r *Run, s *sessionStory)) Probe {
		return Probe{Name: "session-" + name, Rules: append([]Rule{Keyed("*.Partitions", "Partition")}, fetchRules...), Play: func(r *Run) {
			topic, id := r.topic("t", 3)
			r.put(topic, plain(2))
			s := &sessionStory{r: r, topic: topic, topicID: id, version: 11}
			play(r, s)
		}}
	}
	return []Probe{
		session("made-and-empty", func(r *Run, s *sessionStory) {
			s.open("open", 2, 0, 0)
			s.next("nothing new", 1)
			s.next("still nothing", 2)
		}),
		session("new-data", func(r *Run, s *sessionStory) {
			s.open("open", 2, 0, 0)
			r.put(s.topic, plain(3))
			s.next("data", 1)
			s.next("data again, not moved", 2)
			s.next("moved", 3, s.at(0, 5))
			s.next("nothing", 4)
		}),
		session("first-answer-with-data", func(r *Run, s *sessionStory) {
			s.open("open", 0, 0, 0)
			s.next("same data", 1)
			s.next("moved", 2, s.at(0, 2))
		}),
		session("wrong-epoch", func(r *Run, s *sessionStory) {
			s.open("open", 2, 0, 0)
			s.next("jump", 5)
			s.next("right one", 1)
			s.next("old one", 1)
		}),
		session("unknown-id", func(r *Run, s *sessionStory) {
			s.id = 123456
			s.next("epoch 1", 1)
			s.next("epoch 0", 0, s.at(0, 0))
			s.next("epoch -1", -1, s.at(0, 0))
		}),
		session("forgotten", func(r *Run, s *sessionStory) {
			s.open("open", 2, 0, 0)
			req := s.request(1)
			req.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: s.topic, TopicID: s.topicID, Partitions: []int32{0}}}
			r.askAny("forget 0", s.version, req)
			r.put(s.topic, plain(1))
			s.next("no data of 0", 2)
			s.next("back", 3, s.at(0, 2))
		}),
		session("closed", func(r *Run, s *sessionStory) {
			s.open("open", 2, 0, 0)
			s.next("close", -1)
			s.next("after", 1)
		}),
		session("replaced", func(r *Run, s *sessionStory) {
			s.open("open", 2, 0, 0)
			old := s.id
			s.openOn("open over it", old, 2, 0, 0)
			r.Note("new id", s.id != old)
			s.next("new one", 1)
			s.id = old
			s.next("old one", 1)
		}),
		session("error-partition-stays", func(r *Run, s *sessionStory) {
			s.open("open out of range", 77, 0, 0)
			s.next("again", 1)
			s.next("mended", 2, s.at(0, 0))
		}),
		session("unknown-partition", func(r *Run, s *sessionStory) {
			s.open("open", 2, 0, 0)
			s.next("add 9", 1, s.at(9, 0))
			s.next("again", 2)
		}),
		session("without-partitions", func(r *Run, s *sessionStory) {
			s.open("open none")
			s.next("epoch 1", 1)
		}),
		session("by-topic-id", func(r *Run, s *sessionStory) {
			s.version = 13
			s.open("open", 2, 0, 0)
			r.put(s.topic, plain(1))
			s.next("data", 1)
		}),
		session("from-names-to-ids", func(r *Run, s *sessionStory) {
			s.version = 12
			s.open("open by name", 2, 0, 0)
			s.version = 13
			s.next("with ids", 1, s.at(0, 2))
		}),
		session("unknown-topic-id", func(r *Run, s *sessionStory) {
			s.version = 13
			s.topicID = [16]byte{8, 8}
			s.open("open", 0)
			s.next("again", 1)
		}),
		session("log-start-moves", func(r *Run, s *sessionStory) {
			s.open("open", 2, 0, 0)
			r.askAny("delete", 2, deleteRecords(s.topic, 0, 1))
			s.next("start moved", 1)
			s.next("nothing", 2)
		}),
		session("topic-deleted", func(r *Run, s *sessionStory) {
			s.version = 13
			s.open("open", 2)
			r.drop(s.topic)
			s.next("gone", 1)
		}),
		session("epoch-0-old-version", func(r *Run, s *sessionStory) {
			s.version = 7
			s.open("v7", 2, 0, 0)
			s.next("v7 next", 1)
		}),
	}
}

// sessionStory is one fetch session as a client sees it.
type sessionStory struct {
	r       *Run
	topic   string
	topicID [16]byte
	version int16
	id      int32
}

// at is a partition entry of the story's topic.
func (s *sessionStory) at(partition int32, offset int64) kmsg.FetchRequestTopicPartition {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = partition, offset, 1<<20, -1
	return p
}

// request is a fetch of the session at epoch with the given entries. It does not
// wait.
func (s *sessionStory) request(epoch int32, entries ...kmsg.FetchRequestTopicPartition) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxBytes, req.SessionID, req.SessionEpoch = -1, 1<<20, s.id, epoch
	if len(entries) > 0 {
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID, t.Partitions = s.topic, s.topicID, entries
		req.Topics = append(req.Topics, t)
	}
	return req
}

// open makes a session with partitions 0, 1, ... at offsets.
func (s *sessionStory) open(label string, offsets ...int64) { s.openOn(label, 0, offsets...) }

// openOn is open with a session id in the request, which replaces that session.
func (s *sessionStory) openOn(label string, id int32, offsets ...int64) {
	s.id = id
	var entries []kmsg.FetchRequestTopicPartition
	for i, offset := range offsets {
		entries = append(entries, s.at(int32(i), offset))
	}
	s.id = ask[*kmsg.FetchResponse](s.r, label, s.version, s.request(0, entries...)).SessionID
}

// next fetches in the session at epoch.
func (s *sessionStory) next(label string, epoch int32, entries ...kmsg.FetchRequestTopicPartition) {
	s.r.askAny(label, s.version, s.request(epoch, entries...))
}
