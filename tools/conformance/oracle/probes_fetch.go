package oracle

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Fetch: offsets, limits, waiting, isolation, epochs and ids. Sessions are in
// probes_sessions.go.

var fetchRules = []Rule{topicIDs, endpoint, Drawn("*.SessionID")}

// reads is a probe about a topic with batches of 3, 2 and 4 records, at offsets 0,
// 3 and 5; the end is 9.
func reads(name string, play func(r *Run, topic string, id [16]byte)) Probe {
	return Probe{Name: "fetch-" + name, Rules: fetchRules, Play: func(r *Run) {
		topic, id := r.topic("t", 1)
		r.put(topic, plain(3), plain(2), plain(4))
		play(r, topic, id)
	}}
}

// tuned is fetchFrom with the partition entry and the request changed.
func tuned(topic string, offset int64, tune func(req *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition)) *kmsg.FetchRequest {
	req := fetchFrom(topic, offset)
	tune(req, &req.Topics[0].Partitions[0])
	return req
}

func fetchProbes() []Probe {
	probes := []Probe{
		reads("every-version", func(r *Run, topic string, id [16]byte) {
			for v := int16(4); v <= 18; v++ {
				req := fetchFrom(topic, 0)
				req.Topics[0].TopicID = id
				r.askAny(fmt.Sprint("v", v), v, req)
			}
		}),
		reads("inside-batch", func(r *Run, topic string, _ [16]byte) {
			for _, offset := range []int64{1, 2, 3, 4, 8} {
				r.askAny(fmt.Sprint("from ", offset), 11, fetchFrom(topic, offset))
			}
		}),
		reads("at-end", func(r *Run, topic string, _ [16]byte) { r.askAny("answer", 11, fetchFrom(topic, 9)) }),
		reads("out-of-range", func(r *Run, topic string, _ [16]byte) {
			for _, offset := range []int64{10, 1 << 40, -1, -5} {
				r.askAny(fmt.Sprint("from ", offset), 12, fetchFrom(topic, offset))
			}
		}),
		reads("limits", func(r *Run, topic string, _ [16]byte) {
			for _, limit := range []int32{0, 1, 60, 100, 200, 1 << 20} {
				r.askAny(fmt.Sprint("partition ", limit), 11, tuned(topic, 0, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.PartitionMaxBytes = limit }))
				r.askAny(fmt.Sprint("request ", limit), 11, tuned(topic, 0, func(req *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { req.MaxBytes = limit }))
			}
			r.askAny("partition -1", 11, tuned(topic, 0, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.PartitionMaxBytes = -1 }))
		}),
		reads("unknown", func(r *Run, topic string, _ [16]byte) {
			r.askAny("topic", 11, fetchFrom(r.Name("none"), 0))
			r.askAny("partition", 11, tuned(topic, 0, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.Partition = 7 }))
			r.askAny("partition -1", 11, tuned(topic, 0, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.Partition = -1 }))
			req := fetchFrom("", 0)
			req.Topics[0].TopicID = [16]byte{4, 5, 6}
			r.askAny("id", 13, req)
			req.Topics[0].TopicID = [16]byte{}
			r.askAny("zero id", 13, req)
			r.askAny("bad name", 11, fetchFrom("a/b", 0))
		}),
		reads("leader-epochs", func(r *Run, topic string, id [16]byte) {
			for _, epoch := range []int32{0, 1, 99, -1, -2} {
				req := tuned(topic, 0, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = epoch })
				req.Topics[0].TopicID = id
				r.askAny(fmt.Sprint("v11 current ", epoch), 11, req)
				r.askAny(fmt.Sprint("v17 current ", epoch), 17, req)
			}
		}),
		reads("last-fetched-epoch", func(r *Run, topic string, _ [16]byte) {
			for _, epoch := range []int32{0, 5, -1} {
				for _, offset := range []int64{0, 3, 9, 20} {
					r.askAny(fmt.Sprintf("epoch %d from %d", epoch, offset), 12, tuned(topic, offset, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) {
						p.LastFetchedEpoch = epoch
					}))
				}
			}
		}),
		reads("read-committed", func(r *Run, topic string, _ [16]byte) {
			r.askAny("committed", 11, tuned(topic, 0, func(req *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { req.IsolationLevel = 1 }))
			r.askAny("isolation 7", 11, tuned(topic, 0, func(req *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { req.IsolationLevel = 7 }))
		}),
		reads("rack", func(r *Run, topic string, _ [16]byte) {
			r.askAny("answer", 11, tuned(topic, 0, func(req *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { req.Rack = "somewhere" }))
		}),
		reads("as-replica", func(r *Run, topic string, id [16]byte) {
			req := fetchFrom(topic, 0)
			req.ReplicaID = 7
			r.askAny("v11 unknown broker", 11, req)
			req = fetchFrom(topic, 0)
			req.Topics[0].TopicID, req.ReplicaState.ID, req.ReplicaState.Epoch = id, 7, 1
			r.askAny("v17 unknown broker", 17, req)
		}),
		reads("no-topics", func(r *Run, topic string, _ [16]byte) {
			req := fetchFrom(topic, 0)
			req.Topics = nil
			r.askAny("answer", 11, req)
		}),
		reads("same-partition-twice", func(r *Run, topic string, _ [16]byte) {
			req := fetchFrom(topic, 0)
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, req.Topics[0].Partitions[0])
			r.askAny("answer", 11, req)
		}),
		reads("cluster-id", func(r *Run, topic string, id [16]byte) {
			req := fetchFrom(topic, 0)
			req.Topics[0].TopicID, req.ClusterID = id, ptr("no-such-cluster")
			r.askAny("answer", 13, req)
		}),
	}
	return append(append(probes, waitProbes()...), fetchStories()...)
}

// waitProbes: a fetch is answered when there is enough, or when its time is over.
func waitProbes() []Probe {
	timed := func(r *Run, label string, req *kmsg.FetchRequest, atLeast, atMost time.Duration) {
		start := time.Now()
		r.askAny(label, 11, req)
		took := time.Since(start)
		r.Note(label+" in time", took >= atLeast && took < atMost)
	}
	wait := func(ms, minBytes int32) func(*kmsg.FetchRequest, *kmsg.FetchRequestTopicPartition) {
		return func(req *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) {
			req.MaxWaitMillis, req.MinBytes = ms, minBytes
		}
	}
	const soon, late = 450 * time.Millisecond, 8 * time.Second
	return []Probe{
		reads("wait-nothing-there", func(r *Run, topic string, _ [16]byte) { timed(r, "answer", tuned(topic, 9, wait(500, 1)), soon, late) }),
		reads("wait-zero", func(r *Run, topic string, _ [16]byte) { timed(r, "answer", tuned(topic, 9, wait(0, 1000)), 0, late) }),
		reads("wait-min-bytes-0", func(r *Run, topic string, _ [16]byte) {
			timed(r, "answer", tuned(topic, 9, wait(30000, 0)), 0, late)
		}),
		reads("wait-enough", func(r *Run, topic string, _ [16]byte) { timed(r, "answer", tuned(topic, 0, wait(30000, 1)), 0, late) }),
		reads("wait-not-enough", func(r *Run, topic string, _ [16]byte) {
			timed(r, "answer", tuned(topic, 0, wait(500, 1<<20)), soon, late)
		}),
		reads("wait-error-answers-at-once", func(r *Run, topic string, _ [16]byte) {
			timed(r, "answer", tuned(topic, 77, wait(30000, 1)), 0, late)
			timed(r, "unknown topic", tuned(r.Name("none"), 0, wait(30000, 1)), 0, late)
		}),
		reads("wait-woken-by-produce", func(r *Run, topic string, _ [16]byte) {
			req := tuned(topic, 9, wait(30000, 1))
			req.SetVersion(11)
			c := r.Dial()
			frame, id := c.encode(req)
			c.Write(frame)
			r.put(topic, plain(1))
			r.see("answer", receive[kmsg.Response](r, c, "answer", req, id))
		}),
		reads("wait-min-bytes-above-limit", func(r *Run, topic string, _ [16]byte) {
			timed(r, "answer", tuned(topic, 0, func(req *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) {
				req.MaxWaitMillis, req.MinBytes, req.MaxBytes, p.PartitionMaxBytes = 30000, 1<<20, 100, 100
			}), 0, late)
		}),
	}
}

func fetchStories() []Probe {
	return []Probe{
		{Name: "fetch-empty-topic", Rules: fetchRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			r.askAny("0", 11, fetchFrom(topic, 0))
			r.askAny("1", 11, fetchFrom(topic, 1))
		}},
		{Name: "fetch-zstd-by-old-client", Rules: fetchRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			r.put(topic, batch{records: []kmsg.Record{value(fmt.Sprintf("%0500d", 1))}, codec: kgo.ZstdCompression()}.bytes())
			for _, v := range []int16{4, 9, 10, 11} {
				r.askAny(fmt.Sprint("v", v), v, fetchFrom(topic, 0))
			}
		}},
		{Name: "fetch-several-partitions", Rules: fetchRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 3)
			r.put(topic, plain(2))
			send[*kmsg.ProduceResponse](r, r.Conn(), "p2", 9, produceTo(topic, 2, plain(5)))
			req := fetchFrom(topic, 0)
			for i := int32(1); i < 3; i++ {
				p := req.Topics[0].Partitions[0]
				p.Partition = i
				req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
			}
			r.askAny("all", 11, req)
			req.MaxBytes = 1
			r.askAny("limit 1", 11, req)
			req.Topics[0].Partitions[0].FetchOffset = 2
			r.askAny("limit 1, first is at its end", 11, req)
			req.Topics[0].Partitions[0].FetchOffset = 50
			r.askAny("limit 1, first is out of range", 11, req)
		}},
		{Name: "fetch-after-delete-records", Rules: fetchRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			r.put(topic, plain(3), plain(4))
			r.askAny("delete", 2, deleteRecords(topic, 0, 4))
			r.askAny("below start", 11, fetchFrom(topic, 3))
			r.askAny("at start", 11, fetchFrom(topic, 4))
		}},
	}
}
