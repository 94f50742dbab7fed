package group

import (
	"millrace/broker/coordinator"
	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetDelete (key 47, version 0). reply is called once, when the offsets are
// gone from the disk. Offsets of topics that members consume stay.
func (s *Service) OffsetDelete(_ server.Client, req *kmsg.OffsetDeleteRequest, reply func(*kmsg.OffsetDeleteResponse)) {
	resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
	refuse := func(err *kerr.Error) {
		resp.ErrorCode = err.Code
		reply(resp)
	}
	if req.Group == "" {
		refuse(kerr.InvalidGroupID)
		return
	}
	sh, g, err := s.existing(req.Group)
	if err != nil {
		refuse(err)
		return
	}
	defer sh.unlock()
	switch {
	case g == nil:
		err = kerr.GroupIDNotFound
	case g.deleting:
		err = kerr.CoordinatorNotAvailable
	case g.state != Empty && g.protocolType != consumerProtocol:
		err = kerr.NonEmptyGroup // what its members consume cannot be known
	}
	if err != nil {
		sh.after(func() { refuse(err) })
		return
	}
	gone := g.fillOffsetDelete(resp, req)
	g.deleteOffsets(gone, func(err *kerr.Error) {
		if err != nil {
			sh.after(func() { refuse(err) })
			return
		}
		sh.after(func() { reply(resp) })
	})
}

// fillOffsetDelete lays out the response and says which offsets are to go.
func (g *group) fillOffsetDelete(resp *kmsg.OffsetDeleteResponse, req *kmsg.OffsetDeleteRequest) []topicPartition {
	var gone []topicPartition
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetDeleteResponseTopic()
		rt.Topic = t.Topic
		count, _ := g.sh.svc.opts.Topics.PartitionCount(t.Topic)
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetDeleteResponseTopicPartition()
			rp.Partition = p.Partition
			_, committed := g.offsets[t.Topic][p.Partition]
			switch {
			case p.Partition < 0 || p.Partition >= count:
				rp.ErrorCode = kerr.UnknownTopicOrPartition.Code
			case g.subscribes(t.Topic):
				rp.ErrorCode = kerr.GroupSubscribedToTopic.Code
			case committed || g.committing > 0:
				gone = append(gone, topicPartition{t.Topic, p.Partition})
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return gone
}

// deleteOffsets writes tombstones for offsets, takes the offsets away when they
// are written, then calls done. All under the lock; done always later.
func (g *group) deleteOffsets(gone []topicPartition, done func(*kerr.Error)) {
	records := make([]coordinator.Record, len(gone))
	for i, tp := range gone {
		records[i] = offsetTombstone(g.id, tp.topic, tp.partition)
	}
	g.sh.append(records, func(err *kerr.Error) {
		if err == nil {
			for _, tp := range gone {
				g.dropOffset(tp.topic, tp.partition)
			}
			g.forgetIfTrivial()
		}
		done(err)
	})
}

// TopicDeleted says that a topic is gone: so are the offsets committed for it. It
// does not wait for that to be written.
func (s *Service) TopicDeleted(name string) {
	s.deletions.Add(1)
	for _, sh := range s.all() {
		sh.lock()
		if sh.state == active {
			for _, g := range sh.groups {
				g.topicDeleted(name)
			}
		}
		sh.unlock()
	}
}

func (g *group) topicDeleted(name string) {
	var gone []topicPartition
	for p := range g.offsets[name] {
		gone = append(gone, topicPartition{name, p})
	}
	if len(gone) > 0 && !g.deleting {
		g.deleteOffsets(gone, func(*kerr.Error) {})
	}
}
