package group

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// group is one group: its members, or the offsets committed in its name, or both.
// Everything belongs to the shard's lock.
type group struct {
	sh    *shard
	id    string
	state State
	// stateSinceMs is the wall-clock time of the last change of state, -1 if
	// unknown; the retention of offsets counts from it while the group is Empty.
	stateSinceMs int64

	generation   int32
	protocolType string // "" before the first member: a group that only commits offsets
	protocol     string // "" while none is chosen
	leader       string // member id, "" if none

	members map[string]*member
	static  map[string]string // group.instance.id -> member id
	pending map[string]*pendingMember
	nextSeq uint64

	supported map[string]int // protocol -> members that support it
	awaiting  int            // members whose JoinGroup waits

	// initial says that PreparingRebalance was entered from Empty: it lasts the
	// initial rebalance delay and is not cut short when all have joined.
	initial bool
	// newMemberAdded extends the initial delay: a member came during it.
	newMemberAdded bool
	initialLeft    time.Duration // how much longer the initial delay may get
	joinTimer      timer

	// unsynced is the members that have not sent SyncGroup in this generation.
	unsynced  map[string]struct{}
	syncTimer timer
	// beginning: the generation is on its way to the disk; nobody may hear of it.
	beginning bool
	// assigning: the leader's assignment is on its way to the disk.
	assigning bool

	// subscribed is the topics of all members in the chosen protocol, nil if they
	// cannot be known.
	subscribed map[string]struct{}

	offsets offsetTable
	// committing counts offset commits on their way to the disk.
	committing int
	idle       []func() // run when committing gets to 0

	// persisted: the log has a group metadata record, so a tombstone is due when
	// the group goes.
	persisted bool
	// deleting: tombstones are on their way; the group takes no more requests.
	deleting bool
}

// pendingMember is a client that was given a member id and has yet to join with it.
type pendingMember struct {
	id      string
	session timer
}

// consumerProtocol is the protocol type of consumers; their metadata is understood.
const consumerProtocol = "consumer"

func (sh *shard) newGroup(id string) *group {
	g := &group{
		sh: sh, id: id, stateSinceMs: sh.svc.now().UnixMilli(),
		members: map[string]*member{}, static: map[string]string{}, pending: map[string]*pendingMember{},
		unsynced: map[string]struct{}{}, supported: map[string]int{}, offsets: offsetTable{},
	}
	g.joinTimer = timer{sh: sh}
	g.syncTimer = timer{sh: sh, fire: g.expireSync}
	sh.groups[id] = g
	return g
}

// to changes the state.
func (g *group) to(s State) {
	g.state = s
	g.stateSinceMs = g.sh.svc.now().UnixMilli()
}

// check is the validation that every request of a member must pass.
func (g *group) check(memberID string, instance *string) *kerr.Error {
	if instance != nil {
		current, ok := g.static[*instance]
		if !ok {
			return kerr.UnknownMemberID
		}
		if current != memberID {
			return kerr.FencedInstanceID
		}
	}
	if _, ok := g.members[memberID]; !ok {
		return kerr.UnknownMemberID
	}
	return nil
}

// add makes m a member. The first one leads.
func (g *group) add(m *member) {
	m.seq = g.nextSeq
	g.nextSeq++
	m.session = timer{sh: g.sh, fire: func() { g.expireSession(m) }}
	g.members[m.id] = m
	g.count(m, 1)
	if m.instance != nil {
		g.static[*m.instance] = m.id
	}
	if g.leader == "" {
		g.leader = m.id
	}
}

// remove takes m out of the group. Requests of it that wait get UNKNOWN_MEMBER_ID.
func (g *group) remove(m *member) {
	g.answerJoinError(m, kerr.UnknownMemberID)
	g.answerSyncError(m, kerr.UnknownMemberID)
	g.sh.disarm(&m.session)
	delete(g.members, m.id)
	g.count(m, -1)
	delete(g.unsynced, m.id)
	if m.instance != nil && g.static[*m.instance] == m.id {
		delete(g.static, *m.instance)
	}
	if g.leader == m.id {
		g.leader = ""
		if next := g.ordered(); len(next) > 0 {
			g.leader = next[0].id
		}
	}
}

func (g *group) removePending(p *pendingMember) {
	g.sh.disarm(&p.session)
	delete(g.pending, p.id)
	g.sh.forgetPending(p)
}

// ordered is the members in order of joining.
func (g *group) ordered() []*member {
	all := make([]*member, 0, len(g.members))
	for _, m := range g.members {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *member) int {
		if a.seq < b.seq {
			return -1
		}
		return 1
	})
	return all
}

// count adds n to the count of each protocol m supports.
func (g *group) count(m *member, n int) {
	for _, p := range m.protocols {
		if g.supported[p.name] += n; g.supported[p.name] == 0 {
			delete(g.supported, p.name)
		}
	}
}

// rebalanceTimeout is the longest of the members'.
func (g *group) rebalanceTimeout() time.Duration {
	var longest int32
	for _, m := range g.members {
		longest = max(longest, m.rebalanceMs)
	}
	return ms(longest)
}

// forgetIfTrivial drops a group that says nothing: no members, no offsets, no
// record of it. Such groups come from members that never returned with the id
// they were given and from commits that failed.
func (g *group) forgetIfTrivial() {
	if g.state == Empty && len(g.members) == 0 && len(g.pending) == 0 && len(g.offsets) == 0 &&
		g.committing == 0 && !g.persisted && !g.deleting && g.sh.groups[g.id] == g {
		g.to(Dead)
		delete(g.sh.groups, g.id)
	}
}
