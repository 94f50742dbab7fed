package group

import (
	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// allGroupOperations is every operation there is on a group, as bits by their ACL
// codes: READ 3, DELETE 6, DESCRIBE 8, DESCRIBE_CONFIGS 10, ALTER_CONFIGS 11.
const allGroupOperations = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11

// maxRepeats is how often groups that a request has named already are described again,
// as Kafka does. A few bytes each may be answered with the metadata of all members.
const maxRepeats = 100

// DescribeGroups (key 15, versions 0-6). A group that does not exist is Dead, and
// from version 6 on an error. A group named twice is described twice, as by Kafka.
func (s *Service) DescribeGroups(_ server.Client, req *kmsg.DescribeGroupsRequest) *kmsg.DescribeGroupsResponse {
	resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
	described, repeats := make(map[string]bool), 0
	for _, name := range req.Groups {
		if !described[name] {
			described[name] = true
		} else if repeats++; repeats > maxRepeats {
			continue
		}
		g := s.describe(req.Version, name)
		if req.IncludeAuthorizedOperations && g.ErrorCode == 0 {
			g.AuthorizedOperations = allGroupOperations
		}
		resp.Groups = append(resp.Groups, g)
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
