package group

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// parked knows which JoinGroup and SyncGroup requests wait on which connection, so
// that the end of a connection ends them.
type parked struct {
	mu    sync.Mutex
	conns map[uint64]map[any]func() // connection -> *parkedJoin or *parkedSync -> what to do
}

// add notes that gone is to run if the connection ends before drop.
func (p *parked) add(conn uint64, request any, gone func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns[conn] == nil {
		p.conns[conn] = map[any]func(){}
	}
	p.conns[conn][request] = gone
}

// drop forgets a request, which has been answered.
func (p *parked) drop(conn uint64, request any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns[conn], request)
	if len(p.conns[conn]) == 0 {
		delete(p.conns, conn)
	}
}

// Disconnected says that a connection is gone. A member whose JoinGroup waited on
// it is no longer counted as joined: if the client does not know its member id yet
// the member goes at once, else it has its session timeout to come back, as if it
// had sent a heartbeat now. Kafka keeps such members until the rebalance is over
// and one session more.
func (s *Service) Disconnected(connID uint64) {
	s.parked.mu.Lock()
	gone := s.parked.conns[connID]
	delete(s.parked.conns, connID)
	s.parked.mu.Unlock()
	for _, f := range gone {
		f()
	}
}

// parkJoin makes req wait. A JoinGroup of the member that waits already is
// answered: its client has sent another.
func (g *group) parkJoin(m *member, j *parkedJoin) {
	g.answerJoinError(m, kerr.RebalanceInProgress)
	m.join = j
	g.awaiting++
	if j.conn != 0 {
		g.sh.svc.parked.add(j.conn, j, func() { g.joinerGone(m, j) })
	}
}

// joinerGone is called when the connection of a waiting JoinGroup is gone.
func (g *group) joinerGone(m *member, j *parkedJoin) {
	g.sh.lock()
	defer g.sh.unlock()
	if m.join != j || g.members[m.id] != m {
		return
	}
	m.join = nil
	g.awaiting--
	resp, reply := j.resp, j.reply
	resp.ErrorCode, resp.MemberID = kerr.RebalanceInProgress.Code, m.id
	g.sh.after(func() { reply(resp) })
	if m.isNew && m.unknownToClient && m.instance == nil {
		g.removeAndRebalance(m)
		return
	}
	m.isNew = false
	g.touch(m)
}

// answerJoin sends the answer a waiting JoinGroup waits for, if one does. From now
// on it is up to the member to be heard of again.
func (g *group) answerJoin(m *member, fill func(*kmsg.JoinGroupResponse)) {
	j := m.join
	if j == nil {
		return
	}
	m.join = nil
	g.awaiting--
	if j.conn != 0 {
		g.sh.svc.parked.drop(j.conn, j)
	}
	g.touch(m)
	fill(j.resp)
	g.sh.after(func() { j.reply(j.resp) })
}

func (g *group) answerJoinError(m *member, err *kerr.Error) {
	g.answerJoin(m, func(r *kmsg.JoinGroupResponse) {
		r.ErrorCode, r.MemberID = err.Code, m.id
		if err == kerr.UnknownMemberID {
			r.MemberID = "" // start again
		}
	})
}

// parkSync makes a SyncGroup wait for the assignment.
func (g *group) parkSync(m *member, y *parkedSync) {
	g.answerSyncError(m, kerr.RebalanceInProgress)
	m.sync = y
	if y.conn != 0 {
		g.sh.svc.parked.add(y.conn, y, func() { g.syncerGone(m, y) })
	}
}

// syncerGone is called when the connection of a waiting SyncGroup is gone: from
// here on the member's session counts, where it had been waiting for us before.
func (g *group) syncerGone(m *member, y *parkedSync) {
	g.sh.lock()
	defer g.sh.unlock()
	if m.sync != y || g.members[m.id] != m {
		return
	}
	m.sync = nil
	y.resp.ErrorCode = kerr.RebalanceInProgress.Code
	g.sh.after(func() { y.reply(y.resp) })
	g.touch(m)
}

// answerSync is answerJoin for a waiting SyncGroup.
func (g *group) answerSync(m *member, fill func(*kmsg.SyncGroupResponse)) {
	y := m.sync
	if y == nil {
		return
	}
	m.sync = nil
	if y.conn != 0 {
		g.sh.svc.parked.drop(y.conn, y)
	}
	g.touch(m)
	fill(y.resp)
	g.sh.after(func() { y.reply(y.resp) })
}

func (g *group) answerSyncError(m *member, err *kerr.Error) {
	g.answerSync(m, func(r *kmsg.SyncGroupResponse) { r.ErrorCode = err.Code })
}
