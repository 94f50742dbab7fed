package group

import (
	"bytes"

	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SyncGroup (key 14, versions 0-5). reply is called once, as with JoinGroup.
func (s *Service) SyncGroup(c server.Client, req *kmsg.SyncGroupRequest, reply func(*kmsg.SyncGroupResponse)) {
	y := &parkedSync{resp: req.ResponseKind().(*kmsg.SyncGroupResponse), reply: reply, conn: c.ConnID}
	refuse := func(err *kerr.Error) {
		y.resp.ErrorCode = err.Code
		reply(y.resp)
	}
	if req.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil) {
		refuse(kerr.InconsistentGroupProtocol)
		return
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
	if err := g.checkSync(req); err != nil {
		sh.after(func() { refuse(err) })
		return
	}
	m := g.members[req.MemberID]
	if g.state == Stable {
		g.synced(m)
		g.fillSync(y.resp, m)
		sh.after(func() { reply(y.resp) })
		return
	}
	g.synced(m)
	g.parkSync(m, y)
	if g.leader == m.id && !g.assigning {
		g.assign(req.GroupAssignment)
	}
}

// checkSync says why a SyncGroup is refused, nil if it is not. g may be nil.
func (g *group) checkSync(req *kmsg.SyncGroupRequest) *kerr.Error {
	if g == nil {
		return kerr.UnknownMemberID
	}
	if g.deleting {
		return kerr.CoordinatorNotAvailable
	}
	if err := g.check(req.MemberID, req.InstanceID); err != nil {
		return err
	}
	switch {
	case req.Generation != g.generation:
		return kerr.IllegalGeneration
	case req.ProtocolType != nil && *req.ProtocolType != g.protocolType,
		req.Protocol != nil && g.protocol != "" && *req.Protocol != g.protocol:
		return kerr.InconsistentGroupProtocol
	case g.state == PreparingRebalance:
		return kerr.RebalanceInProgress
	case g.beginning: // nobody has been told of this generation
		return kerr.RebalanceInProgress
	}
	return nil
}

// synced notes that the member has asked for its assignment.
func (g *group) synced(m *member) {
	delete(g.unsynced, m.id)
	if len(g.unsynced) == 0 {
		g.sh.disarm(&g.syncTimer)
	}
}

// fillSync fills in the current assignment of the member.
func (g *group) fillSync(r *kmsg.SyncGroupResponse, m *member) {
	protocolType, chosen := g.protocolType, g.protocol
	r.ProtocolType, r.Protocol, r.MemberAssignment = &protocolType, &chosen, m.assignment
}

// assign writes the leader's assignment; then the group is stable and everybody
// that waits gets its part. Members the leader left out get nothing.
func (g *group) assign(all []kmsg.SyncGroupRequestGroupAssignment) {
	assignments := make(map[string][]byte, len(g.members))
	for _, a := range all {
		if g.members[a.MemberID] != nil {
			assignments[a.MemberID] = bytes.Clone(a.MemberAssignment)
		}
	}
	g.assigning = true
	generation := g.generation
	g.persist(assignments, func(err *kerr.Error) {
		if g.state != CompletingRebalance || g.generation != generation || !g.assigning {
			return // overtaken by the next rebalance, which has answered
		}
		g.assigning = false
		if err != nil {
			for _, m := range g.members {
				g.answerSyncError(m, err)
			}
			g.prepareRebalance("writing the assignment failed")
			return
		}
		g.to(Stable)
		for _, m := range g.members {
			m.assignment = assignments[m.id]
			g.answerSync(m, func(r *kmsg.SyncGroupResponse) { g.fillSync(r, m) })
		}
	})
}
