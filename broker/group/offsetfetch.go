package group

import (
	"maps"
	"slices"

	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetFetch (key 9, versions 1-10; several groups from 8 on, topic ids instead
// of names from 10 on). An unknown group or partition is no error: offset -1.
func (s *Service) OffsetFetch(_ server.Client, req *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	if req.Version >= 8 {
		for _, g := range req.Groups {
			resp.Groups = append(resp.Groups, s.fetchGroup(req.Version, g))
		}
		return resp
	}
	one := kmsg.NewOffsetFetchRequestGroup()
	one.Group = req.Group
	if req.Topics != nil {
		one.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, 0, len(req.Topics))
	}
	for _, t := range req.Topics {
		x := kmsg.NewOffsetFetchRequestGroupTopic()
		x.Topic, x.Partitions = t.Topic, t.Partitions
		one.Topics = append(one.Topics, x)
	}
	flatten(resp, s.fetchGroup(req.Version, one), one.Topics)
	return resp
}

// flatten turns the answer for one group into the form of versions 1-7. Version 1
// has no error code of its own for the whole, so each partition carries it.
func flatten(resp *kmsg.OffsetFetchResponse, g kmsg.OffsetFetchResponseGroup, asked []kmsg.OffsetFetchRequestGroupTopic) {
	resp.ErrorCode = g.ErrorCode
	if g.ErrorCode != 0 && resp.Version < 2 {
		for _, t := range asked {
			g.Topics = append(g.Topics, missingOffsets(t, g.ErrorCode))
		}
	}
	for _, t := range g.Topics {
		x := kmsg.NewOffsetFetchResponseTopic()
		x.Topic = t.Topic
		for _, p := range t.Partitions {
			y := kmsg.NewOffsetFetchResponseTopicPartition()
			y.Partition, y.Offset, y.LeaderEpoch, y.Metadata, y.ErrorCode = p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode
			x.Partitions = append(x.Partitions, y)
		}
		resp.Topics = append(resp.Topics, x)
	}
}

// fetchGroup answers for one group. Null topics mean all that have offsets.
func (s *Service) fetchGroup(version int16, req kmsg.OffsetFetchRequestGroup) kmsg.OffsetFetchResponseGroup {
	out := kmsg.NewOffsetFetchResponseGroup()
	out.Group = req.Group
	sh, err := s.shard(req.Group)
	if err != nil {
		out.ErrorCode = err.Code
		return out
	}
	defer sh.unlock()
	g := sh.groups[req.Group]
	byID := version >= 10
	if req.Topics == nil {
		out.Topics = g.allOffsets(byID)
		return out
	}
	for _, t := range req.Topics {
		name, id, missing := t.Topic, [16]byte{}, (*kerr.Error)(nil)
		if byID {
			name, id, missing = resolveTopic(s.opts.Topics, true, "", t.TopicID)
		} else {
			id, _ = s.opts.Topics.TopicID(name)
		}
		if missing != nil {
			out.Topics = append(out.Topics, missingOffsets(t, missing.Code))
			continue
		}
		x := kmsg.NewOffsetFetchResponseGroupTopic()
		x.Topic, x.TopicID = t.Topic, t.TopicID
		x.Partitions = make([]kmsg.OffsetFetchResponseGroupTopicPartition, 0, len(t.Partitions))
		for _, p := range t.Partitions {
			o, ok := g.committed(name, id, p)
			x.Partitions = append(x.Partitions, fetched(p, o, ok))
		}
		out.Topics = append(out.Topics, x)
	}
	return out
}

// committed is the offset of a partition. One that was committed for another topic
// of the same name is not there. g may be nil.
func (g *group) committed(topic string, id [16]byte, partition int32) (offset, bool) {
	if g == nil {
		return offset{}, false
	}
	o, ok := g.offsets[topic][partition]
	if none := ([16]byte{}); ok && id != none && o.topicID != none && o.topicID != id {
		return offset{}, false
	}
	return o, ok
}

func fetched(partition int32, o offset, ok bool) kmsg.OffsetFetchResponseGroupTopicPartition {
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	p.Partition, p.Offset = partition, -1
	metadata := ""
	if ok {
		p.Offset, p.LeaderEpoch, metadata = o.offset, o.leaderEpoch, o.metadata
	}
	p.Metadata = &metadata
	return p
}

func missingOffsets(t kmsg.OffsetFetchRequestGroupTopic, code int16) kmsg.OffsetFetchResponseGroupTopic {
	x := kmsg.NewOffsetFetchResponseGroupTopic()
	x.Topic, x.TopicID = t.Topic, t.TopicID
	for _, p := range t.Partitions {
		y := fetched(p, offset{}, false)
		y.ErrorCode = code
		x.Partitions = append(x.Partitions, y)
	}
	return x
}

// allOffsets is every committed offset, in order. By id, topics that are gone are
// left out: there is no id to name them by. g may be nil.
func (g *group) allOffsets(byID bool) []kmsg.OffsetFetchResponseGroupTopic {
	if g == nil {
		return nil
	}
	var out []kmsg.OffsetFetchResponseGroupTopic
	for _, topic := range slices.Sorted(maps.Keys(g.offsets)) {
		id, exists := g.sh.svc.opts.Topics.TopicID(topic)
		if byID && !exists {
			continue
		}
		x := kmsg.NewOffsetFetchResponseGroupTopic()
		if byID {
			x.TopicID = id
		} else {
			x.Topic = topic
		}
		for _, p := range slices.Sorted(maps.Keys(g.offsets[topic])) {
			if o, ok := g.committed(topic, id, p); ok {
				x.Partitions = append(x.Partitions, fetched(p, o, true))
			}
		}
		if len(x.Partitions) > 0 {
			out = append(out, x)
		}
	}
	return out
}
