package group

import (
	"time"
	"unicode/utf8"

	"millrace/broker/coordinator"
	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetCommit (key 8, versions 2-10; topic ids instead of names from 10 on).
// reply is called once, when the offsets are on the disk and visible.
func (s *Service) OffsetCommit(_ server.Client, req *kmsg.OffsetCommitRequest, reply func(*kmsg.OffsetCommitResponse)) {
	c := &commit{req: req, resp: req.ResponseKind().(*kmsg.OffsetCommitResponse), reply: reply}
	c.resolve(s.opts.Topics)
	if len(c.offsets) == 0 {
		reply(c.resp) // nothing to commit: no group comes into being
		return
	}
	sh, err := s.shard(req.Group)
	if err != nil {
		c.fail(err)
		reply(c.resp)
		return
	}
	defer sh.unlock()
	g := sh.groups[req.Group]
	if err := checkCommit(g, req); err != nil {
		c.fail(err)
		sh.after(func() { reply(c.resp) })
		return
	}
	if g == nil {
		g = sh.newGroup(req.Group) // a consumer without membership, or an administrator
	}
	c.prepare(s)
	if m := g.members[req.MemberID]; m != nil && (g.state == Stable || g.state == PreparingRebalance) {
		g.touch(m)
	}
	if len(c.offsets) == 0 {
		g.forgetIfTrivial()
		sh.after(func() { reply(c.resp) })
		return
	}
	sh.commit(g, c)
}

// commit is one OffsetCommit request on its way.
type commit struct {
	req      *kmsg.OffsetCommitRequest
	resp     *kmsg.OffsetCommitResponse
	reply    func(*kmsg.OffsetCommitResponse)
	offsets  []commitOffset
	deadline time.Duration
	answered bool
	// deletions of topics seen when it was resolved; if there have been more when
	// it is written, its topics are looked up again.
	deletions uint64
}

// commitOffset is one partition of a commit that has not failed.
type commitOffset struct {
	topicPartition
	offset
	topic, part int // where its error code is in the response
}

// resolve lays out the response and takes up the partitions that exist.
func (c *commit) resolve(topics coordinator.Topics) {
	for _, t := range c.req.Topics {
		if len(t.Partitions) == 0 {
			continue // Kafka answers nothing about it either
		}
		rt := kmsg.NewOffsetCommitResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		rt.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		name, id, missing := resolveTopic(topics, c.req.Version >= 10, t.Topic, t.TopicID)
		count, _ := topics.PartitionCount(name)
		for pi, p := range t.Partitions {
			rt.Partitions[pi].Partition = p.Partition
			switch {
			case missing != nil:
				rt.Partitions[pi].ErrorCode = missing.Code
				continue
			case p.Partition < 0 || p.Partition >= count:
				rt.Partitions[pi].ErrorCode = kerr.UnknownTopicOrPartition.Code
				continue
			}
			o := commitOffset{topicPartition: topicPartition{name, p.Partition}, topic: len(c.resp.Topics), part: pi}
			o.offset = offset{offset: p.Offset, leaderEpoch: -1, expireMs: -1, topicID: id}
			if c.req.Version >= 6 {
				o.leaderEpoch = p.LeaderEpoch
			}
			if p.Metadata != nil {
				o.metadata = *p.Metadata
			}
			c.offsets = append(c.offsets, o)
		}
		c.resp.Topics = append(c.resp.Topics, rt)
	}
}

// resolveTopic finds a topic by its id or its name.
func resolveTopic(topics coordinator.Topics, byID bool, name string, id [16]byte) (string, [16]byte, *kerr.Error) {
	if byID {
		name, ok := topics.TopicName(id)
		if !ok || id == ([16]byte{}) {
			return "", id, kerr.UnknownTopicID
		}
		return name, id, nil
	}
	id, ok := topics.TopicID(name)
	if !ok {
		return name, id, kerr.UnknownTopicOrPartition
	}
	return name, id, nil
}

func (c *commit) setError(o commitOffset, err *kerr.Error) {
	c.resp.Topics[o.topic].Partitions[o.part].ErrorCode = err.Code
}

// fail gives every partition that has not failed yet the error.
func (c *commit) fail(err *kerr.Error) {
	for _, o := range c.offsets {
		c.setError(o, err)
	}
}

// checkCommit says why a commit is refused as a whole, nil if it is not. g may be nil.
func checkCommit(g *group, req *kmsg.OffsetCommitRequest) *kerr.Error {
	if g == nil {
		switch {
		case req.Generation < 0:
			return nil
		case req.Version >= 9:
			return kerr.GroupIDNotFound
		}
		return kerr.IllegalGeneration
	}
	if g.deleting {
		return kerr.CoordinatorNotAvailable
	}
	if req.Generation < 0 && g.state == Empty {
		return nil // not a member, and there are none whose work it could undo
	}
	if req.Generation < 0 && req.MemberID == "" && req.InstanceID == nil {
		return kerr.UnknownMemberID
	}
	if err := g.check(req.MemberID, req.InstanceID); err != nil {
		return err
	}
	if req.Generation != g.generation {
		return kerr.IllegalGeneration
	}
	if g.state == CompletingRebalance {
		return kerr.RebalanceInProgress // it may have lost the partition already
	}
	return nil
}

// prepare stamps the offsets and refuses those with too much metadata.
func (c *commit) prepare(s *Service) {
	now := s.now().UnixMilli()
	kept := c.offsets[:0]
	for _, o := range c.offsets {
		if utf16Len(o.metadata) > int(s.opts.Config.MetadataMaxBytes) {
			c.setError(o, kerr.OffsetMetadataTooLarge)
			continue
		}
		o.commitMs = now
		if c.req.Version <= 4 && c.req.RetentionTimeMillis >= 0 {
			o.expireMs = now + c.req.RetentionTimeMillis
		}
		kept = append(kept, o)
	}
	c.offsets = kept
}

// utf16Len is the length Java sees, by which Kafka limits metadata.
func utf16Len(s string) int {
	n := utf8.RuneCountInString(s)
	for _, r := range s {
		if r > 0xffff {
			n++
		}
	}
	return n
}

// commit writes the offsets of c, shows them when they are written, and replies.
func (sh *shard) commit(g *group, c *commit) {
	records := make([]coordinator.Record, len(c.offsets))
	for i, o := range c.offsets {
		records[i] = offsetRecord(g.id, o.topicPartition.topic, o.partition, o.offset)
	}
	g.committing++
	c.deletions = sh.svc.deletions.Load()
	sh.commits.push(sh, c)
	sh.append(records, func(err *kerr.Error) {
		g.committing--
		switch {
		case err == nil:
			sh.show(g, c)
		case !c.answered:
			c.fail(err)
		}
		sh.commits.answer(sh, c)
		if g.committing == 0 {
			idle := g.idle
			g.idle = nil
			for _, f := range idle {
				f()
			}
			g.forgetIfTrivial()
		}
	})
}

// show makes written offsets visible. If a topic was deleted while they were on
// their way, they go again.
func (sh *shard) show(g *group, c *commit) {
	for _, o := range c.offsets {
		g.setOffset(o.topicPartition.topic, o.partition, o.offset)
	}
	if sh.svc.deletions.Load() == c.deletions {
		return
	}
	var gone []topicPartition
	for _, o := range c.offsets {
		if id, ok := sh.svc.opts.Topics.TopicID(o.topicPartition.topic); !ok || id != o.topicID {
			gone = append(gone, o.topicPartition)
		}
	}
	g.deleteOffsets(gone, func(*kerr.Error) {})
}

// whenIdle runs f, under the lock, when no commit of the group is on its way.
func (g *group) whenIdle(f func()) {
	if g.committing == 0 {
		f()
		return
	}
	g.idle = append(g.idle, f)
}
