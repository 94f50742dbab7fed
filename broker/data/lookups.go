package data

import (
	"millrace/broker/meta"
	"millrace/net/server"
	"millrace/replication"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteRecords moves log starts. It waits for the disk.
func (s *Service) DeleteRecords(_ server.Client, req *kmsg.DeleteRecordsRequest) *kmsg.DeleteRecordsResponse {
	resp := req.ResponseKind().(*kmsg.DeleteRecordsResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewDeleteRecordsResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewDeleteRecordsResponseTopicPartition()
			rp.Partition, rp.LowWatermark = p.Partition, -1
			led, err := s.led(t.Topic, p.Partition)
			if err == nil {
				err = s.mayDeleteRecords(t.Topic)
			}
			if err == nil {
				rp.LowWatermark, err = led.DeleteRecords(p.Offset)
			}
			rp.ErrorCode = ErrorCode(err)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// OffsetForLeaderEpoch answers where an epoch ended (KIP-101, KIP-279, KIP-320).
func (s *Service) OffsetForLeaderEpoch(_ server.Client, req *kmsg.OffsetForLeaderEpochRequest) *kmsg.OffsetForLeaderEpochResponse {
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			rp.Partition, rp.LeaderEpoch, rp.EndOffset = p.Partition, -1, -1
			led, err := s.led(t.Topic, p.Partition)
			if err == nil {
				err = led.CheckLeaderEpoch(p.CurrentLeaderEpoch)
			}
			if err == nil {
				rp.LeaderEpoch, rp.EndOffset = endOfEpoch(led, p.LeaderEpoch)
			}
			rp.ErrorCode = ErrorCode(err)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// endOfEpoch is the largest epoch at or below asked and its end: for the current
// epoch the log end. -1, -1 if the log knows no such epoch, or asked lies beyond
// all it knows.
func endOfEpoch(p *replication.Partition, asked int32) (epoch int32, end int64) {
	if asked > p.Log().LeaderEpoch() {
		return -1, -1
	}
	return p.Log().EndOffsetForEpoch(asked)
}

// DescribeProducers lists the producers that are active on partitions (KIP-664).
func (s *Service) DescribeProducers(_ server.Client, req *kmsg.DescribeProducersRequest) *kmsg.DescribeProducersResponse {
	resp := req.ResponseKind().(*kmsg.DescribeProducersResponse)
	type place struct {
		topic string
		index int32
	}
	described := make(map[place]bool)
	for _, t := range req.Topics {
		rt := kmsg.NewDescribeProducersResponseTopic()
		rt.Topic = t.Topic
		noTopic := s.describable(t.Topic)
		for _, i := range t.Partitions {
			// Once each: four bytes may be answered with a hundred thousand producers.
			if x := (place{t.Topic, i}); described[x] {
				continue
			} else {
				described[x] = true
			}
			rp := kmsg.NewDescribeProducersResponseTopicPartition()
			rp.Partition = i
			if noTopic != nil { // explained; a partition that is missing is not, as by Kafka
				rp.ErrorCode, rp.ErrorMessage = noTopic.Code, &noTopic.Description
				rt.Partitions = append(rt.Partitions, rp)
				continue
			}
			led, err := s.led(t.Topic, i)
			if err == nil {
				for _, x := range led.Log().Producers() {
					rp.ActiveProducers = append(rp.ActiveProducers, kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
						ProducerID:            x.ProducerID,
						ProducerEpoch:         x.ProducerEpoch,
						LastSequence:          x.LastSequence,
						LastTimestamp:         x.LastTimestamp,
						CoordinatorEpoch:      x.CoordinatorEpoch,
						CurrentTxnStartOffset: x.CurrentTxnStartOffset,
					})
				}
			}
			rp.ErrorCode = ErrorCode(err)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// describable is what is wrong with a topic as a whole, nil if it can be asked about.
func (s *Service) describable(name string) *kerr.Error {
	switch {
	case meta.ValidateTopicName(name) != nil:
		return kerr.InvalidTopicException
	case s.topics.name([]byte(name)) == nil:
		return kerr.UnknownTopicOrPartition
	}
	return nil
}

// mayDeleteRecords refuses topics whose records Kafka does not let clients delete:
// internal ones, and those that are only compacted.
func (s *Service) mayDeleteRecords(name string) error {
	if m := s.images.Image().Topic(name); m != nil && m.Internal {
		return kerr.InvalidTopicException
	}
	if t := s.topics.name([]byte(name)); t != nil && !t.config.Load().Delete {
		return kerr.PolicyViolation
	}
	return nil
}
