package admin

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/meta"
	"millrace/net/server"
)

// listed is the resource types of ListConfigResources, in the order of the answer.
var listed = []meta.ResourceType{
	meta.GroupResource, meta.ClientMetricsResource, meta.BrokerLoggerResource, meta.BrokerResource, meta.TopicResource,
}

// ListConfigResources (key 74, versions 0-1): what has configs. Version 0 knows client
// metrics only.
func (a *Admin) ListConfigResources(_ server.Client, req *kmsg.ListConfigResourcesRequest) *kmsg.ListConfigResourcesResponse {
	im := a.images.Image()
	resp := req.ResponseKind().(*kmsg.ListConfigResourcesResponse)
	wanted := listed
	if req.Version == 0 {
		wanted = []meta.ResourceType{meta.ClientMetricsResource}
	} else if len(req.ResourceTypes) > 0 {
		wanted = nil
		for _, t := range req.ResourceTypes {
			if !slices.Contains(listed, meta.ResourceType(t)) {
				resp.ErrorCode = kerr.UnsupportedVersion.Code
				return resp
			}
		}
		for _, t := range listed {
			if slices.Contains(req.ResourceTypes, int8(t)) {
				wanted = append(wanted, t)
			}
		}
	}
	for _, t := range wanted {
		for _, name := range resourceNames(im, t) {
			out := kmsg.NewListConfigResourcesResponseConfigResource()
			out.Name, out.Type = name, int8(t)
			resp.ConfigResources = append(resp.ConfigResources, out)
		}
	}
	return resp
}

// resourceNames: topics and brokers have configs by being there; the others by having
// been given some.
func resourceNames(im *meta.Image, of meta.ResourceType) []string {
	var names []string
	switch of {
	case meta.TopicResource:
		for _, t := range im.Topics() {
			names = append(names, t.Name)
		}
	case meta.BrokerResource, meta.BrokerLoggerResource:
		for _, b := range im.Brokers {
			names = append(names, strconv.Itoa(int(b.ID)))
		}
	default:
		return im.Resources(of)
	}
	return names
}
