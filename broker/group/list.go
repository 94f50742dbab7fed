package group

import (
	"slices"
	"strings"

	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupType is the type of all groups here (KIP-848).
const groupType = "classic"

// ListGroups (key 16, versions 0-5; states filter from 4 on, types filter from 5
// on). Filters know no case, and nothing matches a name that does not exist.
// Groups of partitions that are being loaded are missing, with the error that says so.
func (s *Service) ListGroups(_ server.Client, req *kmsg.ListGroupsRequest) *kmsg.ListGroupsResponse {
	resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
	if !matchesFilter(req.TypesFilter, groupType) {
		return resp
	}
	for _, sh := range s.all() {
		sh.lock()
		if sh.state == loading {
			resp.ErrorCode = kerr.CoordinatorLoadInProgress.Code
		}
		if sh.state == active {
			for _, g := range sh.groups {
				if matchesFilter(req.StatesFilter, g.state.String()) {
					x := kmsg.NewListGroupsResponseGroup()
					x.Group, x.ProtocolType, x.GroupState, x.GroupType = g.id, g.protocolType, g.state.String(), groupType
					resp.Groups = append(resp.Groups, x)
				}
			}
		}
		sh.unlock()
	}
	slices.SortFunc(resp.Groups, func(a, b kmsg.ListGroupsResponseGroup) int { return strings.Compare(a.Group, b.Group) })
	return resp
}

func matchesFilter(filter []string, name string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, name) })
}
