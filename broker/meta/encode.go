package meta

import "github.com/twmb/franz-go/pkg/kbin"

// frameVersion is the version of the frame around each record.
const frameVersion = 1

func appendFrame(dst []byte, key, version uint32) []byte {
	dst = kbin.AppendUvarint(dst, frameVersion)
	dst = kbin.AppendUvarint(dst, key)
	return kbin.AppendUvarint(dst, version)
}

func appendInt32s(dst []byte, v []int32) []byte {
	dst = kbin.AppendCompactArrayLen(dst, len(v))
	for _, i := range v {
		dst = kbin.AppendInt32(dst, i)
	}
	return dst
}

func appendIDs(dst []byte, v []ID) []byte {
	dst = kbin.AppendCompactArrayLen(dst, len(v))
	for _, id := range v {
		dst = append(dst, id[:]...)
	}
	return dst
}

// tags collects the tagged fields at the end of a message, in ascending order.
type tags struct {
	count  uint32
	fields []byte
}

func (t *tags) add(tag uint32, value []byte) {
	t.count++
	t.fields = kbin.AppendUvarint(t.fields, tag)
	t.fields = kbin.AppendUvarint(t.fields, uint32(len(value)))
	t.fields = append(t.fields, value...)
}

// addInt32s adds a tagged array unless it is nil, which is the default.
func (t *tags) addInt32s(tag uint32, v []int32) {
	if v != nil {
		t.add(tag, appendInt32s(nil, v))
	}
}

func (t *tags) appendTo(dst []byte) []byte {
	return append(kbin.AppendUvarint(dst, t.count), t.fields...)
}

// noTags is the empty section of tagged fields.
const noTags = 0

func (r *TopicRecord) append(dst []byte) []byte {
	dst = appendFrame(dst, keyTopic, 0)
	dst = kbin.AppendCompactString(dst, r.Name)
	dst = append(dst, r.ID[:]...)
	return append(dst, noTags)
}

func (r *PartitionRecord) append(dst []byte) []byte {
	dst = appendFrame(dst, keyPartition, 2)
	dst = kbin.AppendInt32(dst, r.Partition)
	dst = append(dst, r.TopicID[:]...)
	dst = appendInt32s(dst, r.Replicas)
	dst = appendInt32s(dst, r.ISR)
	dst = appendInt32s(dst, r.RemovingReplicas)
	dst = appendInt32s(dst, r.AddingReplicas)
	dst = kbin.AppendInt32(dst, r.Leader)
	dst = kbin.AppendInt32(dst, r.LeaderEpoch)
	dst = kbin.AppendInt32(dst, r.PartitionEpoch)
	if r.Directories != nil {
		dst = appendIDs(dst, r.Directories)
	} else {
		// Kafka wants as many directories as replicas; the zero id says unassigned.
		dst = kbin.AppendCompactArrayLen(dst, len(r.Replicas))
		dst = append(dst, make([]byte, len(ID{})*len(r.Replicas))...)
	}
	var t tags
	if r.LeaderRecoveryState != 0 {
		t.add(0, []byte{byte(r.LeaderRecoveryState)})
	}
	t.addInt32s(1, r.EligibleLeaders)
	t.addInt32s(2, r.LastKnownELR)
	return t.appendTo(dst)
}

func (r *ConfigRecord) append(dst []byte) []byte {
	dst = appendFrame(dst, keyConfig, 0)
	dst = kbin.AppendInt8(dst, int8(r.Type))
	dst = kbin.AppendCompactString(dst, r.Name)
	dst = kbin.AppendCompactString(dst, r.Key)
	dst = kbin.AppendCompactNullableString(dst, r.Value)
	return append(dst, noTags)
}

func (r *PartitionChangeRecord) append(dst []byte) []byte {
	dst = appendFrame(dst, keyPartitionChange, 2)
	dst = kbin.AppendInt32(dst, r.Partition)
	dst = append(dst, r.TopicID[:]...)
	var t tags
	t.addInt32s(0, r.ISR)
	if r.Leader != LeaderUnchanged {
		t.add(1, kbin.AppendInt32(nil, r.Leader))
	}
	t.addInt32s(2, r.Replicas)
	t.addInt32s(3, r.RemovingReplicas)
	t.addInt32s(4, r.AddingReplicas)
	if r.LeaderRecoveryState != -1 {
		t.add(5, []byte{byte(r.LeaderRecoveryState)})
	}
	t.addInt32s(6, r.EligibleLeaders)
	t.addInt32s(7, r.LastKnownELR)
	if r.Directories != nil {
		t.add(8, appendIDs(nil, r.Directories))
	}
	return t.appendTo(dst)
}

func (r *RemoveTopicRecord) append(dst []byte) []byte {
	dst = appendFrame(dst, keyRemoveTopic, 0)
	dst = append(dst, r.ID[:]...)
	return append(dst, noTags)
}

func (r *ProducerIDsRecord) append(dst []byte) []byte {
	dst = appendFrame(dst, keyProducerIDs, 0)
	dst = kbin.AppendInt32(dst, r.BrokerID)
	dst = kbin.AppendInt64(dst, r.BrokerEpoch)
	dst = kbin.AppendInt64(dst, r.NextProducerID)
	return append(dst, noTags)
}

func (r *FeatureLevelRecord) append(dst []byte) []byte {
	dst = appendFrame(dst, keyFeatureLevel, 0)
	dst = kbin.AppendCompactString(dst, r.Name)
	dst = kbin.AppendInt16(dst, r.Level)
	return append(dst, noTags)
}

func (r *RegisterBrokerRecord) append(dst []byte) []byte {
	dst = appendFrame(dst, keyRegisterBroker, 2)
	dst = kbin.AppendInt32(dst, r.BrokerID)
	dst = kbin.AppendBool(dst, false) // was never a broker of a ZooKeeper cluster
	dst = append(dst, r.IncarnationID[:]...)
	dst = kbin.AppendInt64(dst, r.BrokerEpoch)
	dst = kbin.AppendCompactArrayLen(dst, len(r.EndPoints))
	for _, e := range r.EndPoints {
		dst = kbin.AppendCompactString(dst, e.Name)
		dst = kbin.AppendCompactString(dst, e.Host)
		dst = kbin.AppendUint16(dst, e.Port)
		dst = kbin.AppendInt16(dst, e.SecurityProtocol)
		dst = append(dst, noTags)
	}
	dst = kbin.AppendCompactArrayLen(dst, len(r.Features))
	for _, f := range r.Features {
		dst = kbin.AppendCompactString(dst, f.Name)
		dst = kbin.AppendInt16(dst, f.Min)
		dst = kbin.AppendInt16(dst, f.Max)
		dst = append(dst, noTags)
	}
	dst = kbin.AppendCompactNullableString(dst, r.Rack)
	dst = kbin.AppendBool(dst, r.Fenced)
	dst = kbin.AppendBool(dst, false) // not in controlled shutdown
	return append(dst, noTags)
}

func (*beginTransactionRecord) append(dst []byte) []byte {
	return append(appendFrame(dst, keyBeginTransaction, 0), noTags)
}

func (*endTransactionRecord) append(dst []byte) []byte {
	return append(appendFrame(dst, keyEndTransaction, 0), noTags)
}

func (*abortTransactionRecord) append(dst []byte) []byte {
	return append(appendFrame(dst, keyAbortTransaction, 0), noTags)
}

func (*ignoredRecord) append(dst []byte) []byte {
	return append(appendFrame(dst, keyNoOp, 0), noTags)
}
