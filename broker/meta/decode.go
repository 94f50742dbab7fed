package meta

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
)

// DecodeRecord parses one record value of the metadata log. The result shares nothing with value. Counts
// are checked against the bytes that are there before anything is allocated for
// them. A record type or version that is not known is an error: to skip it would be
// to run a cluster other than the one that was written.
func DecodeRecord(value []byte) (Change, error) {
	r := kbin.Reader{Src: value}
	frame, key, version := r.Uvarint(), r.Uvarint(), r.Uvarint()
	if !r.Ok() {
		return nil, fmt.Errorf("metadata record of %d bytes has no frame", len(value))
	}
	if frame != frameVersion {
		return nil, fmt.Errorf("metadata record has frame version %d, expected %d", frame, frameVersion)
	}
	d, ok := decoders[key]
	if !ok {
		return nil, fmt.Errorf("metadata record has unknown type %d", key)
	}
	if version > d.maxVersion {
		return nil, fmt.Errorf("metadata record of type %d has version %d, at most %d is known", key, version, d.maxVersion)
	}
	c := d.decode(&r, version)
	if !r.Ok() {
		return nil, fmt.Errorf("metadata record of type %d, version %d, %d bytes, does not parse", key, version, len(value))
	}
	return c, nil
}

type recordDecoder struct {
	maxVersion uint32
	decode     func(r *kbin.Reader, version uint32) Change
}

var decoders = map[uint32]recordDecoder{
	keyRegisterBroker:           {4, decodeRegisterBroker},
	keyTopic:                    {0, decodeTopic},
	keyPartition:                {2, decodePartition},
	keyConfig:                   {0, decodeConfig},
	keyPartitionChange:          {2, decodePartitionChange},
	keyFenceBroker:              {0, decodeIgnored},
	keyUnfenceBroker:            {0, decodeIgnored},
	keyRemoveTopic:              {0, decodeRemoveTopic},
	keyFeatureLevel:             {0, decodeFeatureLevel},
	keyProducerIDs:              {0, decodeProducerIDs},
	keyBrokerRegistrationChange: {3, decodeIgnored},
	keyNoOp:                     {0, decodeIgnored},
	keyBeginTransaction:         {0, func(*kbin.Reader, uint32) Change { return &beginTransactionRecord{} }},
	keyEndTransaction:           {0, func(*kbin.Reader, uint32) Change { return &endTransactionRecord{} }},
	keyAbortTransaction:         {0, func(*kbin.Reader, uint32) Change { return &abortTransactionRecord{} }},
	keyRegisterController:       {0, decodeIgnored},
}

func decodeIgnored(*kbin.Reader, uint32) Change { return &ignoredRecord{} }

// int32s reads a compact array, nil if it is null.
func int32s(r *kbin.Reader) []int32 {
	n := r.CompactArrayLen() // at most the bytes left
	if n < 0 || 4*int(n) > len(r.Src) {
		if n > 0 {
			r.Span(4 * int(n)) // marks the reader bad
		}
		return nil
	}
	v := make([]int32, n)
	for i := range v {
		v[i] = r.Int32()
	}
	return v
}

func ids(r *kbin.Reader) []ID {
	n := r.CompactArrayLen()
	if n < 0 || len(ID{})*int(n) > len(r.Src) {
		if n > 0 {
			r.Span(len(ID{}) * int(n))
		}
		return nil
	}
	v := make([]ID, n)
	for i := range v {
		v[i] = r.Uuid()
	}
	return v
}

// eachTag calls f with each tagged field. f need not read its field to the end.
func eachTag(r *kbin.Reader, f func(tag uint32, r *kbin.Reader)) {
	for n := r.Uvarint(); n > 0 && r.Ok(); n-- {
		tag, size := r.Uvarint(), r.Uvarint()
		if uint64(size) > uint64(len(r.Src)) {
			r.Span(len(r.Src) + 1) // marks the reader bad
			return
		}
		field := kbin.Reader{Src: r.Span(int(size))}
		f(tag, &field)
		if !field.Ok() {
			r.Span(len(r.Src) + 1)
		}
	}
}

func skipTags(r *kbin.Reader) { eachTag(r, func(uint32, *kbin.Reader) {}) }

func decodeTopic(r *kbin.Reader, _ uint32) Change {
	c := &TopicRecord{Name: r.CompactString(), ID: r.Uuid()}
	skipTags(r)
	return c
}

func decodePartition(r *kbin.Reader, version uint32) Change {
	c := &PartitionRecord{
		Partition:        r.Int32(),
		TopicID:          r.Uuid(),
		Replicas:         int32s(r),
		ISR:              int32s(r),
		RemovingReplicas: int32s(r),
		AddingReplicas:   int32s(r),
		Leader:           r.Int32(),
		LeaderEpoch:      r.Int32(),
		PartitionEpoch:   r.Int32(),
	}
	if version >= 1 {
		c.Directories = ids(r)
	}
	eachTag(r, func(tag uint32, r *kbin.Reader) {
		switch tag {
		case 0:
			c.LeaderRecoveryState = r.Int8()
		case 1:
			c.EligibleLeaders = int32s(r)
		case 2:
			c.LastKnownELR = int32s(r)
		}
	})
	return c
}

func decodeConfig(r *kbin.Reader, _ uint32) Change {
	c := &ConfigRecord{
		Resource: Resource{Type: ResourceType(r.Int8()), Name: r.CompactString()},
		Key:      r.CompactString(),
		Value:    r.CompactNullableString(),
	}
	skipTags(r)
	return c
}

func decodePartitionChange(r *kbin.Reader, _ uint32) Change {
	c := &PartitionChangeRecord{
		Partition:           r.Int32(),
		TopicID:             r.Uuid(),
		Leader:              LeaderUnchanged,
		LeaderRecoveryState: -1,
	}
	eachTag(r, func(tag uint32, r *kbin.Reader) {
		switch tag {
		case 0:
			c.ISR = int32s(r)
		case 1:
			c.Leader = r.Int32()
		case 2:
			c.Replicas = int32s(r)
		case 3:
			c.RemovingReplicas = int32s(r)
		case 4:
			c.AddingReplicas = int32s(r)
		case 5:
			c.LeaderRecoveryState = r.Int8()
		case 6:
			c.EligibleLeaders = int32s(r)
		case 7:
			c.LastKnownELR = int32s(r)
		case 8:
			c.Directories = ids(r)
		}
	})
	return c
}

func decodeRemoveTopic(r *kbin.Reader, _ uint32) Change {
	c := &RemoveTopicRecord{ID: r.Uuid()}
	skipTags(r)
	return c
}

func decodeFeatureLevel(r *kbin.Reader, _ uint32) Change {
	c := &FeatureLevelRecord{Name: r.CompactString(), Level: r.Int16()}
	skipTags(r)
	return c
}

func decodeProducerIDs(r *kbin.Reader, _ uint32) Change {
	c := &ProducerIDsRecord{BrokerID: r.Int32(), BrokerEpoch: r.Int64(), NextProducerID: r.Int64()}
	skipTags(r)
	return c
}

func decodeRegisterBroker(r *kbin.Reader, version uint32) Change {
	c := &RegisterBrokerRecord{BrokerID: r.Int32()}
	if version >= 2 {
		r.Bool() // was a broker of a ZooKeeper cluster
	}
	c.IncarnationID = r.Uuid()
	c.BrokerEpoch = r.Int64()
	for n := r.CompactArrayLen(); n > 0 && r.Ok(); n-- {
		c.EndPoints = append(c.EndPoints, BrokerEndPoint{
			Name: r.CompactString(), Host: r.CompactString(), Port: r.Uint16(), SecurityProtocol: r.Int16(),
		})
		skipTags(r)
	}
	for n := r.CompactArrayLen(); n > 0 && r.Ok(); n-- {
		c.Features = append(c.Features, BrokerFeature{Name: r.CompactString(), Min: r.Int16(), Max: r.Int16()})
		skipTags(r)
	}
	c.Rack = r.CompactNullableString()
	c.Fenced = r.Bool()
	if version >= 1 {
		r.Bool() // in controlled shutdown
	}
	skipTags(r)
	return c
}
