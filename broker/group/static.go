package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// replaceStatic answers a client that joins with the group.instance.id of a member
// but without its member id: a restarted process. It takes the member's place
// under a new id; the old id is fenced. In a stable group whose protocol stays the
// same nothing else happens: the new id is written and the client gets the
// generation there is.
func (j *joining) replaceStatic(g *group, old *member, id string) {
	g.sh.svc.log.Info("static member of group replaced", "group", logged(g.id), "instance", logged(*old.instance),
		"old", logged(old.id), "new", logged(id), "state", g.state.String())
	oldLeader := g.leader
	m := g.swapStatic(old, id)
	j.updateMember(g, m)
	g.touch(m)
	switch {
	case g.state == Stable && g.selectProtocol() == g.protocol:
		j.persistReplacement(g, old, m, oldLeader)
	case g.state == Stable || g.state == CompletingRebalance:
		// In CompletingRebalance the leader may be assigning to the old id.
		g.prepareRebalance("static member " + id + " joins")
	default:
		g.completeJoinIfAll()
	}
}

// swapStatic puts a copy of old under a new id in its place.
func (g *group) swapStatic(old *member, id string) *member {
	g.answerJoinError(old, kerr.FencedInstanceID)
	g.answerSyncError(old, kerr.FencedInstanceID)
	leads := g.leader == old.id
	m := &member{id: id, instance: old.instance, clientID: old.clientID, clientHost: old.clientHost,
		sessionMs: old.sessionMs, rebalanceMs: old.rebalanceMs, protocols: old.protocols,
		assignment: old.assignment, isNew: old.isNew, unknownToClient: true}
	_, unsynced := g.unsynced[old.id]
	seq, next := old.seq, g.nextSeq
	g.remove(old)
	g.add(m)
	m.seq, g.nextSeq = seq, next
	if unsynced {
		g.unsynced[id] = struct{}{}
	}
	if leads {
		g.leader = id
	}
	return m
}

// persistReplacement writes the group with the new member id, then answers. If it
// cannot be written the old id is valid again: it is the one in the log.
func (j *joining) persistReplacement(g *group, old, m *member, oldLeader string) {
	parked := m.join
	assignments := map[string][]byte{}
	for _, x := range g.members {
		assignments[x.id] = x.assignment
	}
	g.persist(assignments, func(err *kerr.Error) {
		if g.members[m.id] != m || m.join != parked {
			return // replaced again, removed, or its connection is gone: answered there
		}
		if g.state != Stable {
			return // a rebalance has begun; the request waits for its end
		}
		if err != nil {
			g.answerJoinError(m, err)
			g.swapBack(m, old)
			return
		}
		m.isNew, m.unknownToClient = false, false
		leads := g.leader == m.id
		skips := j.req.Version >= 9
		g.answerJoin(m, func(r *kmsg.JoinGroupResponse) {
			g.fillGeneration(r, m)
			switch {
			case skips && leads:
				// The leader learns its group, and that it need not assign.
				r.Members, r.SkipAssignment = g.joinMembers(), true
			case !skips:
				// A client that cannot skip the assignment must not think it leads.
				r.LeaderID = oldLeader
			}
		})
	})
}

// swapBack gives the place back to the old member after a failed write.
func (g *group) swapBack(m, old *member) {
	back := g.swapStatic(m, old.id)
	g.count(back, -1)
	back.protocols, back.sessionMs, back.rebalanceMs = old.protocols, old.sessionMs, old.rebalanceMs
	back.isNew, back.unknownToClient = old.isNew, old.unknownToClient
	g.count(back, 1)
	g.touch(back)
}
