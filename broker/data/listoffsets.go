package data

import (
	"millrace/net/server"
	"millrace/replication"
	"millrace/segment"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Special timestamps of ListOffsets, with the version each came in.
const (
	latestTimestamp        = -1
	earliestTimestamp      = -2
	maxTimestamp           = -3 // v7, KIP-734
	earliestLocalTimestamp = -4 // v8, KIP-405
	latestTieredTimestamp  = -5 // v9, KIP-1005
	earliestPendingUpload  = -6 // v11, KIP-1023
)

var specialSince = map[int64]int16{
	latestTimestamp: 0, earliestTimestamp: 0, maxTimestamp: 7, earliestLocalTimestamp: 8, latestTieredTimestamp: 9, earliestPendingUpload: 11,
}

// ListOffsets answers look-ups by time, at the granularity of records. It may wait
// for the disk.
func (s *Service) ListOffsets(_ server.Client, req *kmsg.ListOffsetsRequest) *kmsg.ListOffsetsResponse {
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	type place struct {
		topic string
		index int32
	}
	asked := map[place]int{}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			asked[place{t.Topic, p.Partition}]++
		}
	}
	for _, t := range req.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition, rp.Offset, rp.Timestamp = p.Partition, -1, -1
			if asked[place{t.Topic, p.Partition}] > 1 { // two answers for one partition could not be told apart
				rp.ErrorCode = kerr.InvalidRequest.Code
			} else {
				rp.ErrorCode = ErrorCode(s.listOffset(req, t.Topic, p, &rp))
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func (s *Service) listOffset(req *kmsg.ListOffsetsRequest, name string, q kmsg.ListOffsetsRequestTopicPartition, out *kmsg.ListOffsetsResponseTopicPartition) error {
	p, err := s.led(name, q.Partition)
	if err != nil {
		return err
	}
	if since, special := specialSince[q.Timestamp]; q.Timestamp < 0 && (!special || req.Version < since) {
		return kerr.UnsupportedVersion
	}
	if err := p.CheckLeaderEpoch(q.CurrentLeaderEpoch); err != nil {
		return err
	}
	bound := p.HighWatermark()
	if replication.Isolation(req.IsolationLevel) == replication.ReadCommitted {
		bound = p.LastStableOffset()
	}
	found := segment.TimestampOffset{Timestamp: -1, Offset: -1, LeaderEpoch: -1}
	switch q.Timestamp {
	case latestTimestamp:
		found.Offset, found.LeaderEpoch = bound, p.LeaderEpoch()
	case earliestTimestamp, earliestLocalTimestamp:
		found.Offset = p.LogStartOffset()
		found.LeaderEpoch = p.Log().EpochForOffset(found.Offset)
	case latestTieredTimestamp, earliestPendingUpload: // nothing is tiered
	case maxTimestamp:
		found, err = p.Log().MaxTimestamp()
	default:
		found, err = p.Log().OffsetForTimestamp(q.Timestamp)
	}
	if err != nil {
		return err
	}
	if q.Timestamp >= 0 || q.Timestamp == maxTimestamp {
		if found.Offset >= bound { // not visible yet
			found = segment.TimestampOffset{Timestamp: -1, Offset: -1, LeaderEpoch: -1}
		}
	}
	out.Offset, out.Timestamp, out.LeaderEpoch = found.Offset, found.Timestamp, found.LeaderEpoch
	if out.LeaderEpoch < 0 && found.Offset >= 0 {
		out.LeaderEpoch = p.LeaderEpoch()
	}
	return nil
}

// led returns a partition this broker leads, or the protocol error for it.
func (s *Service) led(name string, index int32) (*replication.Partition, error) {
	t := s.topics.name([]byte(name))
	if t == nil {
		return nil, kerr.UnknownTopicOrPartition
	}
	return t.led(index)
}

// led returns partition i, or the error for one that does not exist, could not be opened or is in a log dir that has
// gone offline. What could still be read there is not served, as by Kafka: a client is to notice.
func (t *topic) led(i int32) (*replication.Partition, error) {
	if p := t.partition(i); p != nil {
		if err := p.Err(); err != nil {
			return nil, err
		}
		return p, nil
	}
	if ps := *t.partitions.Load(); i >= 0 && int(i) < len(ps) {
		return nil, kerr.KafkaStorageError
	}
	return nil, kerr.UnknownTopicOrPartition
}
