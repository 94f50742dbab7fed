package wire

// AbortedTransaction is a transaction that a read-committed consumer has to leave
// out: the records of ProducerID from FirstOffset to its abort marker.
type AbortedTransaction struct {
	ProducerID  int64
	FirstOffset int64
}

// DivergingEpoch tells a follower where its log leaves the leader's (v12+).
type DivergingEpoch struct {
	Epoch     int32
	EndOffset int64
}

// SnapshotID names the snapshot to load in place of records that are gone (v12+).
type SnapshotID struct {
	EndOffset int64
	Epoch     int32
}

// FetchPartitionResponse is the answer for one partition but for the records.
type FetchPartitionResponse struct {
	Index                int32
	ErrorCode            int16
	HighWatermark        int64
	LastStableOffset     int64
	LogStartOffset       int64                // v5+
	AbortedTransactions  []AbortedTransaction // nil: null
	PreferredReadReplica int32                // v11+; -1 if none
	DivergingEpoch       *DivergingEpoch      // v12+
	CurrentLeader        *LeaderHint          // v12+
	SnapshotID           *SnapshotID          // v12+

	// RecordsBytes is the number of record bytes that the caller sends at the split
	// point of this partition. Negative: null.
	RecordsBytes int
}

// Split is a point of a Fetch response at which bytes that are not in its buffer
// are sent: N bytes before position At of the buffer.
//
//	buffer   |size header topic partition len|tags partition len|tags ... |
//	wire     |------------ buffer -----------|records|-- buffer --|records|-
//	                                         ^ At             ^ At
type Split struct {
	At int // position in the buffer, bytes
	N  int // bytes of records
}

// FetchResponse appends a Fetch response v4-v18, driven by the caller in wire
// order: BeginTopics, then for each topic BeginTopic, its Partitions and EndTopic,
// then End. The records are not copied: Splits says where they belong. Splits keeps
// its memory from response to response.
type FetchResponse struct {
	B      []byte
	Splits []Split

	version  int16
	flexible bool
	records  int
}

// Reset begins a response in dst[:0], which must not be used elsewhere; header and
// size included.
func (w *FetchResponse) Reset(dst []byte, version int16, correlationID, throttleMs int32, errorCode int16, sessionID int32) {
	w.version, w.flexible = version, version >= 12
	w.Splits, w.records = w.Splits[:0], 0
	w.B = BeginResponse(dst, correlationID, w.flexible)
	w.B = appendInt32(w.B, throttleMs)
	if version >= 7 {
		w.B = appendInt16(w.B, errorCode)
		w.B = appendInt32(w.B, sessionID)
	}
}

// RecordsBytes is the number of record bytes that the partitions so far announced.
func (w *FetchResponse) RecordsBytes() int { return w.records }

// BeginTopics says how many topics follow.
func (w *FetchResponse) BeginTopics(n int) { w.B = appendCount(w.B, n, w.flexible) }

// BeginTopic starts a topic of n partitions. Up to v12 it is known by name, then by id.
func (w *FetchResponse) BeginTopic(name []byte, id [16]byte, n int) {
	if w.version >= 13 {
		w.B = append(w.B, id[:]...)
	} else {
		w.B = appendString(w.B, name, w.flexible)
	}
	w.B = appendCount(w.B, n, w.flexible)
}

// Partition appends one partition of the topic begun last, and a split if it has
// records.
func (w *FetchResponse) Partition(p *FetchPartitionResponse) {
	b := appendInt32(w.B, p.Index)
	b = appendInt16(b, p.ErrorCode)
	b = appendInt64(b, p.HighWatermark)
	b = appendInt64(b, p.LastStableOffset)
	if w.version >= 5 {
		b = appendInt64(b, p.LogStartOffset)
	}
	if p.AbortedTransactions == nil {
		b = appendCount(b, -1, w.flexible)
	} else {
		b = appendCount(b, len(p.AbortedTransactions), w.flexible)
	}
	for i := range p.AbortedTransactions {
		a := &p.AbortedTransactions[i]
		b = appendInt64(b, a.ProducerID)
		b = appendInt64(b, a.FirstOffset)
		if w.flexible {
			b = append(b, 0)
		}
	}
	if w.version >= 11 {
		b = appendInt32(b, p.PreferredReadReplica)
	}
	b = appendLength(b, max(p.RecordsBytes, -1), w.flexible)
	if p.RecordsBytes > 0 {
		w.Splits = append(w.Splits, Split{At: len(b), N: p.RecordsBytes})
		w.records += p.RecordsBytes
	}
	if w.flexible {
		b = p.appendTags(b)
	}
	w.B = b
}

func (p *FetchPartitionResponse) appendTags(b []byte) []byte {
	at := len(b)
	b = append(b, 0)
	if d := p.DivergingEpoch; d != nil {
		b[at]++
		b = append(b, 0, 13)
		b = appendInt32(b, d.Epoch)
		b = appendInt64(b, d.EndOffset)
		b = append(b, 0)
	}
	if p.CurrentLeader != nil {
		b[at]++
		b = appendLeaderTag(b, 1, p.CurrentLeader)
	}
	if s := p.SnapshotID; s != nil {
		b[at]++
		b = append(b, 2, 13)
		b = appendInt64(b, s.EndOffset)
		b = appendInt32(b, s.Epoch)
		b = append(b, 0)
	}
	return b
}

// EndTopic ends the topic begun last.
func (w *FetchResponse) EndTopic() {
	if w.flexible {
		w.B = append(w.B, 0)
	}
}

// End completes the response, size included. nodes are the brokers that the leader
// hints name (v16+). What is sent is B with the records at Splits.
func (w *FetchResponse) End(nodes []NodeEndpoint) {
	if w.flexible {
		w.B = appendEndpointsTag(w.B, nodes, w.version >= 16)
	}
	FinishResponse(w.B, w.records)
}
