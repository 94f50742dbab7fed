package controller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/meta"
	"millrace/net/server"
)

// AlterConfigs (key 33, versions 0-2) replaces all that is set on a resource.
func (c *Controller) AlterConfigs(_ server.Client, req *kmsg.AlterConfigsRequest) *kmsg.AlterConfigsResponse {
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	var alterations []*alteration
	for _, r := range req.Resources {
		a := &alteration{resource: meta.Resource{Type: meta.ResourceType(r.ResourceType), Name: r.ResourceName}, replace: true}
		for _, cfg := range r.Configs {
			a.ops = append(a.ops, configOp{cfg.Name, kmsg.IncrementalAlterConfigOpSet, cfg.Value})
		}
		alterations = append(alterations, a)
	}
	c.alter(alterations, req.ValidateOnly)
	for i, a := range alterations {
		out := kmsg.NewAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = req.Resources[i].ResourceType, req.Resources[i].ResourceName
		out.ErrorCode, out.ErrorMessage = a.refused.result()
		resp.Resources = append(resp.Resources, out)
	}
	return resp
}

// IncrementalAlterConfigs (key 44, versions 0-1) sets, removes, appends to and
// subtracts from what is set on a resource.
func (c *Controller) IncrementalAlterConfigs(_ server.Client, req *kmsg.IncrementalAlterConfigsRequest) *kmsg.IncrementalAlterConfigsResponse {
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	var alterations []*alteration
	for _, r := range req.Resources {
		a := &alteration{resource: meta.Resource{Type: meta.ResourceType(r.ResourceType), Name: r.ResourceName}}
		for _, cfg := range r.Configs {
			a.ops = append(a.ops, configOp{cfg.Name, cfg.Op, cfg.Value})
		}
		alterations = append(alterations, a)
	}
	c.alter(alterations, req.ValidateOnly)
	for i, a := range alterations {
		out := kmsg.NewIncrementalAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = req.Resources[i].ResourceType, req.Resources[i].ResourceName
		out.ErrorCode, out.ErrorMessage = a.refused.result()
		resp.Resources = append(resp.Resources, out)
	}
	return resp
}
