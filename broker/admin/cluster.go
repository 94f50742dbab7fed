package admin

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/net/server"
)

// What a DescribeCluster request wants to hear of.
const (
	endpointBrokers     int8 = 1
	endpointControllers int8 = 2
)

// DescribeCluster (key 60, versions 0-2).
func (a *Admin) DescribeCluster(c server.Client, req *kmsg.DescribeClusterRequest) *kmsg.DescribeClusterResponse {
	im := a.images.Image()
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.EndpointType = endpointBrokers
	resp.ControllerID = -1
	resp.ClusterAuthorizedOperations = operationsNotAsked
	if req.Version >= 1 && req.EndpointType != endpointBrokers {
		if req.EndpointType == endpointControllers {
			resp.ErrorCode = kerr.MismatchedEndpointType.Code
			resp.ErrorMessage = text("The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER")
		} else {
			resp.ErrorCode = kerr.UnsupportedEndpointType.Code
			resp.ErrorMessage = text(fmt.Sprintf("Unsupported endpoint type %d", req.EndpointType))
		}
		return resp
	}
	resp.ClusterID = im.ClusterID
	resp.ControllerID = im.NodeID
	resp.ClusterAuthorizedOperations = operations(req.IncludeClusterAuthorizedOperations, clusterOperations)
	for _, b := range brokers(im, c.Listener) {
		out := kmsg.NewDescribeClusterResponseBroker()
		out.NodeID, out.Host, out.Port, out.Rack = b.id, b.host, b.port, b.rack
		resp.Brokers = append(resp.Brokers, out)
	}
	return resp
}
