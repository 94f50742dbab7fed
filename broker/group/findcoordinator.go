package group

import (
	"millrace/broker/coordinator"
	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Types of coordinators.
const (
	keyGroup int8 = 0
	keyTxn   int8 = 1
	keyShare int8 = 2
)

// FindCoordinator (key 10, versions 0-6; several keys from 4 on). The first call
// for a group creates the offsets topic; until it exists the answer is
// COORDINATOR_NOT_AVAILABLE, at which clients ask again.
func (s *Service) FindCoordinator(c server.Client, req *kmsg.FindCoordinatorRequest) *kmsg.FindCoordinatorResponse {
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	if req.Version >= 4 {
		for _, key := range req.CoordinatorKeys {
			x := s.find(c, req.CoordinatorType, key)
			if x.ErrorCode == 0 {
				x.ErrorMessage = new(string)
			}
			resp.Coordinators = append(resp.Coordinators, x)
		}
		return resp
	}
	x := s.find(c, req.CoordinatorType, req.CoordinatorKey)
	resp.ErrorCode, resp.ErrorMessage = x.ErrorCode, x.ErrorMessage
	resp.NodeID, resp.Host, resp.Port = x.NodeID, x.Host, x.Port
	return resp
}

func (s *Service) find(c server.Client, keyType int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	out := kmsg.NewFindCoordinatorResponseCoordinator()
	out.Key = key
	err, message := s.coordinates(keyType, key)
	out.ErrorMessage = &message
	if err != nil {
		out.ErrorCode, out.NodeID, out.Port = err.Code, -1, -1
		return out
	}
	out.NodeID = s.opts.NodeID
	if c.Listener != nil {
		out.Host, out.Port = c.Listener.AdvertisedHost, c.Listener.AdvertisedPort
	}
	return out
}

// coordinates says whether this broker coordinates the key, and what the client is told.
func (s *Service) coordinates(keyType int8, key string) (*kerr.Error, string) {
	switch keyType {
	case keyGroup:
	case keyTxn:
		return kerr.CoordinatorNotAvailable, "This broker does not serve transactions."
	case keyShare:
		return kerr.InvalidRequest, "This broker does not serve share groups."
	default:
		return kerr.InvalidRequest, "Unknown coordinator type."
	}
	all := s.all()
	if all == nil {
		s.ensureTopic()
		return kerr.CoordinatorNotAvailable, "The coordinator is not available."
	}
	sh := all[coordinator.PartitionFor(key, int32(len(all)))]
	if !sh.leads() {
		return kerr.CoordinatorNotAvailable, "The coordinator is not available."
	}
	return nil, "NONE"
}
