package admin

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/meta"
	"millrace/net/server"
)

// DescribeTopicPartitions (key 75, version 0) pages through topics by name, or through
// those asked for, at most so many partitions at a time. The cursor of an answer is
// where the next page begins.
func (a *Admin) DescribeTopicPartitions(_ server.Client, req *kmsg.DescribeTopicPartitionsRequest) *kmsg.DescribeTopicPartitionsResponse {
	im := a.images.Image()
	resp := req.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	if refusesCursor(req) {
		for _, t := range req.Topics {
			out := kmsg.NewDescribeTopicPartitionsResponseTopic()
			out.ErrorCode, out.Topic = kerr.InvalidRequest.Code, text(t.Topic)
			out.AuthorizedOperations = operationsNotAsked
			resp.Topics = append(resp.Topics, out)
		}
		return resp
	}
	p := page{im: im, resp: resp, left: int(max(min(im.Config.MaxRequestPartitionSize, req.ResponsePartitionLimit), 1))}
	from, partition := "", int32(0)
	if req.Cursor != nil {
		from, partition = req.Cursor.Topic, req.Cursor.Partition
	}
	start := func(name string) int32 {
		if name == from {
			return partition
		}
		return 0
	}
	if len(req.Topics) == 0 {
		for _, t := range im.TopicsFrom(from) {
			if !p.add(t.Name, start(t.Name)) {
				break
			}
		}
		return resp
	}
	for _, name := range namesFrom(req, from) {
		if !p.add(name, start(name)) {
			break
		}
	}
	return resp
}

// refusesCursor tells whether the cursor is none that an answer had: outside the
// topics asked for, or at no partition.
func refusesCursor(req *kmsg.DescribeTopicPartitionsRequest) bool {
	if req.Cursor == nil {
		return false
	}
	listed := len(req.Topics) == 0 || slices.ContainsFunc(req.Topics, func(t kmsg.DescribeTopicPartitionsRequestTopic) bool {
		return t.Topic == req.Cursor.Topic
	})
	return !listed || req.Cursor.Partition < 0
}

// namesFrom is the topics asked for that are not before from, each once, by name.
func namesFrom(req *kmsg.DescribeTopicPartitionsRequest, from string) []string {
	var names []string
	for _, t := range req.Topics {
		if t.Topic >= from {
			names = append(names, t.Topic)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// page is an answer being filled.
type page struct {
	im   *meta.Image
	resp *kmsg.DescribeTopicPartitionsResponse
	left int // partitions that still fit
}

// add adds a topic from a partition on. False: the page is full and the cursor set.
func (p *page) add(name string, from int32) bool {
	if p.left <= 0 {
		p.next(name, 0)
		return false
	}
	out := kmsg.NewDescribeTopicPartitionsResponseTopic()
	out.Topic, out.IsInternal, out.AuthorizedOperations = text(name), meta.IsInternal(name), topicOperations
	t := p.im.Topic(name)
	if t == nil {
		out.ErrorCode = kerr.UnknownTopicOrPartition.Code
		if meta.ValidateTopicName(name) != nil {
			out.ErrorCode = kerr.InvalidTopicException.Code
		}
		p.resp.Topics = append(p.resp.Topics, out)
		return true
	}
	out.TopicID = t.ID
	first := min(int(from), len(t.Partitions))
	end := min(first+p.left, len(t.Partitions))
	for i := first; i < end; i++ {
		out.Partitions = append(out.Partitions, p.partition(int32(i), &t.Partitions[i]))
	}
	p.left -= end - first
	p.resp.Topics = append(p.resp.Topics, out)
	if end < len(t.Partitions) {
		p.next(name, int32(end))
		return false
	}
	return true
}

func (p *page) next(topic string, partition int32) {
	cursor := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	cursor.Topic, cursor.Partition = topic, partition
	p.resp.NextCursor = &cursor
}

func (p *page) partition(i int32, part *meta.Partition) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	out := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	out.ErrorCode = leaderError(p.im, part)
	out.Partition, out.LeaderID, out.LeaderEpoch = i, part.Leader, part.LeaderEpoch
	out.Replicas, out.ISR = part.Replicas, part.ISR
	out.EligibleLeaderReplicas, out.LastKnownELR = []int32{}, []int32{}
	out.OfflineReplicas = offline(p.im, part.Replicas)
	return out
}
