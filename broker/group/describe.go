package group

import (
	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeGroups (key 15, versions 0-6). A group that does not exist is Dead, and
// from version 6 on an error. Authorized operations are the caller's to fill in.
func (s *Service) DescribeGroups(_ server.Client, req *kmsg.DescribeGroupsRequest) *kmsg.DescribeGroupsResponse {
	resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
	for _, name := range unique(req.Groups) {
		resp.Groups = append(resp.Groups, s.describe(req.Version, name))
	}
	return resp
}

func (s *Service) describe(version int16, name string) kmsg.DescribeGroupsResponseGroup {
	out := kmsg.NewDescribeGroupsResponseGroup()
	out.Group = name
	sh, g, err := s.existing(name)
	if err != nil {
		out.ErrorCode = err.Code
		return out
	}
	defer sh.unlock()
	if g == nil {
		out.State = Dead.String()
		if version >= 6 {
			message := "Group " + name + " not found."
			out.ErrorCode, out.ErrorMessage = kerr.GroupIDNotFound.Code, &message
		}
		return out
	}
	out.State, out.ProtocolType = g.state.String(), g.protocolType
	stable := g.state == Stable
	if stable {
		out.Protocol = g.protocol
	}
	for _, m := range g.ordered() {
		x := kmsg.NewDescribeGroupsResponseGroupMember()
		x.MemberID, x.InstanceID, x.ClientID, x.ClientHost = m.id, m.instance, m.clientID, m.clientHost
		if stable { // before, there is no common protocol and no assignment
			x.ProtocolMetadata, x.MemberAssignment = m.metadata(g.protocol), m.assignment
		}
		out.Members = append(out.Members, x)
	}
	return out
}
