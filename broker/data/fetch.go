package data

import (
	"sync"
	"sync/atomic"
	"time"

	"millrace/net/server"
	"millrace/net/wire"
	"millrace/replication"
	"millrace/segment"

	"github.com/twmb/franz-go/pkg/kerr"
)

// fetchCounters are totals since start, for metrics.
type fetchCounters struct {
	requests, bytes, parked, cold atomic.Int64
}

// fetchOp is one Fetch request from begin to reply. One goroutine at a time works
// on it: the connection's loop, or a reader while it looks things up on the disk.
type fetchOp struct {
	s        *Service
	r        *server.Request
	req      wire.FetchRequest
	maxBytes int
	session  *session // nil: a full fetch without session
	full     bool     // answer every partition, not only what changed
	deadline time.Time

	entries []fetchEntry
	ranges  []segment.Range
	resp    wire.FetchResponse
	parts   []server.Part
	bytes   int  // in ranges
	failed  bool // some partition has an error: answer at once
	// limited: some partition reached its own limit, or has a batch that no longer fits behind the others: answer at once
	limited bool

	wait *fetchWait // while parked
}

// fetchEntry is one partition of a fetch, what is asked and what was found.
type fetchEntry struct {
	key        partitionKey
	fetch      sessionPartition
	lastEpoch  int32
	err        int16
	partition  *replication.Partition
	highWater  int64
	lastStable int64
	logStart   int64
	diverging  wire.DivergingEpoch // Epoch -1: none
	quiet      bool                // nothing to tell: left out of the answer
	first, n   int                 // ranges[first : first+n]
	bytes      int
}

var fetchOps = sync.Pool{New: func() any { return new(fetchOp) }}

// BeginFetch starts a Fetch request. It never blocks: what is in memory (or in the
// page cache) is answered at once, an empty answer waits for data or its time, and
// look-ups on the disk go to the readers. A fetch belongs to its connection's loop;
// called with wait, on another goroutine, it goes there first.
func (s *Service) BeginFetch(r *server.Request, wait bool) bool {
	if wait {
		r.Conn.Post(fetchTurn{s, r})
		return true
	}
	op := fetchOps.Get().(*fetchOp)
	op.s, op.r = s, r
	if err := op.req.Decode(r.Header.APIVersion, r.Body); err != nil {
		op.free()
		r.Fail("malformed Fetch request: " + err.Error())
		return true
	}
	s.fetched.requests.Add(1)
	op.maxBytes = int(min(op.req.MaxBytes, s.images.Image().Config.FetchMaxBytes))
	op.deadline = r.Arrived.Add(time.Duration(op.req.MaxWaitMs) * time.Millisecond)
	if code := op.openSession(); code != 0 {
		op.refuse(code)
		return true
	}
	op.step(false)
	return true
}

// fetchTurn begins a fetch that waited for its turn behind other requests.
type fetchTurn struct {
	s *Service
	r *server.Request
}

// Run is called on the connection's loop.
func (t fetchTurn) Run() {
	defer contain(t.s.log, t.r)
	t.s.BeginFetch(t.r, false)
}

// step looks at every partition, then answers, parks, or asks a reader.
func (op *fetchOp) step(block bool) {
	if err := op.collect(block); err != nil {
		op.goCold()
		return
	}
	if op.satisfied() || !op.park() {
		op.finish()
	}
}

// goCold hands the fetch to the readers, which may wait for the disk.
func (op *fetchOp) goCold() {
	op.release()
	op.s.fetched.cold.Add(1)
	op.s.reads.submit(op)
}

// satisfied says whether the answer is due: enough bytes, an error, or nothing to
// wait for (KIP-74; a partition at its own limit cannot give more either).
func (op *fetchOp) satisfied() bool {
	return op.failed || op.limited || op.bytes >= int(op.req.MinBytes) || op.req.MaxWaitMs <= 0 || len(op.entries) == 0 || op.r.Conn.Closed()
}

// collect reads each partition in order into entries and ranges. The only error is
// segment.ErrWouldBlock; what was collected until then is released by the caller.
func (op *fetchOp) collect(block bool) error {
	op.bytes, op.failed, op.limited = 0, false, false
	op.ranges = op.ranges[:0]
	for i := range op.entries {
		e := &op.entries[i]
		if err := op.read(e, block); err != nil {
			return err
		}
		op.failed = op.failed || e.err != 0 || e.diverging.Epoch >= 0
		op.bytes += e.bytes
	}
	return nil
}

// read looks at one partition.
func (op *fetchOp) read(e *fetchEntry, block bool) error {
	e.first, e.n, e.bytes, e.err = len(op.ranges), 0, 0, 0
	e.highWater, e.lastStable, e.logStart = -1, -1, -1
	e.diverging = wire.DivergingEpoch{Epoch: -1, EndOffset: -1}
	p, err := op.find(e)
	if err == nil {
		err = p.CheckLeaderEpoch(e.fetch.currentLeaderEpoch)
	}
	if err != nil {
		e.err, e.partition = ErrorCode(err), nil
		return nil
	}
	e.partition = p
	// The bounds are read before the data, so that a move in between is seen as one
	// (park compares).
	e.highWater, e.lastStable, e.logStart = p.HighWatermark(), p.LastStableOffset(), p.LogStartOffset()
	if op.diverged(e) {
		return nil
	}
	limit := min(int(e.fetch.maxBytes), op.maxBytes-op.bytes)
	first := op.bytes == 0
	if limit <= 0 && !first {
		if e.fetch.fetchOffset < e.logStart || e.fetch.fetchOffset > p.LogEndOffset() {
			err = segment.ErrOffsetOutOfRange
		}
	} else {
		op.ranges, err = p.Read(op.ranges, e.fetch.fetchOffset, limit, replication.Isolation(op.req.Isolation), first, block)
	}
	switch {
	case err == nil:
	case err == segment.ErrWouldBlock:
		return err
	default:
		op.drop(e.first)
		e.err = ErrorCode(err)
		e.highWater, e.lastStable, e.logStart = -1, -1, -1
		return nil
	}
	e.n = len(op.ranges) - e.first
	for _, x := range op.ranges[e.first:] {
		e.bytes += x.Len
	}
	op.limited = op.limited || e.bytes > 0 && e.bytes >= int(e.fetch.maxBytes) || e.bytes == 0 && !first && e.fetch.fetchOffset < op.bound(e)
	return nil
}

// bound is the offset that this reader may not reach in the partition of an entry.
func (op *fetchOp) bound(e *fetchEntry) int64 {
	if replication.Isolation(op.req.Isolation) == replication.ReadCommitted {
		return e.lastStable
	}
	return e.highWater
}

// find resolves the partition of an entry: by id from version 13 on.
func (op *fetchOp) find(e *fetchEntry) (*replication.Partition, error) {
	if op.req.ReplicaID >= 0 { // no followers: nobody may read as one
		return nil, kerr.NotLeaderForPartition
	}
	var t *topic
	if op.r.Header.APIVersion >= 13 {
		if t = op.s.topics.id(e.key.id); t == nil {
			return nil, kerr.UnknownTopicID
		}
	} else if t = op.s.topics.name([]byte(e.key.name)); t == nil {
		return nil, kerr.UnknownTopicOrPartition
	}
	return t.led(e.key.index)
}

// diverged says whether the reader's last epoch ended before its offset: it then
// holds records this log does not (KIP-595).
func (op *fetchOp) diverged(e *fetchEntry) bool {
	if e.lastEpoch < 0 {
		return false
	}
	epoch, end := endOfEpoch(e.partition, e.lastEpoch)
	if epoch < 0 { // an epoch this log never had: where the two part cannot be said
		e.err = kerr.OffsetOutOfRange.Code
		e.highWater, e.lastStable, e.logStart = -1, -1, -1
		return true
	}
	if epoch == e.lastEpoch && end >= e.fetch.fetchOffset {
		return false
	}
	e.diverging = wire.DivergingEpoch{Epoch: epoch, EndOffset: end}
	return true
}

// drop releases the ranges from index first on.
func (op *fetchOp) drop(first int) {
	for i := first; i < len(op.ranges); i++ {
		if x := op.ranges[i].Ref; x != nil {
			x.Release()
		}
		op.ranges[i] = segment.Range{}
	}
	op.ranges = op.ranges[:first]
}

// release gives back everything collected, before another look.
func (op *fetchOp) release() { op.drop(0) }

func (op *fetchOp) free() {
	clear(op.entries)
	clear(op.parts)
	clear(op.ranges)
	op.entries, op.ranges, op.parts = op.entries[:0], op.ranges[:0], op.parts[:0]
	op.s, op.r, op.session, op.wait = nil, nil, nil, nil
	op.resp.B = nil
	op.full = false
	fetchOps.Put(op)
}
