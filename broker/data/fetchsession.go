package data

import (
	"millrace/net/wire"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Epochs with a meaning of their own in a Fetch request (KIP-227).
const (
	finalEpoch   = -1 // no session; closes the named one
	initialEpoch = 0  // a full fetch that may open a session
)

// openSession fills entries from the request and, if it names one, the session.
// It returns the error code that refuses the request as a whole.
func (op *fetchOp) openSession() int16 {
	now := op.s.now()
	req := &op.req
	if req.SessionEpoch == finalEpoch || req.SessionEpoch == initialEpoch {
		if req.SessionID != 0 {
			op.s.sessions.close(req.SessionID)
		}
		op.full = true
		op.eachAsked(func(k partitionKey, p *wire.FetchPartition) {
			op.entries = append(op.entries, fetchEntry{key: k, fetch: asked(k, p), lastEpoch: p.LastFetchedEpoch})
		})
		if req.SessionEpoch == initialEpoch { // also for no partitions yet, as Kafka
			op.session = op.s.sessions.open(op.byID(), now)
			if op.session != nil && !op.s.sessions.resize(op.session, len(op.entries)) {
				op.session = nil
			}
			if op.session != nil {
				for i := range op.entries {
					op.session.set(op.entries[i].key, op.entries[i].fetch)
				}
			}
		}
		return 0
	}
	x := op.s.sessions.use(req.SessionID, now)
	if x == nil {
		return kerr.FetchSessionIDNotFound.Code
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if req.SessionEpoch != x.epoch {
		return kerr.InvalidFetchSessionEpoch.Code
	}
	if x.byID != op.byID() {
		return kerr.FetchSessionTopicIDError.Code
	}
	op.eachAsked(func(k partitionKey, p *wire.FetchPartition) { x.set(k, asked(k, p)) })
	op.eachForgotten(x.forget)
	x.epoch = nextEpoch(x.epoch)
	if !op.s.sessions.resize(x, len(x.parts)) {
		return kerr.FetchSessionIDNotFound.Code
	}
	if len(x.parts) == 0 {
		op.s.sessions.close(x.id)
		op.full = true
		return 0
	}
	op.session = x
	for e := x.order.Front(); e != nil; e = e.Next() {
		p := e.Value.(*sessionPartition)
		op.entries = append(op.entries, fetchEntry{key: partitionKey{p.name, p.id, p.index}, fetch: *p, lastEpoch: -1})
	}
	return 0
}

// byID says whether the request names topics by id.
func (op *fetchOp) byID() bool { return op.r.Header.APIVersion >= 13 }

func (op *fetchOp) eachAsked(f func(partitionKey, *wire.FetchPartition)) {
	for i := range op.req.Topics {
		t := &op.req.Topics[i]
		name := op.topicName(t.Name)
		for j := range t.Partitions {
			p := &t.Partitions[j]
			f(partitionKey{name, t.TopicID, p.Index}, p)
		}
	}
}

func (op *fetchOp) eachForgotten(f func(partitionKey)) {
	for i := range op.req.Forgotten {
		t := &op.req.Forgotten[i]
		name := op.topicName(t.Name)
		for _, p := range t.Partitions {
			f(partitionKey{name, t.TopicID, p})
		}
	}
}

// topicName is the topic's name as a string that outlives the frame: the open
// topic's own, without a copy, if it is known.
func (op *fetchOp) topicName(name []byte) string {
	if t := op.s.topics.name(name); t != nil {
		return t.name
	}
	return string(name)
}

func asked(k partitionKey, p *wire.FetchPartition) sessionPartition {
	return sessionPartition{
		name: k.name, id: k.id, index: k.index,
		fetchOffset: p.FetchOffset, maxBytes: p.MaxBytes, currentLeaderEpoch: p.CurrentLeaderEpoch,
		sentHighWatermark: -1, sentLogStart: -1,
	}
}

// changed says whether the client must hear of a partition in an incremental
// answer, and remembers what it hears. Called with the session's mu held.
func (x *session) changed(e *fetchEntry) bool {
	el, ok := x.parts[e.key]
	if !ok { // forgotten by a later request meanwhile
		return false
	}
	p := el.Value.(*sessionPartition)
	differs := e.bytes > 0 || e.err != 0 || p.sentError || e.diverging.Epoch >= 0 ||
		p.sentHighWatermark != e.highWater || p.sentLogStart != e.logStart
	p.sentHighWatermark, p.sentLogStart, p.sentError = e.highWater, e.logStart, e.err != 0
	return differs
}
