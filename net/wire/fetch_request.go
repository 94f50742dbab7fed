package wire

import (
	"fmt"
	"math"
)

// Versions of Fetch that the codec knows: v7 has sessions, v12 is flexible, v13
// has topic ids.
const (
	FetchMinVersion = 4
	FetchMaxVersion = 18
)

// fetchStructBytes is a little less than half of the smallest topic of one partition:
// two structs.
const fetchStructBytes = 8

// FetchRequest is a Fetch request v4-v18. Fields that a version lacks have the
// defaults of Kafka's message definition. Byte fields are views into the frame;
// Decode reuses the slices.
type FetchRequest struct {
	ClusterID    []byte // v12+, tagged; nil if absent
	ReplicaID    int32  // -1 for a consumer; from v15 on out of ReplicaState
	ReplicaEpoch int64  // v15+; -1 if unknown
	MaxWaitMs    int32
	MinBytes     int32
	MaxBytes     int32
	Isolation    int8 // 0 read uncommitted, 1 read committed
	SessionID    int32
	SessionEpoch int32 // -1: no session
	Topics       []FetchTopic
	Forgotten    []ForgottenTopic // v7+: to be removed from the session
	RackID       []byte           // v11+; empty if none
}

// FetchTopic has a name before v13 and an id from v13 on.
type FetchTopic struct {
	Name       []byte
	TopicID    [16]byte
	Partitions []FetchPartition
}

// FetchPartition is one partition to read.
type FetchPartition struct {
	Index              int32
	CurrentLeaderEpoch int32 // v9+; -1 if the client does not know it
	FetchOffset        int64
	LastFetchedEpoch   int32 // v12+; -1 if none
	LogStartOffset     int64 // v5+, of a follower; -1 for a consumer
	MaxBytes           int32
	ReplicaDirectoryID [16]byte // v17+, tagged
	HighWatermark      int64    // v18+, tagged, of a follower; MaxInt64 if unknown
}

// ForgottenTopic names partitions to be removed from a fetch session.
type ForgottenTopic struct {
	Name       []byte
	TopicID    [16]byte
	Partitions []int32
}

// Decode fills r from the body of a request. Bytes after its end are ignored, as Kafka
// does. On error the content of r is meaningless.
func (r *FetchRequest) Decode(version int16, body []byte) error {
	if version < FetchMinVersion || version > FetchMaxVersion {
		return fmt.Errorf("decode Fetch: version %d is not served", version)
	}
	d := decoder{b: body, structs: anyStructs + len(body)/fetchStructBytes}
	flexible := version >= 12
	r.ClusterID, r.ReplicaID, r.ReplicaEpoch = nil, -1, -1
	if version <= 14 {
		r.ReplicaID = d.int32()
	}
	r.MaxWaitMs = d.int32()
	r.MinBytes = d.int32()
	r.MaxBytes = d.int32()
	r.Isolation = d.int8()
	r.SessionID, r.SessionEpoch = 0, -1
	if version >= 7 {
		r.SessionID = d.int32()
		r.SessionEpoch = d.int32()
	}
	r.decodeTopics(&d, version, flexible)
	r.Forgotten = r.Forgotten[:0]
	if version >= 7 {
		r.decodeForgotten(&d, version, flexible)
	}
	r.RackID = nil
	if version >= 11 {
		r.RackID = d.string(flexible)
	}
	if flexible {
		r.decodeTags(&d, version)
	}
	if d.err != nil {
		return fmt.Errorf("decode Fetch v%d: %w", version, d.err)
	}
	return nil
}

func (r *FetchRequest) decodeTopics(d *decoder, version int16, flexible bool) {
	topicLeast, partitionLeast := 6, 16
	if flexible {
		topicLeast, partitionLeast = 3, 33
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
			t.Partitions[j].decode(d, version)
		}
		if flexible {
			d.skipTags()
		}
		if d.err != nil {
			return
		}
	}
}

func (p *FetchPartition) decode(d *decoder, version int16) {
	*p = FetchPartition{CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, LogStartOffset: -1, HighWatermark: math.MaxInt64}
	p.Index = d.int32()
	if version >= 9 {
		p.CurrentLeaderEpoch = d.int32()
	}
	p.FetchOffset = d.int64()
	if version >= 12 {
		p.LastFetchedEpoch = d.int32()
	}
	if version >= 5 {
		p.LogStartOffset = d.int64()
	}
	p.MaxBytes = d.int32()
	if version >= 12 {
		p.decodeTags(d, version)
	}
}

func (p *FetchPartition) decodeTags(d *decoder, version int16) {
	for left := d.uvarint(); ; {
		tag, field, ok := d.nextTag(&left)
		if !ok {
			return
		}
		switch {
		case tag == 0 && version >= 17:
			p.ReplicaDirectoryID = field.uuid()
		case tag == 1 && version >= 18:
			p.HighWatermark = field.int64()
		}
		d.endTag(&field)
	}
}

func (r *FetchRequest) decodeForgotten(d *decoder, version int16, flexible bool) {
	topicLeast := 6
	if flexible {
		topicLeast = 3
	}
	r.Forgotten = resize(r.Forgotten, d.structCount(flexible, topicLeast))
	for i := range r.Forgotten {
		t := &r.Forgotten[i]
		if version >= 13 {
			t.Name, t.TopicID = nil, d.uuid()
		} else {
			t.Name, t.TopicID = d.string(flexible), [16]byte{}
		}
		t.Partitions = resize(t.Partitions, d.count(flexible, 4))
		for j := range t.Partitions {
			t.Partitions[j] = d.int32()
		}
		if flexible {
			d.skipTags()
		}
		if d.err != nil {
			return
		}
	}
}

func (r *FetchRequest) decodeTags(d *decoder, version int16) {
	for left := d.uvarint(); ; {
		tag, field, ok := d.nextTag(&left)
		if !ok {
			return
		}
		switch {
		case tag == 0:
			r.ClusterID = field.nullableString(true)
		case tag == 1 && version >= 15:
			r.ReplicaID = field.int32()
			r.ReplicaEpoch = field.int64()
		}
		d.endTag(&field)
	}
}
