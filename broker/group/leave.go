package group

import (
	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// LeaveGroup (key 13, versions 0-5). reply is called once, when the members are
// out and what was written about it is on the disk. If it could not be written
// they are out all the same: a crash would bring them back for one session timeout.
func (s *Service) LeaveGroup(_ server.Client, req *kmsg.LeaveGroupRequest, reply func(*kmsg.LeaveGroupResponse)) {
	resp := req.ResponseKind().(*kmsg.LeaveGroupResponse)
	refuse := func(err *kerr.Error) {
		resp.ErrorCode = err.Code
		reply(resp)
	}
	members := req.Members
	if req.Version < 3 {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = req.MemberID
		members = []kmsg.LeaveGroupRequestMember{m}
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
	if g != nil && g.deleting {
		sh.after(func() { refuse(kerr.CoordinatorNotAvailable) })
		return
	}
	results, left := g.leaveAll(members)
	if req.Version >= 3 {
		resp.Members = results
	} else {
		resp.ErrorCode = results[0].ErrorCode
	}
	if !left {
		sh.after(func() { reply(resp) })
		return
	}
	sh.append(nil, func(*kerr.Error) { sh.after(func() { reply(resp) }) })
}

// leaveAll takes members out and rebalances if any was in. g may be nil.
func (g *group) leaveAll(members []kmsg.LeaveGroupRequestMember) (results []kmsg.LeaveGroupResponseMember, left bool) {
	results = make([]kmsg.LeaveGroupResponseMember, 0, len(members))
	for _, m := range members {
		r := kmsg.NewLeaveGroupResponseMember()
		r.MemberID, r.InstanceID = m.MemberID, m.InstanceID
		if err := g.leave(m.MemberID, m.InstanceID); err != nil {
			r.ErrorCode = err.Code
		} else {
			left = true
		}
		results = append(results, r)
	}
	if left {
		if g.state != Empty {
			g.rebalance("members leave")
		}
		g.forgetIfTrivial()
	}
	return results, left
}

// leave takes one member out. An administrator names a static member by its
// instance alone. g may be nil.
func (g *group) leave(memberID string, instance *string) *kerr.Error {
	if g == nil {
		return kerr.UnknownMemberID
	}
	if memberID == "" {
		if instance == nil {
			return kerr.UnknownMemberID
		}
		memberID = g.static[*instance]
	} else if p := g.pending[memberID]; p != nil {
		g.removePending(p)
		return nil
	}
	if err := g.check(memberID, instance); err != nil {
		return err
	}
	g.remove(g.members[memberID])
	return nil
}
