package controller

import (
	"errors"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"

	"millrace/broker/config"
	"millrace/broker/meta"
)

func (a *alteration) applyTopic(im *meta.Image) (map[string]string, *refusal) {
	next, r := a.merge(im.Overrides(a.resource), func(key string) (string, bool) {
		return listDefault(config.TopicOption(key))
	}, notListByKind)
	if r != nil {
		return nil, r
	}
	if a.resource.Name == "" {
		return nil, refuse(kerr.InvalidRequest, "Default topic resources are not allowed.")
	}
	if err := meta.ValidateTopicName(a.resource.Name); err != nil {
		return nil, refuse(kerr.InvalidTopicException, "%v", err)
	}
	if err := config.ValidateTopic(im.Config, next); err != nil {
		return nil, refuse(kerr.InvalidConfig, "%v", err)
	}
	if im.Topic(a.resource.Name) == nil {
		return nil, refuse(kerr.UnknownTopicOrPartition, "The topic '%s' does not exist.", a.resource.Name)
	}
	return next, nil
}

func listDefault(o *config.Option) (string, bool) {
	if o == nil || o.Type != config.List {
		return "", false
	}
	return o.Default, true
}

// applyBroker: the resource with an empty name is the default of all brokers; of the
// others only this node can be checked here.
func (a *alteration) applyBroker(im *meta.Image) (map[string]string, *refusal) {
	perBroker := a.resource.Name != ""
	if perBroker {
		id, err := strconv.ParseInt(a.resource.Name, 10, 32)
		if err != nil {
			return nil, refuse(kerr.InvalidRequest, "Node id must be an integer, but it is: %s", a.resource.Name)
		}
		if int32(id) != im.NodeID {
			return nil, refuse(kerr.InvalidRequest, "Unexpected broker id, expected %d, but received %s", im.NodeID, a.resource.Name)
		}
		a.resource.Name = strconv.Itoa(int(id)) // "+1" and "01" are the same broker
	}
	current := im.Overrides(a.resource)
	next, r := a.merge(current, func(key string) (string, bool) {
		return listDefault(config.BrokerOption(key))
	}, notListOfBroker)
	if r != nil {
		return nil, r
	}
	// Only what is set now is checked for whether it may be: keys of another version
	// that are there already stay.
	changed := make(map[string]string)
	for key, value := range next {
		if was, ok := current[key]; !ok || was != value {
			changed[key] = value
		}
	}
	if err := im.Config.ValidateDynamic(changed, perBroker); err != nil {
		return nil, refuse(kerr.InvalidRequest, "%v", err)
	}
	own, all := next, im.Overrides(meta.Resource{Type: meta.BrokerResource})
	if !perBroker {
		own, all = im.Overrides(meta.Resource{Type: meta.BrokerResource, Name: strconv.Itoa(int(im.NodeID))}), next
	}
	if _, err := im.Config.WithDynamic(own, all); err != nil {
		return nil, refuse(kerr.InvalidRequest, "%v", err)
	}
	return next, nil
}

func notListOfBroker(op configOp) *refusal {
	if config.BrokerOption(op.key) == nil {
		return refuse(kerr.InvalidConfig, "Unknown config name: %s", op.key)
	}
	verb := map[string]string{"APPEND": "append", "SUBTRACT": "subtract"}[op.op.String()]
	return refuse(kerr.InvalidConfig, "Config value %s is not allowed for config key: %s", verb, op.key)
}

func (a *alteration) applyGroup(im *meta.Image) (map[string]string, *refusal) {
	next, r := a.mergeResource(im)
	if r != nil {
		return nil, r
	}
	if a.resource.Name == "" {
		return nil, refuse(kerr.InvalidRequest, "Default group resources are not allowed.")
	}
	if err := meta.ValidateOverrides(a.resource.Type, next); err != nil {
		return nil, refuse(kerr.InvalidConfig, "%v", err)
	}
	return next, nil
}

func (a *alteration) applyClientMetrics(im *meta.Image) (map[string]string, *refusal) {
	next, r := a.mergeResource(im)
	if r != nil {
		return nil, r
	}
	if a.resource.Name == "" {
		return nil, refuse(kerr.InvalidRequest, "Subscription name can't be empty")
	}
	if err := meta.ValidateOverrides(a.resource.Type, next); err != nil {
		var bad *config.InvalidError
		if errors.As(err, &bad) {
			return nil, refuse(kerr.InvalidConfig, "%v", err)
		}
		return nil, refuse(kerr.InvalidRequest, "%v", err)
	}
	return next, nil
}

func (a *alteration) mergeResource(im *meta.Image) (map[string]string, *refusal) {
	return a.merge(im.Overrides(a.resource), func(key string) (string, bool) {
		o := meta.FindResourceOption(a.resource.Type, key)
		if o == nil || o.Type != config.List {
			return "", false
		}
		return o.DefaultOn(im.Config), true
	}, notListByKind)
}

// refuseLogger: there are no loggers with levels of their own.
func (a *alteration) refuseLogger(im *meta.Image) *refusal {
	if a.replace {
		return refuse(kerr.InvalidRequest, "Unknown resource type %d", int8(a.resource.Type))
	}
	if a.resource.Name != strconv.Itoa(int(im.NodeID)) {
		return refuse(kerr.InvalidRequest, "Unexpected broker id, expected %d but received %s", im.NodeID, a.resource.Name)
	}
	if len(a.ops) == 0 {
		return nil
	}
	return refuse(kerr.InvalidConfig, "Logger %s does not exist!", a.ops[0].key)
}
