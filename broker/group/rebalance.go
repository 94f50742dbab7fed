package group

import (
	"time"

	"millrace/broker/coordinator"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rebalance starts a rebalance, or, when one is collecting members already, sees
// whether it can go on.
func (g *group) rebalance(reason string) {
	switch g.state {
	case Empty, CompletingRebalance, Stable:
		g.prepareRebalance(reason)
	case PreparingRebalance:
		g.completeJoinIfAll()
	}
}

// prepareRebalance makes all members join again.
func (g *group) prepareRebalance(reason string) {
	if g.state == CompletingRebalance {
		for _, m := range g.members {
			g.answerSyncError(m, kerr.RebalanceInProgress)
		}
	}
	g.sh.disarm(&g.syncTimer)
	g.beginning, g.assigning = false, false
	clear(g.unsynced)
	g.sh.svc.log.Info("preparing to rebalance group", "group", logged(g.id), "state", g.state.String(),
		"generation", g.generation, "members", len(g.members), "reason", logged(reason))

	g.initial = g.state == Empty
	g.to(PreparingRebalance)
	if g.initial {
		// The group is new: more members are likely to come. Each one that comes
		// extends the delay, within the rebalance timeout.
		g.newMemberAdded = false
		delay := ms(g.sh.svc.opts.Config.InitialRebalanceDelayMs)
		g.initialLeft = max(g.rebalanceTimeout()-delay, 0)
		g.armJoin(delay, g.expireInitialDelay)
		return
	}
	if g.allJoined() {
		g.completeJoin()
		return
	}
	g.armJoin(g.rebalanceTimeout(), g.completeJoin)
}

func (g *group) armJoin(d time.Duration, f func()) {
	g.joinTimer.fire = f
	g.sh.arm(&g.joinTimer, d)
}

// expireInitialDelay ends the initial delay, or extends it for those that came.
func (g *group) expireInitialDelay() {
	if g.newMemberAdded && g.initialLeft > 0 {
		g.newMemberAdded = false
		delay := min(ms(g.sh.svc.opts.Config.InitialRebalanceDelayMs), g.initialLeft)
		g.initialLeft -= delay
		g.armJoin(delay, g.expireInitialDelay)
		return
	}
	g.completeJoin()
}

// allJoined says whether every member, and everybody who was given a member id,
// has sent its JoinGroup.
func (g *group) allJoined() bool { return g.awaiting == len(g.members) && len(g.pending) == 0 }

// completeJoinIfAll re-checks the barrier after a member came, left or expired.
func (g *group) completeJoinIfAll() {
	if g.state == PreparingRebalance && !g.initial && g.allJoined() {
		g.completeJoin()
	}
}

// completeJoin ends the collecting of members: those that have not joined are out,
// except static ones, and the next generation begins.
func (g *group) completeJoin() {
	g.sh.disarm(&g.joinTimer)
	for _, m := range g.ordered() {
		if m.join == nil && m.instance == nil {
			g.remove(m)
		}
	}
	if len(g.members) > 0 && !g.electLeader() {
		// Only static members are left and none has come back yet.
		g.armJoin(g.rebalanceTimeout(), g.completeJoin)
		return
	}
	g.initial = false
	g.generation++
	if len(g.members) == 0 {
		g.becomeEmpty()
		return
	}
	g.protocol = g.selectProtocol()
	g.learnSubscriptions()
	g.to(CompletingRebalance)
	for _, m := range g.members {
		m.assignment = nil
		if m.join != nil { // a static member that is away has its session timeout, no less
			g.unsynced[m.id] = struct{}{}
		}
	}
	generation := g.generation
	g.beginning = true
	g.persist(nil, func(err *kerr.Error) {
		if g.state == CompletingRebalance && g.generation == generation {
			g.beginning = false
			g.beginGeneration(err)
		}
	})
}

// electLeader makes a member that has joined the leader, the present one if it has.
func (g *group) electLeader() bool {
	if m := g.members[g.leader]; m != nil && m.join != nil {
		return true
	}
	for _, m := range g.ordered() {
		if m.join != nil {
			g.leader = m.id
			return true
		}
	}
	return false
}

// becomeEmpty ends the generation of a group whose last member is gone.
func (g *group) becomeEmpty() {
	g.protocol, g.leader = "", ""
	g.learnSubscriptions()
	g.to(Empty)
	g.persist(nil, func(*kerr.Error) {}) // a loss of this record only brings expired members back
}

// persist writes the group as it is.
func (g *group) persist(assignments map[string][]byte, done func(*kerr.Error)) {
	g.persisted = true
	g.sh.append([]coordinator.Record{g.groupRecord(assignments)}, done)
}

// beginGeneration answers the JoinGroups: the generation is on the disk, or it is
// not and they must try again.
func (g *group) beginGeneration(err *kerr.Error) {
	if err != nil {
		for _, m := range g.members {
			g.answerJoinError(m, err)
			m.isNew = false
		}
		g.prepareRebalance("writing the generation failed")
		return
	}
	g.sh.svc.log.Info("stabilized group", "group", logged(g.id), "generation", g.generation,
		"members", len(g.members), "protocol", logged(g.protocol))
	for _, m := range g.members {
		g.answerJoinGeneration(m)
	}
	g.sh.arm(&g.syncTimer, g.rebalanceTimeout())
}

// answerJoinGeneration answers a waiting JoinGroup with the current generation.
func (g *group) answerJoinGeneration(m *member) {
	m.isNew, m.unknownToClient = false, false
	g.answerJoin(m, func(r *kmsg.JoinGroupResponse) {
		g.fillGeneration(r, m)
		if g.leader == m.id {
			r.Members = g.joinMembers()
		}
	})
}

// fillGeneration fills in what every successful JoinGroup response has.
func (g *group) fillGeneration(r *kmsg.JoinGroupResponse, m *member) {
	protocolType, chosen := g.protocolType, g.protocol
	r.Generation, r.ProtocolType, r.Protocol = g.generation, &protocolType, &chosen
	r.LeaderID, r.MemberID = g.leader, m.id
}

// joinMembers is what the leader is told about all members.
func (g *group) joinMembers() []kmsg.JoinGroupResponseMember {
	out := make([]kmsg.JoinGroupResponseMember, 0, len(g.members))
	for _, m := range g.ordered() {
		x := kmsg.NewJoinGroupResponseMember()
		x.MemberID, x.InstanceID, x.ProtocolMetadata = m.id, m.instance, m.metadata(g.protocol)
		out = append(out, x)
	}
	return out
}

// expireSync removes the members that have joined but not asked for their
// assignment within the rebalance timeout.
func (g *group) expireSync() {
	if g.state != CompletingRebalance && g.state != Stable || len(g.unsynced) == 0 {
		return
	}
	for id := range g.unsynced {
		g.remove(g.members[id])
	}
	g.prepareRebalance("members did not sync in time")
}

// touch starts the session timeout of a member anew.
func (g *group) touch(m *member) { g.sh.arm(&m.session, ms(m.sessionMs)) }

// expireSession is the end of a member that was not heard of, unless it waits for
// the coordinator itself. One that its client does not know of yet may be
// abandoned, so it goes even then.
func (g *group) expireSession(m *member) {
	if g.members[m.id] != m {
		return
	}
	if !m.isNew && (m.join != nil || m.sync != nil) {
		return // armed again when the answer goes out
	}
	g.sh.svc.log.Info("member of group expired", "group", logged(g.id), "member", logged(m.id))
	g.removeAndRebalance(m)
}

func (g *group) removeAndRebalance(m *member) {
	g.remove(m)
	g.rebalance("removing member " + m.id)
}

// expirePending forgets a member id that nobody has joined with.
func (g *group) expirePending(p *pendingMember) {
	if g.pending[p.id] != p {
		return
	}
	g.removePending(p)
	g.completeJoinIfAll()
	g.forgetIfTrivial()
}
