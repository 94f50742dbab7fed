package group

import (
	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Heartbeat (key 12, versions 0-4).
func (s *Service) Heartbeat(_ server.Client, req *kmsg.HeartbeatRequest) *kmsg.HeartbeatResponse {
	resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
	if err := s.heartbeat(req); err != nil {
		resp.ErrorCode = err.Code
	}
	return resp
}

func (s *Service) heartbeat(req *kmsg.HeartbeatRequest) *kerr.Error {
	if req.Group == "" {
		return kerr.InvalidGroupID
	}
	sh, g, err := s.existing(req.Group)
	if err == kerr.CoordinatorLoadInProgress {
		return nil // the member is as alive as it was; Kafka answers so too
	}
	if err != nil {
		return err
	}
	defer sh.unlock()
	if g == nil {
		return kerr.UnknownMemberID
	}
	if g.deleting {
		return kerr.CoordinatorNotAvailable
	}
	if err := g.check(req.MemberID, req.InstanceID); err != nil {
		return err
	}
	if req.Generation != g.generation {
		return kerr.IllegalGeneration
	}
	g.touch(g.members[req.MemberID])
	if g.state == PreparingRebalance {
		return kerr.RebalanceInProgress
	}
	return nil
}
