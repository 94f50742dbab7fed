package group

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// replay rebuilds a shard from the records of its partition.
type replay struct {
	sh    *shard
	epoch int // of the load; a shard given up meanwhile takes no more records
}

// record applies one record. Records of kinds that belong to other group
// protocols are passed over.
func (r *replay) record(key, value []byte) error {
	version, err := keyVersion(key)
	if err != nil {
		return err
	}
	r.sh.lock()
	defer r.sh.unlock()
	if r.sh.epoch != r.epoch {
		return kerr.NotCoordinator
	}
	switch {
	case version < 0 || version > groupKeyVersion:
		return nil
	case version == groupKeyVersion:
		return r.group(key, value)
	}
	return r.offset(key, value)
}

func (r *replay) offset(key, value []byte) error {
	k, err := decodeOffsetKey(key)
	if err != nil {
		return err
	}
	if value == nil {
		if g := r.sh.groups[k.Group]; g != nil {
			g.dropOffset(k.Topic, k.Partition)
			g.forgetIfTrivial()
		}
		return nil
	}
	o, err := decodeOffset(value)
	if err != nil {
		return err
	}
	g := r.sh.groups[k.Group]
	if g == nil {
		g = r.sh.newGroup(k.Group)
		g.stateSinceMs = -1
	}
	g.setOffset(k.Topic, k.Partition, o)
	return nil
}

func (r *replay) group(key, value []byte) error {
	id, err := decodeGroupKey(key)
	if err != nil {
		return err
	}
	g := r.sh.groups[id]
	if value == nil {
		if g != nil {
			g.clearMembers()
			g.generation, g.protocolType, g.protocol, g.leader = 0, "", "", ""
			g.state, g.stateSinceMs, g.persisted = Empty, -1, false
			g.forgetIfTrivial()
		}
		return nil
	}
	v, err := decodeGroup(value)
	if err != nil {
		return err
	}
	if g == nil {
		g = r.sh.newGroup(id)
	}
	g.install(v)
	return nil
}

// clearMembers drops members without telling anybody; while loading there is nobody.
func (g *group) clearMembers() {
	clear(g.members)
	clear(g.static)
	clear(g.supported)
	g.leader = ""
}

// install makes g what the record says.
func (g *group) install(v *kmsg.GroupMetadataValue) {
	g.clearMembers()
	g.persisted = true
	g.generation, g.protocolType, g.protocol = v.Generation, v.ProtocolType, ""
	if v.Protocol != nil {
		g.protocol = *v.Protocol
	}
	for _, x := range v.Members {
		m := &member{
			id: x.MemberID, instance: x.InstanceID, clientID: x.ClientID, clientHost: x.ClientHost,
			sessionMs: x.SessionTimeoutMillis, rebalanceMs: x.RebalanceTimeoutMillis,
			protocols:  []protocol{{g.protocol, bytes.Clone(x.Subscription)}},
			assignment: bytes.Clone(x.Assignment),
		}
		if v.Version == 0 || m.rebalanceMs < 0 {
			m.rebalanceMs = m.sessionMs
		}
		g.add(m)
	}
	g.state = Empty
	if len(g.members) > 0 {
		g.state = Stable
		g.leader = ""
		if v.Leader != nil {
			g.leader = *v.Leader
		}
	}
	g.stateSinceMs = v.CurrentStateTimestamp
}

// resume starts the clocks of a loaded group: its members have a full session to
// be heard of, for the time the partition was without a coordinator was not
// theirs. A rebalance that was under way goes on.
func (g *group) resume() {
	if g.state != Stable {
		return
	}
	g.learnSubscriptions()
	for _, m := range g.members {
		g.touch(m)
	}
	interrupted := g.leader == ""
	if interrupted {
		g.leader = g.ordered()[0].id
	}
	if interrupted || int32(len(g.members)) > g.sh.svc.opts.Config.MaxSize {
		g.prepareRebalance("the coordinator was loaded during a rebalance")
	}
}

// abandon answers everything that waits: another broker coordinates the group now.
func (g *group) abandon() {
	for _, m := range g.members {
		g.answerJoinError(m, kerr.NotCoordinator)
		g.answerSyncError(m, kerr.NotCoordinator)
		g.sh.disarm(&m.session)
	}
	for _, p := range g.pending {
		g.sh.disarm(&p.session)
	}
	g.sh.disarm(&g.joinTimer)
	g.sh.disarm(&g.syncTimer)
	g.state = Dead
	idle := g.idle
	g.idle = nil
	for _, f := range idle {
		f()
	}
}
