package oracle

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// InitProducerId, idempotent produce and DescribeProducers. Producer ids are made
// up, which a broker accepts, so that both see the same ones.

var idempotenceRules = []Rule{Keyed("*.ActiveProducers", "ProducerID"), topicIDs, messages, endpoint}

// turn is one produce of an idempotent story: producer id, epoch, first sequence,
// number of records.
type turn struct {
	id    int64
	epoch int16
	seq   int32
	n     int
}

// story sends turns to one partition, in order, and tells each answer and the end
// of the log.
func story(name string, turns ...turn) Probe {
	return Probe{Name: "idempotent-" + name, Rules: idempotenceRules, Play: func(r *Run) {
		topic, _ := r.topic("t", 1)
		for i, t := range turns {
			set := batch{records: values(t.n), producer: &producer{t.id, t.epoch, t.seq}}.bytes()
			r.askAny(fmt.Sprintf("%d seq %d", i, t.seq), 9, produceTo(topic, 0, set))
		}
		r.askAny("end", 4, offsetsAt(topic, 0, -1))
		describe := kmsg.NewPtrDescribeProducersRequest()
		describe.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: []int32{0}}}
		r.askAny("producers", 0, describe)
	}}
}

func idempotenceProbes() []Probe {
	const id = 700001
	window := []turn{{id, 0, 0, 1}, {id, 0, 1, 1}, {id, 0, 2, 1}, {id, 0, 3, 1}, {id, 0, 4, 1}, {id, 0, 5, 1}}
	wrapped := []turn{{id, 0, 2147483645, 2}, {id, 0, 2147483647, 2}, {id, 0, 1, 1}, {id, 0, 2147483647, 2}}
	probes := []Probe{
		story("in-order", turn{id, 0, 0, 2}, turn{id, 0, 2, 3}),
		story("repeat", turn{id, 0, 0, 2}, turn{id, 0, 0, 2}, turn{id, 0, 2, 1}, turn{id, 0, 0, 2}),
		story("repeat-5-back", append(window[:5:5], turn{id, 0, 0, 1})...),
		story("repeat-6-back", append(window[:6:6], turn{id, 0, 0, 1}, turn{id, 0, 1, 1})...),
		story("gap", turn{id, 0, 0, 1}, turn{id, 0, 2, 1}),
		story("half-overlap", turn{id, 0, 0, 3}, turn{id, 0, 1, 3}),
		story("shorter-repeat", turn{id, 0, 0, 3}, turn{id, 0, 0, 2}),
		story("longer-repeat", turn{id, 0, 0, 2}, turn{id, 0, 0, 3}),
		story("unknown-producer-mid-way", turn{id, 0, 17, 1}, turn{id, 0, 18, 1}),
		story("epoch-up-at-0", turn{id, 0, 0, 1}, turn{id, 1, 0, 1}, turn{id, 1, 1, 1}),
		story("epoch-up-not-0", turn{id, 0, 0, 1}, turn{id, 1, 1, 1}),
		story("epoch-down", turn{id, 3, 0, 1}, turn{id, 2, 1, 1}, turn{id, 2, 0, 1}, turn{id, 3, 1, 1}),
		story("epoch-negative", turn{id, -1, 0, 1}),
		story("epoch-max", turn{id, 32767, 0, 1}, turn{id, 32767, 1, 1}),
		story("sequence-negative", turn{id, 0, -1, 1}),
		story("sequence-very-negative", turn{id, 0, -5, 1}),
		story("id-without-more", turn{-1, 0, 0, 1}),
		story("id-negative", turn{-7, 0, 0, 1}),
		story("two-producers", turn{id, 0, 0, 1}, turn{id + 1, 0, 0, 1}, turn{id, 0, 1, 1}, turn{id + 1, 0, 1, 1}),
		story("wrap", wrapped...),
		story("wrap-exact", turn{id, 0, 2147483647, 1}, turn{id, 0, 0, 1}, turn{id, 0, 0, 1}),
		story("wrap-gap", turn{id, 0, 2147483647, 1}, turn{id, 0, 1, 1}),
	}
	return append(probes, producerIDProbes()...)
}

func producerIDProbes() []Probe {
	rules := []Rule{producerIDs, messages, topicIDs}
	return []Probe{
		{Name: "initproducerid-plain", Rules: rules, Play: func(r *Run) {
			r.awaitProducerIDs()
			for v := range int16(6) {
				req := kmsg.NewPtrInitProducerIDRequest()
				req.ProducerID, req.ProducerEpoch, req.TransactionTimeoutMillis = -1, -1, 60000
				resp := ask[*kmsg.InitProducerIDResponse](r, fmt.Sprint("v", v), v, req)
				again := send[*kmsg.InitProducerIDResponse](r, r.Conn(), "again", v, req)
				r.Note(fmt.Sprintf("v%d next is larger", v), again.ProducerID > resp.ProducerID)
			}
		}},
		{Name: "initproducerid-with-epoch", Rules: rules, Play: func(r *Run) {
			r.awaitProducerIDs()
			req := kmsg.NewPtrInitProducerIDRequest()
			req.ProducerID, req.ProducerEpoch = 5, 3
			r.askAny("known id", 4, req)
			req.ProducerEpoch = -1
			r.askAny("id without epoch", 4, req)
			req.ProducerID, req.ProducerEpoch = -1, 3
			r.askAny("epoch without id", 4, req)
		}},
		{Name: "initproducerid-empty-transactional-id", Rules: rules, Play: func(r *Run) {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.ProducerID, req.ProducerEpoch, req.TransactionalID = -1, -1, ptr("")
			req.TransactionTimeoutMillis = 60000
			r.askAny("answer", 4, req)
		}},
		{Name: "describe-producers", Rules: append([]Rule{Keyed("*.Partitions", "Partition"), topicsByName}, rules...), Play: func(r *Run) {
			topic, _ := r.topic("t", 2)
			req := kmsg.NewPtrDescribeProducersRequest()
			req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: []int32{0, 1, 2}}, {Topic: r.Name("none"), Partitions: []int32{0}}, {Topic: "a/b", Partitions: []int32{0}}}
			r.askAny("answer", 0, req)
		}},
	}
}

// awaitProducerIDs waits until the broker hands out producer ids: a fresh Kafka
// first fetches a block of them.
func (r *Run) awaitProducerIDs() {
	r.until("producer ids", func() bool {
		req := kmsg.NewPtrInitProducerIDRequest()
		return send[*kmsg.InitProducerIDResponse](r, r.Conn(), "producer ids", 4, req).ErrorCode == 0
	})
}
