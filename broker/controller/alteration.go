package controller

import (
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/meta"
)

// alteration is one resource of AlterConfigs or IncrementalAlterConfigs, with its
// result.
type alteration struct {
	resource meta.Resource
	ops      []configOp
	replace  bool // AlterConfigs: what is not named is removed
	refused  *refusal
}

type configOp struct {
	key   string
	op    kmsg.IncrementalAlterConfigOp
	value *string
}

// alter checks and commits alterations and sets the result of each.
func (c *Controller) alter(alterations []*alteration, validateOnly bool) {
	refuseRepeated(alterations)
	failed := c.commit("alter configs", func(im *meta.Image) []meta.Change {
		var changes []meta.Change
		for _, a := range alterations {
			if a.refused == nil {
				a.refused = a.checkForm()
			}
			if a.refused != nil {
				continue
			}
			next, r := a.apply(im)
			if r != nil {
				a.refused = r
				continue
			}
			changes = append(changes, a.records(im, next)...)
		}
		if validateOnly {
			return nil
		}
		return changes
	})
	if failed == nil {
		return
	}
	for _, a := range alterations {
		if a.refused == nil {
			a.refused = failed
		}
	}
}

func refuseRepeated(alterations []*alteration) {
	seen := make(map[meta.Resource]int)
	for _, a := range alterations {
		seen[a.resource]++
	}
	for _, a := range alterations {
		if seen[a.resource] > 1 {
			a.refused = refuse(kerr.InvalidRequest, "Each resource must appear at most once.")
		}
	}
}

func (a *alteration) checkForm() *refusal {
	keys := make(map[string]bool)
	var nulls []string
	for _, op := range a.ops {
		if keys[op.key] {
			return refuse(kerr.InvalidRequest, "Error due to duplicate config keys")
		}
		keys[op.key] = true
		if op.value == nil && op.op != kmsg.IncrementalAlterConfigOpDelete {
			nulls = append(nulls, op.key)
		}
	}
	if len(nulls) > 0 {
		return refuse(kerr.InvalidRequest, "Null value not supported for : %s", strings.Join(nulls, ", "))
	}
	for _, op := range a.ops {
		if op.op < kmsg.IncrementalAlterConfigOpSet || op.op > kmsg.IncrementalAlterConfigOpSubtract {
			return refuse(kerr.InvalidRequest, "Unknown operations type %d", int8(op.op))
		}
	}
	return nil
}

// apply gives all overrides of the resource after the alteration, checked.
func (a *alteration) apply(im *meta.Image) (map[string]string, *refusal) {
	switch a.resource.Type {
	case meta.TopicResource:
		return a.applyTopic(im)
	case meta.BrokerResource:
		return a.applyBroker(im)
	case meta.GroupResource:
		return a.applyGroup(im)
	case meta.ClientMetricsResource:
		return a.applyClientMetrics(im)
	case meta.BrokerLoggerResource:
		return nil, a.refuseLogger(im)
	}
	return nil, refuse(kerr.InvalidRequest, "Unknown resource type %d", int8(a.resource.Type))
}

// listOf gives the default of a config if it is a list; the append and subtract of
// another are refused.
type listOf func(key string) (defaultValue string, isList bool)

// merge gives the overrides after the alteration, unchecked. refusal makes the
// answer to an append or subtract on what is no list.
func (a *alteration) merge(current map[string]string, list listOf, notList func(op configOp) *refusal) (map[string]string, *refusal) {
	next := make(map[string]string)
	if !a.replace {
		maps.Copy(next, current)
	}
	for _, op := range a.ops {
		switch op.op {
		case kmsg.IncrementalAlterConfigOpSet:
			next[op.key] = *op.value
		case kmsg.IncrementalAlterConfigOpDelete:
			delete(next, op.key)
		default:
			text, isList := list(op.key)
			if !isList {
				return nil, notList(op)
			}
			if set, ok := current[op.key]; ok {
				text = set
			}
			next[op.key] = alterList(text, op)
		}
	}
	return next, nil
}

func alterList(text string, op configOp) string {
	parts := slices.DeleteFunc(strings.Split(text, ","), func(s string) bool { return s == "" })
	for _, v := range strings.Split(*op.value, ",") {
		i := slices.Index(parts, v)
		switch {
		case op.op == kmsg.IncrementalAlterConfigOpAppend && i < 0:
			parts = append(parts, v)
		case op.op == kmsg.IncrementalAlterConfigOpSubtract && i >= 0:
			parts = slices.Delete(parts, i, i+1)
		}
	}
	return strings.Join(parts, ",")
}

func notListByKind(op configOp) *refusal {
	return refuse(kerr.InvalidConfig, "Can't %s to key %s because its type is not LIST.", op.op, op.key)
}

// records is the difference between the overrides that are and those that shall be.
func (a *alteration) records(im *meta.Image, next map[string]string) []meta.Change {
	current := im.Overrides(a.resource)
	var changes []meta.Change
	for _, key := range slices.Sorted(maps.Keys(next)) {
		value := next[key]
		if was, ok := current[key]; !ok || was != value {
			changes = append(changes, &meta.ConfigRecord{Resource: a.resource, Key: key, Value: &value})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(current)) {
		if _, kept := next[key]; !kept {
			changes = append(changes, &meta.ConfigRecord{Resource: a.resource, Key: key})
		}
	}
	return changes
}
