package wire

import "fmt"

// Versions of Produce that the codec knows: v9 is flexible, v13 has topic ids.
const (
	ProduceMinVersion = 3
	ProduceMaxVersion = 13
)

// produceStructBytes is a little less than half of the smallest partition that has a
// batch, with its topic around it: two structs.
const produceStructBytes = 32

// ProduceRequest is a Produce request v3-v13. Byte fields are views into the
// frame; Decode reuses the slices.
type ProduceRequest struct {
	TransactionalID []byte // nil if null
	Acks            int16
	TimeoutMs       int32
	Topics          []ProduceTopic
}

// ProduceTopic has a name before v13 and an id from v13 on.
type ProduceTopic struct {
	Name       []byte
	TopicID    [16]byte
	Partitions []ProducePartition
}

// ProducePartition has the records for one partition: what the client sent, not yet
// looked into.
type ProducePartition struct {
	Index   int32
	Records []byte
	Null    bool // the records are null rather than empty
}

// Decode fills r from the body of a request. Bytes after its end are ignored, as Kafka
// does. On error the content of r is meaningless.
func (r *ProduceRequest) Decode(version int16, body []byte) error {
	if version < ProduceMinVersion || version > ProduceMaxVersion {
		return fmt.Errorf("decode Produce: version %d is not served", version)
	}
	d := decoder{b: body, structs: anyStructs + len(body)/produceStructBytes}
	flexible := version >= 9
	r.TransactionalID = d.nullableString(flexible)
	r.Acks = d.int16()
	r.TimeoutMs = d.int32()
	topicLeast, partitionLeast := 6, 8
	if flexible {
		topicLeast, partitionLeast = 3, 6
	}
	r.Topics = resize(r.Topics, d.structCount(flexible, topicLeast))
	for i := range r.Topics {
		t := &r.Topics[i]
		if version >= 13 {
			t.Name, t.TopicID = nil, d.uuid()
		} else {
			t.Name, t.TopicID = d.string(flexible), [16]byte{}
		}
		t.Partitions = resize(t.Partitions, d.structCount(flexible, partitionLeast))
		for j := range t.Partitions {
			p := &t.Partitions[j]
			p.Index = d.int32()
			p.Records = d.nullableBytes(flexible)
			p.Null = p.Records == nil
			if flexible {
				d.skipTags()
			}
		}
		if flexible {
			d.skipTags()
		}
		if d.err != nil {
			break
		}
	}
	if flexible {
		d.skipTags()
	}
	if d.err != nil {
		return fmt.Errorf("decode Produce v%d: %w", version, d.err)
	}
	return nil
}

// RecordError says why one record of a batch was refused (v8+).
type RecordError struct {
	BatchIndex int32
	Message    *string
}

// ProducePartitionResponse is what became of the records of one partition.
type ProducePartitionResponse struct {
	Index           int32
	ErrorCode       int16
	BaseOffset      int64 // of the first record; -1 on error
	LogAppendTimeMs int64 // -1 unless the topic's timestamps are the broker's
	LogStartOffset  int64 // v5+
	RecordErrors    []RecordError
	ErrorMessage    *string
	CurrentLeader   *LeaderHint // v10+, nil if there is nothing to hint at
}

// ProduceResponse appends a Produce response v3-v13, driven by the caller in wire
// order: BeginTopics, then for each topic BeginTopic, its Partitions and EndTopic,
// then End. B is the response so far.
type ProduceResponse struct {
	B        []byte
	version  int16
	flexible bool
}

// Reset begins a response in dst[:0], which must not be used elsewhere; header and
// size included.
func (w *ProduceResponse) Reset(dst []byte, version int16, correlationID int32) {
	w.version, w.flexible = version, version >= 9
	w.B = BeginResponse(dst, correlationID, w.flexible)
}

// BeginTopics says how many topics follow.
func (w *ProduceResponse) BeginTopics(n int) { w.B = appendCount(w.B, n, w.flexible) }

// BeginTopic starts a topic of n partitions. Up to v12 it is known by name, then by id.
func (w *ProduceResponse) BeginTopic(name []byte, id [16]byte, n int) {
	if w.version >= 13 {
		w.B = append(w.B, id[:]...)
	} else {
		w.B = appendString(w.B, name, w.flexible)
	}
	w.B = appendCount(w.B, n, w.flexible)
}

// Partition appends one partition of the topic begun last.
func (w *ProduceResponse) Partition(p *ProducePartitionResponse) {
	b := appendInt32(w.B, p.Index)
	b = appendInt16(b, p.ErrorCode)
	b = appendInt64(b, p.BaseOffset)
	b = appendInt64(b, p.LogAppendTimeMs)
	if w.version >= 5 {
		b = appendInt64(b, p.LogStartOffset)
	}
	if w.version >= 8 {
		b = appendCount(b, len(p.RecordErrors), w.flexible)
		for i := range p.RecordErrors {
			e := &p.RecordErrors[i]
			b = appendInt32(b, e.BatchIndex)
			b = appendNullableString(b, e.Message, w.flexible)
			if w.flexible {
				b = append(b, 0)
			}
		}
		b = appendNullableString(b, p.ErrorMessage, w.flexible)
	}
	if w.flexible {
		if p.CurrentLeader != nil && w.version >= 10 {
			b = append(b, 1)
			b = appendLeaderTag(b, 0, p.CurrentLeader)
		} else {
			b = append(b, 0)
		}
	}
	w.B = b
}

// EndTopic ends the topic begun last.
func (w *ProduceResponse) EndTopic() {
	if w.flexible {
		w.B = append(w.B, 0)
	}
}

// End completes the response, size included, and returns it. nodes are the brokers
// that the leader hints name (v10+).
func (w *ProduceResponse) End(throttleMs int32, nodes []NodeEndpoint) []byte {
	w.B = appendInt32(w.B, throttleMs)
	if w.flexible {
		w.B = appendEndpointsTag(w.B, nodes, w.version >= 10)
	}
	FinishResponse(w.B, 0)
	return w.B
}

// appendLeaderTag appends a tagged field with a leader: 4 + 4 bytes and no tags.
func appendLeaderTag(b []byte, tag byte, l *LeaderHint) []byte {
	b = append(b, tag, 9)
	b = appendInt32(b, l.LeaderID)
	b = appendInt32(b, l.LeaderEpoch)
	return append(b, 0)
}
