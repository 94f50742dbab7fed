package group

import (
	"slices"
	"sync/atomic"

	"millrace/broker/coordinator"
	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteGroups (key 42, versions 0-3). reply is called once, when each group is
// gone from the disk or known not to go.
func (s *Service) DeleteGroups(_ server.Client, req *kmsg.DeleteGroupsRequest, reply func(*kmsg.DeleteGroupsResponse)) {
	resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
	names := unique(req.Groups)
	resp.Groups = make([]kmsg.DeleteGroupsResponseGroup, len(names))
	var open atomic.Int64 // groups whose fate is not known, plus the loop below
	open.Store(int64(len(names)) + 1)
	finish := func() {
		if open.Add(-1) == 0 {
			reply(resp)
		}
	}
	for i, name := range names {
		resp.Groups[i] = kmsg.NewDeleteGroupsResponseGroup()
		resp.Groups[i].Group = name
		s.deleteGroup(name, func(err *kerr.Error) {
			if err != nil {
				resp.Groups[i].ErrorCode = err.Code
			}
			finish()
		})
	}
	finish()
}

// unique is the names, each once, in order.
func unique(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// deleteGroup deletes one group. done is called once, without a lock.
func (s *Service) deleteGroup(name string, done func(*kerr.Error)) {
	sh, g, err := s.existing(name)
	if err != nil {
		done(err)
		return
	}
	defer sh.unlock()
	switch {
	case g == nil || g.state == Dead:
		err = kerr.GroupIDNotFound
	case g.deleting:
		err = kerr.CoordinatorNotAvailable
	case g.state != Empty:
		err = kerr.NonEmptyGroup
	}
	if err != nil {
		sh.after(func() { done(err) })
		return
	}
	g.delete(func(err *kerr.Error) { sh.after(func() { done(err) }) })
}

// delete writes tombstones for all offsets of an empty group and for the group,
// then drops it. Commits that are on their way go first, for their offsets must go
// too. done runs under the lock.
func (g *group) delete(done func(*kerr.Error)) {
	g.deleting = true
	g.whenIdle(func() {
		if g.state == Dead {
			done(kerr.NotCoordinator)
			return
		}
		var records []coordinator.Record
		for topic, partitions := range g.offsets {
			for p := range partitions {
				records = append(records, offsetTombstone(g.id, topic, p))
			}
		}
		if g.persisted {
			records = append(records, groupTombstone(g.id))
		}
		g.sh.append(records, func(err *kerr.Error) {
			g.deleting = false
			if err == nil {
				g.drop()
			}
			done(err)
		})
	})
}

// drop removes an empty group from memory.
func (g *group) drop() {
	for _, p := range g.pending {
		g.removePending(p)
	}
	for _, partitions := range g.offsets {
		g.sh.offsets -= len(partitions)
	}
	g.offsets = offsetTable{}
	g.to(Dead)
	delete(g.sh.groups, g.id)
}
