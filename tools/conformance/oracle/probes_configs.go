package oracle

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeConfigs, AlterConfigs, IncrementalAlterConfigs, ListConfigResources.

var configRules = []Rule{
	messages, topicIDs, configsByName, Keyed("*.ConfigResources", "Name"),
	Masked("*].Documentation"), // words for people
}

const (
	topicResource  = kmsg.ConfigResourceTypeTopic
	brokerResource = kmsg.ConfigResourceTypeBroker
	loggerResource = kmsg.ConfigResourceTypeBrokerLogger
	groupResource  = kmsg.ConfigResourceType(32)
)

func describeConfigs(kind kmsg.ConfigResourceType, name string, keys ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms = true
	req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name, ConfigNames: keys}}
	return req
}

// change is one IncrementalAlterConfigs operation.
type change struct {
	key   string
	op    kmsg.IncrementalAlterConfigOp
	value *string
}

const (
	opSet = kmsg.IncrementalAlterConfigOpSet
	opDel = kmsg.IncrementalAlterConfigOpDelete
	opAdd = kmsg.IncrementalAlterConfigOpAppend
	opSub = kmsg.IncrementalAlterConfigOpSubtract
)

func incrementalAlter(kind kmsg.ConfigResourceType, name string, changes ...change) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	res := kmsg.IncrementalAlterConfigsRequestResource{ResourceType: kind, ResourceName: name}
	for _, c := range changes {
		res.Configs = append(res.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: c.key, Op: c.op, Value: c.value})
	}
	req.Resources = append(req.Resources, res)
	return req
}

// alters is a probe that applies changes one request at a time and looks at the
// keys they touch in the end.
func alters(name string, changes ...change) Probe {
	return Probe{Name: "alter-" + name, Rules: configRules, Play: func(r *Run) {
		topic, _ := r.topic("t", 1)
		var keys []string
		for i, c := range changes {
			resp := ask[*kmsg.IncrementalAlterConfigsResponse](r, fmt.Sprint("change ", i), 1, incrementalAlter(topicResource, topic, c))
			keys = append(keys, c.key)
			if resp.Resources[0].ErrorCode == 0 {
				r.settled()
			}
		}
		r.askAny("then", 4, describeConfigs(topicResource, topic, keys...))
	}}
}

// settled waits until the broker has applied what it accepted: Kafka applies
// changes from its metadata log a moment after the answer, in order, so a topic
// made afterwards is there only when they are in effect.
func (r *Run) settled() {
	r.labels["settled"]++
	r.topic(fmt.Sprint("settled", r.labels["settled"]), 1)
}

func configProbes() []Probe {
	probes := []Probe{
		{Name: "configs-topic-all", Rules: configRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			for v := int16(1); v <= 4; v++ {
				req := describeConfigs(topicResource, topic)
				req.Resources[0].ConfigNames = nil
				req.IncludeDocumentation = v == 4
				r.askAny(fmt.Sprint("v", v), v, req)
			}
		}},
		{Name: "configs-topic-no-synonyms", Rules: configRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1, "max.message.bytes", "1048588", "retention.ms", "5000")
			req := describeConfigs(topicResource, topic)
			req.Resources[0].ConfigNames = nil
			req.IncludeSynonyms = false
			r.askAny("answer", 4, req)
		}},
		{Name: "configs-topic-some", Rules: configRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1, "max.message.bytes", "1048588")
			r.askAny("answer", 4, describeConfigs(topicResource, topic, "max.message.bytes", "retention.ms", "no.such.key", "max.message.bytes"))
		}},
		{Name: "configs-empty-key-list", Rules: configRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			req := describeConfigs(topicResource, topic)
			req.Resources[0].ConfigNames = []string{}
			r.askAny("answer", 4, req)
		}},
		{Name: "configs-unknown-things", Rules: configRules, Play: func(r *Run) {
			r.askAny("topic", 4, describeConfigs(topicResource, r.Name("none")))
			r.askAny("bad topic name", 4, describeConfigs(topicResource, "a/b"))
			r.askAny("empty topic name", 4, describeConfigs(topicResource, ""))
			r.askAny("broker 9", 4, describeConfigs(brokerResource, "9"))
			r.askAny("broker x", 4, describeConfigs(brokerResource, "x"))
			r.askAny("kind 0", 4, describeConfigs(0, "x"))
			r.askAny("kind 77", 4, describeConfigs(77, "x"))
		}},
		{Name: "configs-broker-topic-defaults", Rules: configRules, Play: func(r *Run) {
			r.askAny("broker", 4, describeConfigs(brokerResource, "1", "message.max.bytes", "log.retention.ms", "log.retention.hours", "log.segment.bytes",
				"num.partitions", "default.replication.factor", "auto.create.topics.enable", "group.min.session.timeout.ms", "offset.metadata.max.bytes",
				"log.cleanup.policy", "compression.type", "min.insync.replicas", "fetch.max.bytes", "socket.request.max.bytes", "node.id"))
			r.askAny("default broker", 4, describeConfigs(brokerResource, "", "message.max.bytes", "log.retention.ms"))
		}},
		{Name: "configs-broker-logger", Rules: configRules, Play: func(r *Run) {
			r.askAny("root", 4, describeConfigs(loggerResource, "1", "root"))
			r.askAny("broker 9", 4, describeConfigs(loggerResource, "9", "root"))
			r.askAny("no broker", 4, describeConfigs(loggerResource, "", "root"))
		}},
		{Name: "configs-group", Rules: configRules, Play: func(r *Run) {
			r.askAny("answer", 4, describeConfigs(groupResource, r.Name("g")))
			r.askAny("empty name", 4, describeConfigs(groupResource, ""))
		}},
		{Name: "configs-same-resource-twice", Rules: configRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			req := describeConfigs(topicResource, topic, "retention.ms")
			req.Resources = append(req.Resources, req.Resources[0])
			r.askAny("answer", 4, req)
		}},
		{Name: "config-resources", Alone: true, Rules: configRules, Play: func(r *Run) {
			for _, kinds := range [][]int8{{16}, {8}, {4}, {32}, {77}} {
				req := kmsg.NewPtrListConfigResourcesRequest()
				req.ResourceTypes = kinds
				resp := send[*kmsg.ListConfigResourcesResponse](r, r.Conn(), "list", 1, req)
				r.Note(fmt.Sprint(kinds, " error"), errorName(resp.ErrorCode))
				for _, c := range resp.ConfigResources {
					if c.Type != int8(topicResource) && c.Type != int8(groupResource) { // those that other probes made
						r.Note(fmt.Sprint(kinds, " has ", c.Type), c.Name)
					}
				}
			}
			r.askAny("v0", 0, kmsg.NewPtrListConfigResourcesRequest())
		}},
	}
	probes = append(probes, incrementalProbes()...)
	return append(probes, alterProbes()...)
}

func incrementalProbes() []Probe {
	return []Probe{
		alters("set-and-delete", change{"retention.ms", opSet, ptr("1000")}, change{"retention.ms", opDel, nil}),
		alters("set-default-value", change{"max.message.bytes", opSet, ptr("1048588")}),
		alters("set-null", change{"retention.ms", opSet, nil}),
		alters("unknown-key", change{"no.such.key", opSet, ptr("1")}, change{"no.such.key", opDel, nil}),
		alters("bad-values", change{"retention.ms", opSet, ptr("x")}, change{"segment.bytes", opSet, ptr("-5")},
			change{"cleanup.policy", opSet, ptr("burn")}, change{"min.insync.replicas", opSet, ptr("0")},
			change{"min.cleanable.dirty.ratio", opSet, ptr("2")}, change{"message.timestamp.type", opSet, ptr("Never")},
			change{"compression.type", opSet, ptr("rar")}, change{"preallocate", opSet, ptr("1")},
			change{"retention.bytes", opSet, ptr("-3")}, change{"index.interval.bytes", opSet, ptr("-1")},
			change{"compression.gzip.level", opSet, ptr("42")}, change{"compression.lz4.level", opSet, ptr("0")},
			change{"compression.zstd.level", opSet, ptr("100")}, change{"retention.ms", opSet, ptr("")},
			change{"leader.replication.throttled.replicas", opSet, ptr("x")}),
		alters("append-to-list", change{"cleanup.policy", opAdd, ptr("compact")}),
		alters("append-twice", change{"cleanup.policy", opAdd, ptr("delete")}),
		alters("subtract-from-list", change{"cleanup.policy", opSet, ptr("compact,delete")}, change{"cleanup.policy", opSub, ptr("delete")}),
		alters("subtract-what-is-not-there", change{"cleanup.policy", opSub, ptr("compact")}),
		alters("append-to-long", change{"retention.ms", opAdd, ptr("1")}, change{"retention.ms", opSub, ptr("1")}),
		alters("append-bad", change{"cleanup.policy", opAdd, ptr("burn")}),
		alters("operation-9", change{"retention.ms", 9, ptr("1")}),
		alters("compression-levels", change{"compression.type", opSet, ptr("zstd")}, change{"compression.zstd.level", opSet, ptr("9")}),
		alters("timestamp-type", change{"message.timestamp.type", opSet, ptr("LogAppendTime")}),
		alters("remote", change{"remote.storage.enable", opSet, ptr("true")}, change{"remote.storage.enable", opSet, ptr("false")}),
		alters("local-retention", change{"local.retention.ms", opSet, ptr("100")}, change{"local.retention.bytes", opSet, ptr("-2")}),
		{Name: "alter-same-key-twice", Rules: configRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			r.askAny("answer", 1, incrementalAlter(topicResource, topic, change{"retention.ms", opSet, ptr("1")}, change{"retention.ms", opSet, ptr("2")}))
		}},
		{Name: "alter-one-bad-of-two", Rules: configRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			r.askAny("answer", 1, incrementalAlter(topicResource, topic, change{"retention.ms", opSet, ptr("1")}, change{"segment.bytes", opSet, ptr("x")}))
			r.askAny("nothing changed", 4, describeConfigs(topicResource, topic, "retention.ms", "segment.bytes"))
		}},
		{Name: "alter-validate-only", Rules: configRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			req := incrementalAlter(topicResource, topic, change{"retention.ms", opSet, ptr("1")})
			req.ValidateOnly = true
			r.askAny("answer", 1, req)
			r.askAny("nothing changed", 4, describeConfigs(topicResource, topic, "retention.ms"))
			r.askAny("v0", 0, req)
		}},
		{Name: "alter-unknown-things", Rules: configRules, Play: func(r *Run) {
			set := change{"retention.ms", opSet, ptr("1")}
			r.askAny("topic", 1, incrementalAlter(topicResource, r.Name("none"), set))
			r.askAny("bad topic name", 1, incrementalAlter(topicResource, "a/b", set))
			r.askAny("empty topic name", 1, incrementalAlter(topicResource, "", set))
			r.askAny("broker 9", 1, incrementalAlter(brokerResource, "9", change{"log.retention.ms", opSet, ptr("1")}))
			r.askAny("broker x", 1, incrementalAlter(brokerResource, "x", set))
			r.askAny("kind 77", 1, incrementalAlter(77, "x", set))
			r.askAny("no changes", 1, incrementalAlter(topicResource, r.Name("none")))
		}},
		{Name: "alter-resource-twice", Rules: configRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			req := incrementalAlter(topicResource, topic, change{"retention.ms", opSet, ptr("1")})
			req.Resources = append(req.Resources, req.Resources[0])
			r.askAny("answer", 1, req)
		}},
		{Name: "alter-broker-dynamic", Alone: true, Rules: configRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			r.askAny("set", 1, incrementalAlter(brokerResource, "", change{"message.max.bytes", opSet, ptr("2000000")}))
			defer func() { // whatever happens: other probes look at the default
				r.askAny("delete", 1, incrementalAlter(brokerResource, "", change{"message.max.bytes", opDel, nil}))
			}()
			r.until("applied", func() bool {
				resp := send[*kmsg.DescribeConfigsResponse](r, r.Conn(), "applied", 4, describeConfigs(topicResource, topic, "max.message.bytes"))
				return resp.Resources[0].Configs[0].Source != kmsg.ConfigSourceDefaultConfig
			})
			r.askAny("topic sees it", 4, describeConfigs(topicResource, topic, "max.message.bytes"))
			r.askAny("broker sees it", 4, describeConfigs(brokerResource, "1", "message.max.bytes"))
			r.askAny("static", 1, incrementalAlter(brokerResource, "1", change{"node.id", opSet, ptr("3")}))
			r.askAny("bad", 1, incrementalAlter(brokerResource, "1", change{"message.max.bytes", opSet, ptr("x")}))
			unknown := incrementalAlter(brokerResource, "1", change{"no.such.key", opSet, ptr("1")})
			unknown.ValidateOnly = true
			r.askAny("unknown key", 1, unknown)
		}},
	}
}

func alterProbes() []Probe {
	alter := func(kind kmsg.ConfigResourceType, name string, kv ...string) *kmsg.AlterConfigsRequest {
		req := kmsg.NewPtrAlterConfigsRequest()
		res := kmsg.AlterConfigsRequestResource{ResourceType: kind, ResourceName: name}
		for i := 0; i+1 < len(kv); i += 2 {
			res.Configs = append(res.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: kv[i], Value: ptr(kv[i+1])})
		}
		req.Resources = append(req.Resources, res)
		return req
	}
	return []Probe{
		{Name: "alterconfigs-replaces-all", Rules: configRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1, "retention.ms", "1000")
			r.askAny("answer", 2, alter(topicResource, topic, "segment.bytes", "2000000"))
			r.settled()
			r.askAny("then", 4, describeConfigs(topicResource, topic, "retention.ms", "segment.bytes"))
			r.askAny("nothing left", 2, alter(topicResource, topic))
			r.settled()
			r.askAny("in the end", 4, describeConfigs(topicResource, topic, "retention.ms", "segment.bytes"))
		}},
		{Name: "alterconfigs-bad", Rules: configRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			r.askAny("value", 2, alter(topicResource, topic, "retention.ms", "x"))
			r.askAny("key", 2, alter(topicResource, topic, "no.such.key", "x"))
			r.askAny("topic", 2, alter(topicResource, r.Name("none"), "retention.ms", "1"))
			r.askAny("key twice", 2, alter(topicResource, topic, "retention.ms", "1", "retention.ms", "2"))
			r.askAny("kind", 2, alter(77, "x", "retention.ms", "1"))
			req := alter(topicResource, topic, "retention.ms", "1")
			req.Resources[0].Configs[0].Value = nil
			r.askAny("null", 2, req)
			req.ValidateOnly = true
			r.askAny("validate", 2, req)
			req.Resources = append(req.Resources, req.Resources[0])
			r.askAny("twice", 2, req)
		}},
	}
}
