package data

import (
	"millrace/net/server"
	"millrace/net/wire"
	"millrace/replication"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/valyala/bytebufferpool"
)

// noAborted is an empty list of aborted transactions, as opposed to null.
var noAborted = []wire.AbortedTransaction{}

// refuse answers the request as a whole with an error.
func (op *fetchOp) refuse(code int16) {
	buf := bytebufferpool.Get()
	op.resp.Reset(buf.B, op.r.Header.APIVersion, op.r.Header.CorrelationID, 0, code, 0)
	op.resp.BeginTopics(0)
	op.resp.End(nil)
	buf.B = op.resp.B
	r := op.r
	op.free()
	r.Reply(server.PooledPart(buf, 0))
}

// finish encodes the answer and hands it to the connection: header bytes of a
// pooled buffer, with the ranges of the log between them. The ranges' references
// go with it.
func (op *fetchOp) finish() {
	sessionID := int32(0)
	if x := op.session; x != nil {
		sessionID = x.id
		x.mu.Lock()
		for i := range op.entries {
			e := &op.entries[i]
			e.quiet = !x.changed(e) && !op.full
			if e.bytes > 0 {
				x.servedLast(e.key)
			}
		}
		x.mu.Unlock()
	}
	op.s.fetched.bytes.Add(int64(op.bytes))

	buf := bytebufferpool.Get()
	op.resp.Reset(buf.B, op.r.Header.APIVersion, op.r.Header.CorrelationID, 0, 0, sessionID)
	op.resp.BeginTopics(op.countTopics())
	for i := 0; i < len(op.entries); {
		n, said := op.topicRun(i)
		if said > 0 {
			k := op.entries[i].key
			op.resp.BeginTopic([]byte(k.name), k.id, said)
			for j := i; j < i+n; j++ {
				if e := &op.entries[j]; !e.quiet {
					op.encode(e)
				}
			}
			op.resp.EndTopic()
		}
		i += n
	}
	op.resp.End(nil)
	buf.B = op.resp.B
	op.interleave(buf)
	r := op.r
	r.Reply(op.parts...)
	op.ranges = op.ranges[:0] // theirs now
	op.free()
}

// topicRun is the length of the run of entries of one topic from i on, and how many
// of them are told.
func (op *fetchOp) topicRun(i int) (n, said int) {
	k := op.entries[i].key
	for j := i; j < len(op.entries) && op.entries[j].key.name == k.name && op.entries[j].key.id == k.id; j++ {
		n++
		if !op.entries[j].quiet {
			said++
		}
	}
	return n, said
}

func (op *fetchOp) countTopics() (topics int) {
	for i := 0; i < len(op.entries); {
		n, said := op.topicRun(i)
		if said > 0 {
			topics++
		}
		i += n
	}
	return topics
}

func (op *fetchOp) encode(e *fetchEntry) {
	p := wire.FetchPartitionResponse{
		Index:                e.key.index,
		ErrorCode:            e.err,
		HighWatermark:        e.highWater,
		LastStableOffset:     e.lastStable,
		LogStartOffset:       e.logStart,
		PreferredReadReplica: -1,
		RecordsBytes:         e.bytes,
	}
	if op.listsAborted(e) {
		p.AbortedTransactions = noAborted
	}
	if e.diverging.Epoch >= 0 {
		p.DivergingEpoch = &e.diverging
	}
	var leader wire.LeaderHint
	if e.err != 0 && op.leaderHint(e, &leader) {
		p.CurrentLeader = &leader
	}
	op.resp.Partition(&p)
}

// listsAborted says whether an entry has a list of aborted transactions, empty, or
// null. Kafka sends a list to read_committed readers, and with the errors it finds
// before it looks at the log, whatever the isolation level.
func (op *fetchOp) listsAborted(e *fetchEntry) bool {
	switch e.err {
	case 0:
		return replication.Isolation(op.req.Isolation) == replication.ReadCommitted
	case kerr.UnknownTopicOrPartition.Code, kerr.UnknownTopicID.Code:
		return true
	}
	return false
}

// leaderHintSince is the first version of Fetch whose answers say who leads a
// partition that this broker does not (KIP-951).
const leaderHintSince = 16

// leaderHint fills in who leads the partition of an entry that was refused because
// of its leader or leader epoch. The answer is false if there is nothing to say.
func (op *fetchOp) leaderHint(e *fetchEntry, leader *wire.LeaderHint) bool {
	if op.r.Header.APIVersion < leaderHintSince || e.err != kerr.NotLeaderForPartition.Code && e.err != kerr.FencedLeaderEpoch.Code {
		return false
	}
	t := op.s.images.Image().TopicByID(e.key.id)
	if t == nil || e.key.index < 0 || int(e.key.index) >= len(t.Partitions) {
		return false
	}
	p := &t.Partitions[e.key.index]
	*leader = wire.LeaderHint{LeaderID: p.Leader, LeaderEpoch: p.LeaderEpoch}
	return true
}

// interleave lists the parts of the response: the buffer cut at the splits, and the
// ranges of the entry that belongs to each.
func (op *fetchOp) interleave(buf *bytebufferpool.ByteBuffer) {
	at, entry := 0, 0
	for _, s := range op.resp.Splits {
		op.parts = append(op.parts, server.Part{Bytes: buf.B[at:s.At]})
		at = s.At
		for op.entries[entry].bytes == 0 || op.entries[entry].quiet {
			entry++
		}
		e := &op.entries[entry]
		for _, x := range op.ranges[e.first : e.first+e.n] {
			op.parts = append(op.parts, server.Part{Bytes: x.Mem, Fd: x.Fd, Off: x.Off, Len: x.Len, Ref: x.Ref})
		}
		entry++
	}
	op.parts = append(op.parts, server.PooledPart(buf, at))
}
