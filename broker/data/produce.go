package data

import (
	"sync"
	"sync/atomic"

	"millrace/net/server"
	"millrace/net/wire"
	"millrace/segment/batch"

	"github.com/twmb/franz-go/pkg/kerr"
)

// produceCounters are totals since start, for metrics.
type produceCounters struct {
	requests, batches, records, bytes, rejected atomic.Int64
}

// produceOp is one Produce request from begin to reply. It is pooled: it belongs
// to the request until finish has encoded the answer.
type produceOp struct {
	s       *Service
	r       *server.Request
	req     wire.ProduceRequest
	results []produceResult // one for each partition of the request, in its order
	names   []byte          // the topics' names, once the frame is given back

	// pending counts appends that are not yet acknowledged, plus one while begin
	// still walks the request. Whoever brings it to zero finishes.
	pending atomic.Int32
}

// produceResult is the answer for one partition. Its slot is written by begin, and
// err once more by the acknowledgement; pending orders the two before finish.
type produceResult struct {
	err          int16
	baseOffset   int64
	appendTimeMs int64
	logStart     int64
	message      string
	records      []batch.RecordError
	lost         error // the append was taken, and will never be acknowledged; set by Appended
}

var produceOps = sync.Pool{New: func() any { return new(produceOp) }}

// BeginProduce starts a Produce request. Without wait it runs on the connection's
// event loop, and answers false, having done nothing, if a batch needs work that
// does not belong there (recompression, decompression): the caller then calls
// again with wait on another goroutine.
//
// The batches are checked, given their offsets and copied to the log before it
// returns; the reply goes out when the last of them counts as written.
func (s *Service) BeginProduce(r *server.Request, wait bool) bool {
	op := produceOps.Get().(*produceOp)
	op.s, op.r = s, r
	if err := op.req.Decode(r.Header.APIVersion, r.Body); err != nil {
		op.free()
		r.Fail("malformed Produce request: " + err.Error())
		return true
	}
	heavy, swapping := op.heavy()
	if (heavy || swapping) && !wait {
		op.free()
		return false
	}
	if heavy {
		// More at a time would be no faster and take the memory of that many batches.
		s.working <- struct{}{}
		defer func() { <-s.working }()
	}
	s.produced.requests.Add(1)
	n := 0
	for i := range op.req.Topics {
		n += len(op.req.Topics[i].Partitions)
	}
	if cap(op.results) < n {
		op.results = make([]produceResult, n)
	}
	op.results = op.results[:n]

	op.pending.Store(1)
	op.appendAll()
	op.keepNames()
	r.FreeFrame()
	if op.pending.Add(-1) == 0 {
		op.finish()
	}
	return true
}

// keepNames moves the names that the answer repeats out of the frame, and forgets
// the rest of it.
func (op *produceOp) keepNames() {
	op.names = op.names[:0]
	for i := range op.req.Topics {
		op.names = append(op.names, op.req.Topics[i].Name...)
	}
	at := 0
	for i := range op.req.Topics {
		t := &op.req.Topics[i]
		n := len(t.Name)
		t.Name = op.names[at : at+n]
		at += n
		for j := range t.Partitions {
			t.Partitions[j].Records = nil
		}
	}
	op.req.TransactionalID = nil
}

// topic resolves a topic of the request: by id from version 13 on, by name before.
func (op *produceOp) topic(t *wire.ProduceTopic) (*topic, *kerr.Error) {
	if op.r.Header.APIVersion >= 13 {
		if x := op.s.topics.id(t.TopicID); x != nil {
			return x, nil
		}
		return nil, kerr.UnknownTopicID
	}
	if x := op.s.topics.name(t.Name); x != nil {
		return x, nil
	}
	return nil, kerr.UnknownTopicOrPartition
}

// heavy says whether a batch of the request needs more than a look at its bytes; and whether one may have to wait
// because the log it goes to is being replaced by one in another log dir.
func (op *produceOp) heavy() (heavy, swapping bool) {
	nowMs := op.s.now().UnixMilli()
	for i := range op.req.Topics {
		t := &op.req.Topics[i]
		x, err := op.topic(t)
		if err != nil {
			continue
		}
		cfg := x.config.Load()
		for j := range t.Partitions {
			if b := batch.Batch(t.Partitions[j].Records); len(b) >= batch.HeaderSize && needsWorker(cfg, b, nowMs) {
				heavy = true
			}
			if p := x.partition(t.Partitions[j].Index); p != nil && p.Swapping() {
				swapping = true
			}
		}
	}
	return heavy, swapping
}

// appendAll appends each batch of the request in order and notes the outcome.
func (op *produceOp) appendAll() {
	k := 0
	for i := range op.req.Topics {
		t := &op.req.Topics[i]
		x, unknown := op.topic(t)
		for j := range t.Partitions {
			res := &op.results[k]
			*res = produceResult{baseOffset: -1, appendTimeMs: -1, logStart: -1}
			switch {
			case op.req.Acks < -1 || op.req.Acks > 1:
				res.err = kerr.InvalidRequiredAcks.Code
			case unknown != nil:
				res.err = unknown.Code
			default:
				op.appendOne(x, &t.Partitions[j], k, res)
			}
			if res.err != 0 {
				op.s.produced.rejected.Add(1)
			}
			k++
		}
	}
}

// appendOne checks and appends one batch. res.err is set before an acknowledgement
// can arrive, and not touched after a successful append.
func (op *produceOp) appendOne(t *topic, in *wire.ProducePartition, slot int, res *produceResult) {
	p, err := t.led(in.Index)
	if err == nil {
		err = op.mayAppend(t)
	}
	if err != nil {
		res.err = ErrorCode(err)
		return
	}
	cfg := t.config.Load()
	b, err := op.check(cfg, in, res)
	if err != nil {
		if res.message == "" {
			res.message = err.Error()
		}
		res.refuse(p, err)
		return
	}
	// With acks=0 the request stays open until the batch is written, too: that is
	// what holds back a producer that is faster than the disk.
	op.pending.Add(1)
	info, err := p.AppendAsLeader(b, op, slot)
	if err != nil {
		op.pending.Add(-1) // begin's own count keeps it above zero
		res.message = err.Error()
		res.refuse(p, err)
		return
	}
	res.baseOffset, res.logStart = info.BaseOffset, info.LogStartOffset
	if info.Duplicate {
		res.appendTimeMs = info.AppendTimeMs
		return
	}
	if cfg.LogAppendTime {
		res.appendTimeMs = b.MaxTimestamp()
	}
	op.s.produced.batches.Add(1)
	op.s.produced.records.Add(int64(b.Count()))
	op.s.produced.bytes.Add(int64(len(b)))
}

// adminClientID is the client id Kafka lets write to internal topics.
const adminClientID = "__admin_client"

func (op *produceOp) mayAppend(t *topic) error {
	if len(t.name) > 2 && t.name[:2] == "__" && string(op.r.Header.ClientID) != adminClientID {
		if m := op.s.images.Image().Topic(t.name); m != nil && m.Internal {
			return kerr.InvalidTopicException
		}
	}
	return nil
}

// Appended is called when one batch counts as written, or never will.
func (op *produceOp) Appended(slot int, err error) {
	if err != nil {
		op.results[slot].lost = err // the loop may be at the other fields yet
	}
	if op.pending.Add(-1) == 0 {
		op.finish()
	}
}

// finish sends the reply. With acks=0 there is none: an error closes the
// connection, which is the only way to tell such a producer.
func (op *produceOp) finish() {
	r := op.r
	for i := range op.results {
		if err := op.results[i].lost; err != nil {
			op.results[i] = produceResult{err: ErrorCode(err), baseOffset: -1, appendTimeMs: -1, logStart: -1, message: err.Error()}
		}
	}
	if op.req.Acks == 0 {
		for i := range op.results {
			if op.results[i].err != 0 {
				op.free()
				r.Fail("produce with acks=0 failed")
				return
			}
		}
		op.free()
		r.ReplyNothing()
		return
	}
	part := op.encode()
	op.free()
	r.Reply(part)
}

func (op *produceOp) free() {
	clear(op.results)
	op.results = op.results[:0]
	op.s, op.r = nil, nil
	produceOps.Put(op)
}
