package admin

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/config"
	"millrace/broker/meta"
	"millrace/net/server"
)

// maxRepeats is how often resources that a request has named already are described
// again, as Kafka does. Without a bound a few bytes each would be answered with tens
// of KiB each.
const maxRepeats = 100

// DescribeConfigs (key 32, versions 1-4).
func (a *Admin) DescribeConfigs(_ server.Client, req *kmsg.DescribeConfigsRequest) *kmsg.DescribeConfigsResponse {
	im := a.images.Image()
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	type resource struct {
		kind kmsg.ConfigResourceType
		name string
	}
	described, repeats := make(map[resource]bool), 0
	for i := range req.Resources {
		r := &req.Resources[i]
		if x := (resource{r.ResourceType, r.ResourceName}); !described[x] {
			described[x] = true
		} else if repeats++; repeats > maxRepeats {
			continue
		}
		out := kmsg.NewDescribeConfigsResponseResource()
		out.ResourceType, out.ResourceName = r.ResourceType, r.ResourceName
		out.ErrorMessage = text("")
		entries, failure, message := describe(im, r)
		if failure != nil {
			out.ErrorCode, out.ErrorMessage = failure.Code, &message
		}
		for _, e := range entries {
			if len(r.ConfigNames) > 0 && !slices.Contains(r.ConfigNames, e.Name) {
				continue
			}
			out.Configs = append(out.Configs, configEntry(e, req))
		}
		resp.Resources = append(resp.Resources, out)
	}
	return resp
}

// describe gives the configs of a resource, or why there are none.
func describe(im *meta.Image, r *kmsg.DescribeConfigsRequestResource) ([]config.Entry, *kerr.Error, string) {
	switch meta.ResourceType(r.ResourceType) {
	case meta.TopicResource:
		if err := meta.ValidateTopicName(r.ResourceName); err != nil {
			return nil, kerr.InvalidTopicException, err.Error()
		}
		t := im.Topic(r.ResourceName)
		if t == nil {
			return nil, kerr.UnknownTopicOrPartition, ""
		}
		return config.TopicEntries(im.Config, t.Overrides), nil, ""
	case meta.BrokerResource:
		if r.ResourceName == "" {
			return im.Config.ClusterDefaultEntries(nil), nil, ""
		}
		if message := notThisBroker(im, r.ResourceName, " or empty string,"); message != "" {
			return nil, kerr.InvalidRequest, message
		}
		return im.Config.Entries(nil), nil, ""
	case meta.BrokerLoggerResource:
		if r.ResourceName == "" {
			return nil, kerr.InvalidRequest, "Broker id must not be empty"
		}
		// There are no loggers with levels of their own.
		if message := notThisBroker(im, r.ResourceName, ""); message != "" {
			return nil, kerr.InvalidRequest, message
		}
		return nil, nil, ""
	case meta.GroupResource:
		if r.ResourceName == "" {
			return nil, kerr.InvalidRequest, "Group name must not be empty"
		}
		return resourceEntries(im, meta.Resource{Type: meta.GroupResource, Name: r.ResourceName}, config.DynamicGroup), nil, ""
	case meta.ClientMetricsResource:
		if r.ResourceName == "" {
			return nil, kerr.InvalidRequest, "Client metrics subscription name must not be empty"
		}
		return resourceEntries(im, meta.Resource{Type: meta.ClientMetricsResource, Name: r.ResourceName}, dynamicClientMetrics), nil, ""
	}
	return nil, kerr.InvalidRequest, fmt.Sprintf("Unsupported resource type: %d", int8(r.ResourceType))
}

// dynamicClientMetrics is the source of what is set on a client metrics subscription.
const dynamicClientMetrics config.Source = 7

func notThisBroker(im *meta.Image, name, or string) string {
	id, err := strconv.ParseInt(name, 10, 32)
	switch {
	case err != nil:
		return fmt.Sprintf("Broker id must be an integer, but it is: %s", name)
	case int32(id) != im.NodeID:
		return fmt.Sprintf("Unexpected broker id, expected %d%s but received %s", im.NodeID, or, name)
	}
	return ""
}

// resourceEntries describes all configs of a group or client metrics subscription,
// which need not exist.
func resourceEntries(im *meta.Image, r meta.Resource, set config.Source) []config.Entry {
	overrides := im.Overrides(r)
	options := meta.ResourceOptions(r.Type)
	out := make([]config.Entry, 0, len(options))
	for i := range options {
		o := &options[i]
		if _, set := overrides[o.Name]; o.Internal && !set {
			continue
		}
		e := config.Entry{Name: o.Name, Type: o.Type, Doc: o.Doc, Source: config.Default}
		value := o.DefaultOn(im.Config)
		if o.Broker != "" {
			source := config.Default
			if _, from, ok := im.Config.Value(o.Broker); ok {
				source = from
			}
			e.Synonyms = append(e.Synonyms, config.SynonymEntry{Name: o.Broker, Value: text(value), Source: source})
			e.Source = source
		} else if r.Type == meta.GroupResource {
			e.Synonyms = append(e.Synonyms, config.SynonymEntry{Name: o.Name, Value: text(value), Source: config.Default})
		}
		if v, ok := overrides[o.Name]; ok {
			value, e.Source = v, set
			e.Synonyms = append([]config.SynonymEntry{{Name: o.Name, Value: text(v), Source: set}}, e.Synonyms...)
		}
		e.Value = &value
		out = append(out, e)
	}
	return out
}

func configEntry(e config.Entry, req *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResourceConfig {
	out := kmsg.NewDescribeConfigsResponseResourceConfig()
	out.Name, out.Value, out.ReadOnly, out.IsSensitive = e.Name, e.Value, e.ReadOnly, e.Sensitive
	out.Source, out.ConfigType = kmsg.ConfigSource(e.Source), kmsg.ConfigType(e.Type)
	out.IsDefault = e.Source == config.Default
	if req.IncludeSynonyms {
		for _, s := range e.Synonyms {
			synonym := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
			synonym.Name, synonym.Value, synonym.Source = s.Name, s.Value, kmsg.ConfigSource(s.Source)
			out.ConfigSynonyms = append(out.ConfigSynonyms, synonym)
		}
	}
	if req.IncludeDocumentation {
		out.Documentation = &e.Doc
	}
	return out
}
