package group

import (
	"time"

	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// newMemberJoinTimeout is how long a JoinGroup of a new member may wait. Its
// client cannot heartbeat, and when it gives up and comes again it is another
// member, so a long rebalance would fill up with the dead.
const newMemberJoinTimeout = 5 * time.Minute

// JoinGroup (key 11, versions 0-9). reply is called once, maybe before JoinGroup
// returns, maybe much later on another goroutine. Strings of the request are kept,
// bytes are copied.
func (s *Service) JoinGroup(c server.Client, req *kmsg.JoinGroupRequest, reply func(*kmsg.JoinGroupResponse)) {
	j := &joining{svc: s, client: c, req: req,
		parkedJoin: &parkedJoin{resp: req.ResponseKind().(*kmsg.JoinGroupResponse), reply: reply, conn: c.ConnID}}
	j.resp.Generation = -1
	config := &s.opts.Config
	switch {
	case req.Group == "":
		j.refuse(nil, req.MemberID, kerr.InvalidGroupID)
		return
	case req.SessionTimeoutMillis < config.MinSessionTimeoutMs || req.SessionTimeoutMillis > config.MaxSessionTimeoutMs:
		j.refuse(nil, req.MemberID, kerr.InvalidSessionTimeout)
		return
	}
	sh, g, err := s.existing(req.Group)
	if err != nil {
		j.refuse(nil, req.MemberID, err)
		return
	}
	defer sh.unlock()
	if g == nil {
		if req.MemberID != "" {
			j.refuse(sh, req.MemberID, kerr.UnknownMemberID)
			return
		}
		g = sh.newGroup(req.Group)
	}
	j.join(g)
	g.forgetIfTrivial()
}

// joining is one JoinGroup request on its way.
type joining struct {
	*parkedJoin
	svc    *Service
	client server.Client
	req    *kmsg.JoinGroupRequest
}

// refuse answers with an error; sh is nil if no lock is held.
func (j *joining) refuse(sh *shard, memberID string, err *kerr.Error) {
	j.resp.ErrorCode, j.resp.MemberID = err.Code, memberID
	if sh == nil {
		j.reply(j.resp)
		return
	}
	sh.after(func() { j.reply(j.resp) })
}

func (j *joining) join(g *group) {
	req := j.req
	switch {
	case g.deleting:
		j.refuse(g.sh, req.MemberID, kerr.CoordinatorNotAvailable)
	case !g.hasRoomFor(req.MemberID):
		if m := g.members[req.MemberID]; m != nil {
			g.removeAndRebalance(m)
		}
		if p := g.pending[req.MemberID]; p != nil {
			g.removePending(p)
			g.completeJoinIfAll()
		}
		j.refuse(g.sh, "", kerr.GroupMaxSizeReached)
	case !g.accepts(req.ProtocolType, req.Protocols):
		j.refuse(g.sh, req.MemberID, kerr.InconsistentGroupProtocol)
	case req.MemberID == "":
		j.joinNew(g)
	default:
		j.joinKnown(g)
	}
}

// hasRoomFor says whether the group may take this member, by group.max.size. While
// members are being collected those that have joined count, so that the last to
// come back are the ones that do not fit.
func (g *group) hasRoomFor(memberID string) bool {
	limit := int(g.sh.svc.opts.Config.MaxSize)
	m := g.members[memberID]
	switch g.state {
	case PreparingRebalance:
		return m != nil && m.join != nil || g.awaiting < limit
	case CompletingRebalance, Stable:
		return m != nil || len(g.members) < limit
	}
	return true
}

// joinNew is the first JoinGroup of a member.
func (j *joining) joinNew(g *group) {
	req := j.req
	id := newMemberID(j.client.ID, req.InstanceID)
	if req.InstanceID != nil {
		if old, ok := g.static[*req.InstanceID]; ok {
			j.replaceStatic(g, g.members[old], id)
			return
		}
		j.addMember(g, id)
		return
	}
	if req.Version < 4 {
		j.addMember(g, id)
		return
	}
	// KIP-394: a client that goes away before it knows its id must not leave a
	// member behind, so it gets the id first and joins with it.
	p := &pendingMember{id: id, session: timer{sh: g.sh}}
	p.session.fire = func() { g.expirePending(p) }
	g.pending[id] = p
	g.sh.rememberPending(g, p)
	g.sh.arm(&p.session, ms(req.SessionTimeoutMillis))
	j.refuse(g.sh, id, kerr.MemberIDRequired)
}

// joinKnown is a JoinGroup with a member id.
func (j *joining) joinKnown(g *group) {
	req := j.req
	if p := g.pending[req.MemberID]; p != nil && req.InstanceID == nil {
		g.removePending(p)
		j.addMember(g, p.id)
		return
	}
	if err := g.check(req.MemberID, req.InstanceID); err != nil {
		j.refuse(g.sh, req.MemberID, err)
		return
	}
	m := g.members[req.MemberID]
	same := m.matches(req.Protocols)
	switch {
	case g.beginning && same: // the answer comes when the generation is written
		g.parkJoin(m, j.parkedJoin)
	case g.state == CompletingRebalance && same,
		g.state == Stable && same && g.leader != m.id:
		// It has not got the last answer, or wants nothing new.
		g.fillGeneration(j.resp, m)
		if g.leader == m.id {
			j.resp.Members = g.joinMembers()
		}
		g.touch(m)
		g.sh.after(func() { j.reply(j.resp) })
	case g.state == Empty || g.state == Dead:
		j.refuse(g.sh, req.MemberID, kerr.UnknownMemberID)
	default:
		// New metadata, or the leader, who may know of new partitions.
		j.updateMember(g, m)
		g.rebalance("member " + m.id + " joins again: " + j.reason())
	}
}

// addMember makes the client a member and starts or extends the rebalance.
func (j *joining) addMember(g *group, id string) {
	m := &member{id: id, instance: j.req.InstanceID, isNew: true, unknownToClient: j.req.MemberID == ""}
	m.update(j.client, j.req)
	if g.state == PreparingRebalance && g.initial {
		g.newMemberAdded = true
	}
	if g.protocolType == "" || g.state == Empty {
		g.protocolType = j.req.ProtocolType
	}
	g.add(m)
	g.parkJoin(m, j.parkedJoin)
	g.sh.arm(&m.session, newMemberJoinTimeout)
	g.rebalance("member " + id + " joins: " + j.reason())
}

// reason is the client's reason to join, for the log.
func (j *joining) reason() string {
	if j.req.Reason == nil {
		return "no reason given"
	}
	return *j.req.Reason
}

// updateMember takes over the request's protocols and makes it wait.
func (j *joining) updateMember(g *group, m *member) {
	g.count(m, -1)
	m.update(j.client, j.req)
	g.count(m, 1)
	g.parkJoin(m, j.parkedJoin)
}
