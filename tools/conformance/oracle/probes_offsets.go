package oracle

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListOffsets, DeleteRecords, OffsetForLeaderEpoch.

var offsetRules = []Rule{topicIDs, messages}

// times is a probe on a topic whose records have known timestamps: a batch at
// 0, 10, 20 ms (offsets 0-2), one at 5, 40 ms (3-4), a compressed one at 30, 60,
// 60 ms (5-7).
func times(name string, play func(r *Run, topic string)) Probe {
	return Probe{Name: "offsets-" + name, Rules: append([]Rule{{pattern: "*.Timestamp", value: sinceEpoch}}, offsetRules...), Play: func(r *Run) {
		topic, _ := r.topic("t", 1)
		r.put(topic,
			batch{records: []kmsg.Record{value("a"), at(value("b"), 10), at(value("c"), 20)}}.bytes(),
			batch{firstMs: epochMs + 5, records: []kmsg.Record{value("d"), at(value("e"), 35)}}.bytes(),
			batch{firstMs: epochMs + 30, records: []kmsg.Record{value("f"), at(value("g"), 30), at(value("h"), 30)}, codec: kgo.GzipCompression()}.bytes())
		play(r, topic)
	}}
}

// sinceEpoch shows a timestamp of the probes' clock as its distance from the start.
func sinceEpoch(v string) string {
	var ms int64
	if _, err := fmt.Sscan(v, &ms); err != nil || ms < 0 {
		return v
	}
	return fmt.Sprintf("start%+d", ms-epochMs)
}

func offsetProbes() []Probe {
	probes := []Probe{
		times("by-time", func(r *Run, topic string) {
			for _, ms := range []int64{-1000, 0, 1, 5, 10, 11, 20, 21, 25, 30, 31, 40, 41, 59, 60, 61, 5000} {
				r.askAny(fmt.Sprintf("start%+d", ms), 7, offsetsAt(topic, 0, epochMs+ms))
			}
			r.askAny("0", 7, offsetsAt(topic, 0, 0))
		}),
		times("special", func(r *Run, topic string) {
			for _, special := range []int64{-1, -2, -3, -4, -5, -6, -7, -100} {
				for _, v := range []int16{1, 2, 4, 6, 7, 8, 9, 10, 11} {
					r.askAny(fmt.Sprintf("%d v%d", special, v), v, offsetsAt(topic, 0, special))
				}
			}
		}),
		times("isolation", func(r *Run, topic string) {
			for _, level := range []int8{0, 1, 5} {
				req := offsetsAt(topic, 0, -1)
				req.IsolationLevel = level
				r.askAny(fmt.Sprint("level ", level), 5, req)
			}
		}),
		times("leader-epoch", func(r *Run, topic string) {
			for _, epoch := range []int32{-1, 0, 1, 9} {
				req := offsetsAt(topic, 0, -1)
				req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
				r.askAny(fmt.Sprint("epoch ", epoch), 5, req)
			}
		}),
		times("unknown", func(r *Run, topic string) {
			r.askAny("topic", 5, offsetsAt(r.Name("none"), 0, -1))
			r.askAny("partition", 5, offsetsAt(topic, 3, -1))
			r.askAny("partition -1", 5, offsetsAt(topic, -1, -1))
			r.askAny("name", 5, offsetsAt("a/b", 0, -1))
		}),
		times("duplicate-partition", func(r *Run, topic string) {
			req := offsetsAt(topic, 0, -1)
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, offsetsAt(topic, 0, -2).Topics[0].Partitions...)
			r.askAny("answer", 5, req)
		}),
		times("as-replica", func(r *Run, topic string) {
			req := offsetsAt(topic, 0, -1)
			req.ReplicaID = 9
			r.askAny("broker 9", 5, req)
			req.ReplicaID = -2
			r.askAny("debug", 5, req)
		}),
		times("after-delete-records", func(r *Run, topic string) {
			r.askAny("delete", 2, deleteRecords(topic, 0, 4))
			for _, ms := range []int64{-1 - epochMs, -2 - epochMs, -3 - epochMs, -4 - epochMs, 0, 10, 41} {
				r.askAny(fmt.Sprint(ms), 8, offsetsAt(topic, 0, epochMs+ms))
			}
		}),
		{Name: "offsets-empty-topic", Rules: offsetRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			for _, special := range []int64{-1, -2, -3, -4, 0, epochMs} {
				r.askAny(map[bool]string{true: "now", false: fmt.Sprint(special)}[special == epochMs], 8, offsetsAt(topic, 0, special))
			}
		}},
		{Name: "offsets-no-topics", Play: func(r *Run) {
			req := offsetsAt("", 0, 0)
			req.Topics = nil
			r.askAny("answer", 5, req)
		}},
		{Name: "offsets-max-timestamp-ties", Rules: []Rule{{pattern: "*.Timestamp", value: sinceEpoch}}, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			r.put(topic, batch{records: []kmsg.Record{at(value("a"), 7), at(value("b"), 7), at(value("c"), 3)}}.bytes(),
				batch{records: []kmsg.Record{at(value("d"), 7)}}.bytes())
			r.askAny("max", 7, offsetsAt(topic, 0, -3))
			r.askAny("at 7", 7, offsetsAt(topic, 0, epochMs+7))
		}},
	}
	return append(append(probes, deleteRecordsProbes()...), epochProbes()...)
}

func deleteRecordsProbes() []Probe {
	return []Probe{
		{Name: "deleterecords", Rules: offsetRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			r.put(topic, plain(3), plain(4))
			for _, offset := range []int64{0, 2, 1, 8, -2, 7, 7} {
				r.askAny(fmt.Sprint("to ", offset), 2, deleteRecords(topic, 0, offset))
				r.askAny(fmt.Sprint("start after ", offset), 5, offsetsAt(topic, 0, -2))
			}
		}},
		{Name: "deleterecords-to-end", Rules: offsetRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			r.put(topic, plain(3))
			r.askAny("minus 1", 1, deleteRecords(topic, 0, -1))
			r.askAny("fetch", 11, fetchFrom(topic, 3))
			r.put(topic, plain(1))
			r.askAny("fetch more", 11, fetchFrom(topic, 3))
		}},
		{Name: "deleterecords-unknown", Rules: offsetRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			r.askAny("topic", 2, deleteRecords(r.Name("none"), 0, 0))
			r.askAny("partition", 2, deleteRecords(topic, 5, 0))
			r.askAny("empty log", 2, deleteRecords(topic, 0, -1))
			r.askAny("empty log past", 2, deleteRecords(topic, 0, 1))
		}},
		{Name: "deleterecords-compacted", Rules: offsetRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1, "cleanup.policy", "compact")
			r.put(topic, batch{records: []kmsg.Record{keyed("a", "b")}}.bytes())
			r.askAny("answer", 2, deleteRecords(topic, 0, 1))
		}},
		{Name: "deleterecords-internal", Rules: offsetRules, Play: func(r *Run) {
			r.findCoordinator(r.Name("g"))
			r.askAny("answer", 2, deleteRecords("__consumer_offsets", 0, 0))
		}},
	}
}

func epochProbes() []Probe {
	return []Probe{
		{Name: "epochend", Rules: offsetRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			r.askAny("empty log", 4, epochEnd(topic, 0, -1, 0))
			r.put(topic, plain(3))
			for v := int16(2); v <= 4; v++ {
				for _, epoch := range []int32{0, 1, 5, -1} {
					r.askAny(fmt.Sprintf("v%d epoch %d", v, epoch), v, epochEnd(topic, 0, -1, epoch))
				}
			}
			r.askAny("current 0", 4, epochEnd(topic, 0, 0, 0))
			r.askAny("current 7", 4, epochEnd(topic, 0, 7, 0))
			r.askAny("unknown topic", 4, epochEnd(r.Name("none"), 0, -1, 0))
			r.askAny("unknown partition", 4, epochEnd(topic, 4, -1, 0))
		}},
	}
}
