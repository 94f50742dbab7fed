package broker

import (
	"regexp"

	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// software is what KIP-511 allows as client software name and version.
var software = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

// apiVersions says what is served: the table, and nothing else.
func (d *dispatcher) apiVersions(r *server.Request, req *kmsg.ApiVersionsRequest) *kmsg.ApiVersionsResponse {
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	if req.Version >= 3 {
		if !software.MatchString(req.ClientSoftwareName) || !software.MatchString(req.ClientSoftwareVersion) {
			resp.ErrorCode = kerr.InvalidRequest.Code
			return resp
		}
		r.Conn.SetSoftware(req.ClientSoftwareName, req.ClientSoftwareVersion)
	}
	if code := d.addressed(req); code != 0 {
		resp.ErrorCode = code
		return resp
	}
	for _, a := range d.apis {
		if a != nil {
			resp.ApiKeys = append(resp.ApiKeys, a.announced())
		}
	}
	return resp
}

// addressed checks that the client means this cluster and node (v5, KIP-1242): it
// may have an address that was given to another.
func (d *dispatcher) addressed(req *kmsg.ApiVersionsRequest) int16 {
	switch {
	case req.Version < 5 || req.ClusterID == nil && req.NodeID == -1:
		return 0
	case req.ClusterID == nil || req.NodeID == -1:
		return kerr.InvalidRequest.Code
	case *req.ClusterID != d.clusterID || req.NodeID != d.nodeID:
		return kerr.RebootstrapRequired.Code
	}
	return 0
}

// announced is the range ApiVersions shows. Produce is shown from 0 although 3 is
// the lowest served: librdkafka takes a higher floor for a broker that has no
// compression (KAFKA-18659).
func (a *api) announced() kmsg.ApiVersionsResponseApiKey {
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = a.key, a.min, a.max
	if a.key == kmsg.Produce.Int16() {
		k.MinVersion = 0
	}
	return k
}

// unsupportedAPIVersions is the answer to a version of ApiVersions that is not
// known: in version 0, with the range that is.
func unsupportedAPIVersions(a *api) *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = kerr.UnsupportedVersion.Code
	resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{a.announced()}
	return resp
}
