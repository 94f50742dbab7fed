package controller_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/meta"
	"millrace/broker/meta/metatest"
	"millrace/net/server"
)

const (
	set = iota
	remove
	appendTo
	subtract
)

type op struct {
	key   string
	op    int
	value *string
}

func (b *bench) incremental(validateOnly bool, of meta.ResourceType, name string, ops ...op) (int16, *string) {
	b.t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version, req.ValidateOnly = 1, validateOnly
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{incrementalResource(of, name, ops...)}
	resp := b.IncrementalAlterConfigs(server.Client{}, req)
	roundTrip(b.t, resp, kmsg.NewPtrIncrementalAlterConfigsResponse())
	return resp.Resources[0].ErrorCode, resp.Resources[0].ErrorMessage
}

func incrementalResource(of meta.ResourceType, name string, ops ...op) kmsg.IncrementalAlterConfigsRequestResource {
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceType(of), name
	for _, o := range ops {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op, c.Value = o.key, kmsg.IncrementalAlterConfigOp(o.op), o.value
		r.Configs = append(r.Configs, c)
	}
	return r
}

func (b *bench) alter(of meta.ResourceType, name string, cfg ...string) (int16, *string) {
	b.t.Helper()
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Version = 2
	r := kmsg.NewAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceType(of), name
	for i := 0; i < len(cfg); i += 2 {
		c := kmsg.NewAlterConfigsRequestResourceConfig()
		c.Name, c.Value = cfg[i], &cfg[i+1]
		r.Configs = append(r.Configs, c)
	}
	req.Resources = append(req.Resources, r)
	resp := b.AlterConfigs(server.Client{}, req)
	roundTrip(b.t, resp, kmsg.NewPtrAlterConfigsResponse())
	return resp.Resources[0].ErrorCode, resp.Resources[0].ErrorMessage
}

func TestIncrementalAlterConfigsRefusals(t *testing.T) {
	for _, c := range []struct {
		name     string
		of       meta.ResourceType
		resource string
		ops      []op
		code     int16
		message  string
	}{
		{"unknown key", meta.TopicResource, "a", []op{{"foo", set, text("1")}}, 40, "Unknown topic config name: foo"},
		{"bad value", meta.TopicResource, "a", []op{{"retention.ms", set, text("x")}}, 40, "Invalid value x for configuration retention.ms: Not a number of type LONG"},
		{"append to no list", meta.TopicResource, "a", []op{{"retention.ms", appendTo, text("1")}}, 40, "Can't APPEND to key retention.ms because its type is not LIST."},
		{"subtract from no list", meta.TopicResource, "a", []op{{"retention.ms", subtract, text("1")}}, 40, "Can't SUBTRACT to key retention.ms because its type is not LIST."},
		{"append to unknown key", meta.TopicResource, "a", []op{{"foo", appendTo, text("x")}}, 40, "Can't APPEND to key foo because its type is not LIST."},
		{"null", meta.TopicResource, "a", []op{{"retention.ms", set, nil}}, 42, "Null value not supported for : retention.ms"},
		{"key twice", meta.TopicResource, "a", []op{{"retention.ms", set, text("1")}, {"retention.ms", set, text("2")}}, 42, "Error due to duplicate config keys"},
		{"unknown operation", meta.TopicResource, "a", []op{{"retention.ms", 9, text("1")}}, 42, "Unknown operations type 9"},
		{"unknown topic", meta.TopicResource, "nope", []op{{"retention.ms", set, text("1")}}, 3, "The topic 'nope' does not exist."},
		{"no topic", meta.TopicResource, "", []op{{"retention.ms", set, text("1")}}, 42, "Default topic resources are not allowed."},
		{"illegal topic", meta.TopicResource, "a/b", []op{{"retention.ms", set, text("1")}}, 17, "Topic name is invalid: 'a/b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},

		{"broker config of the start only", meta.BrokerResource, "1", []op{{"node.id", set, text("2")}}, 42, "Cannot update these configs dynamically: [node.id]"},
		{"broker config, bad value", meta.BrokerResource, "1", []op{{"log.retention.ms", set, text("x")}}, 42, "Invalid value x for configuration log.retention.ms: Not a number of type LONG"},
		{"another broker", meta.BrokerResource, "2", []op{{"log.retention.ms", set, text("1")}}, 42, "Unexpected broker id, expected 1, but received 2"},
		{"no broker id", meta.BrokerResource, "x", []op{{"log.retention.ms", set, text("1")}}, 42, "Node id must be an integer, but it is: x"},
		{"append to a broker config that is no list", meta.BrokerResource, "", []op{{"log.retention.ms", appendTo, text("1")}}, 40, "Config value append is not allowed for config key: log.retention.ms"},
		{"append to an unknown broker config", meta.BrokerResource, "", []op{{"foo", appendTo, text("1")}}, 40, "Unknown config name: foo"},
		{"unknown operation on a broker", meta.BrokerResource, "", []op{{"log.retention.ms", 7, text("1")}}, 42, "Unknown operations type 7"},

		{"unknown group key", meta.GroupResource, "g", []op{{"foo", set, text("1")}}, 40, "Unknown group config name: foo"},
		{"group value of another type", meta.GroupResource, "g", []op{{"consumer.session.timeout.ms", set, text("x")}}, 40, "Invalid value x for configuration consumer.session.timeout.ms: Not a number of type INT"},
		{"group value out of range", meta.GroupResource, "g", []op{{"consumer.session.timeout.ms", set, text("1")}}, 40, "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."},
		{"group value of none allowed", meta.GroupResource, "g", []op{{"share.isolation.level", set, text("x")}}, 40, "Invalid value x for configuration share.isolation.level: The value must be one of: read_committed, read_uncommitted"},
		{"no group", meta.GroupResource, "", []op{{"consumer.session.timeout.ms", set, text("50000")}}, 42, "Default group resources are not allowed."},
		{"append to group", meta.GroupResource, "g", []op{{"consumer.session.timeout.ms", appendTo, text("1")}}, 40, "Can't APPEND to key consumer.session.timeout.ms because its type is not LIST."},

		{"unknown client metrics key", meta.ClientMetricsResource, "m", []op{{"foo", set, text("1")}}, 42, "Unknown client metrics configuration: foo"},
		{"no client metrics subscription", meta.ClientMetricsResource, "", []op{{"interval.ms", set, text("1000")}}, 42, "Subscription name can't be empty"},
		{"logger", meta.BrokerLoggerResource, "1", []op{{"kafka", set, text("INFO")}}, 40, "Logger kafka does not exist!"},
		{"unknown type", 3, "m", []op{{"foo", set, text("1")}}, 42, "Unknown resource type 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, nil)
			b.mustCreate(topic("a", 1, 1))
			end := b.log.EndOffset()
			code, message := b.incremental(false, c.of, c.resource, c.ops...)
			b.check(c.resource, code, message, c.code, c.message)
			if b.log.EndOffset() != end {
				t.Error("something was written")
			}
		})
	}
}

func TestUnknownBrokerConfigIsRefused(t *testing.T) {
	b := open(t, nil)
	if code, _ := b.incremental(false, meta.BrokerResource, "1", op{"foo", set, text("1")}); code != 42 {
		t.Errorf("error %d", code)
	}
}

func TestIncrementalAlterConfigsOfATopic(t *testing.T) {
	b := open(t, nil)
	b.mustCreate(topic("a", 1, 1, "flush.ms", "5"))
	step := func(want string, ops ...op) {
		t.Helper()
		was := b.image().Topic("a").Overrides["cleanup.policy"]
		code, message := b.incremental(true, meta.TopicResource, "a", ops...)
		b.check("validate only", code, message, 0, "")
		if got := b.image().Topic("a").Overrides["cleanup.policy"]; got != was {
			t.Errorf("validation changed cleanup.policy to %q", got)
		}
		code, message = b.incremental(false, meta.TopicResource, "a", ops...)
		b.check("a", code, message, 0, "")
		if got := b.image().Topic("a").Overrides["cleanup.policy"]; got != want {
			t.Errorf("cleanup.policy is %q, want %q", got, want)
		}
	}
	step("delete,compact", op{"cleanup.policy", appendTo, text("compact")}) // to the default
	step("delete,compact", op{"cleanup.policy", appendTo, text("compact,delete")})
	step("compact", op{"cleanup.policy", subtract, text("delete")})
	step("delete", op{"cleanup.policy", set, text("delete")}, op{"retention.ms", set, text("7")})
	step("", op{"cleanup.policy", remove, nil}, op{"segment.ms", remove, nil}, op{"no.such.key", remove, nil})
	x := b.image().Topic("a")
	if x.Config.RetentionMs != 7 || x.Config.FlushMs != 5 || x.Config.Compact {
		t.Errorf("config is %+v", x.Config)
	}
	if again := metatest.Reopen(t, b.log, nil).Image().Topic("a"); again.Config.RetentionMs != 7 || len(again.Overrides) != 2 {
		t.Errorf("after a restart: %v", again.Overrides)
	}
}

func TestAlterConfigsReplacesEverything(t *testing.T) {
	b := open(t, nil)
	b.mustCreate(topic("a", 1, 1, "flush.ms", "5"))
	code, message := b.alter(meta.TopicResource, "a", "retention.ms", "777")
	b.check("a", code, message, 0, "")
	if o := b.image().Topic("a").Overrides; len(o) != 1 || o["retention.ms"] != "777" {
		t.Errorf("overrides are %v", o)
	}
	for _, c := range []struct {
		of      meta.ResourceType
		name    string
		key     string
		code    int16
		message string
	}{
		{meta.TopicResource, "a", "foo", 40, "Unknown topic config name: foo"},
		{meta.TopicResource, "nope", "retention.ms", 3, "The topic 'nope' does not exist."},
		{meta.BrokerResource, "1", "node.id", 42, "Cannot update these configs dynamically: [node.id]"},
		{meta.BrokerLoggerResource, "1", "x", 42, "Unknown resource type 8"},
	} {
		code, message := b.alter(c.of, c.name, c.key, "2")
		b.check(c.name, code, message, c.code, c.message)
	}
}

func TestBrokerConfigsReachTopics(t *testing.T) {
	b := open(t, nil)
	b.mustCreate(topic("a", 1, 1), topic("own", 1, 1, "retention.ms", "5"))
	retention := func() [2]int64 {
		return [2]int64{b.image().Topic("a").Config.RetentionMs, b.image().Topic("own").Config.RetentionMs}
	}
	for _, c := range []struct {
		resource string
		op       op
		want     int64
	}{
		{"", op{"log.retention.ms", set, text("1000")}, 1000},
		{"1", op{"log.retention.ms", set, text("2000")}, 2000},
		{"", op{"log.retention.ms", set, text("3000")}, 2000},
		{"1", op{"log.retention.ms", remove, nil}, 3000},
		{"", op{"log.retention.ms", remove, nil}, 604800000},
	} {
		code, message := b.incremental(false, meta.BrokerResource, c.resource, c.op)
		b.check(c.resource, code, message, 0, "")
		if got := retention(); got != [2]int64{c.want, 5} {
			t.Errorf("after %v of %q: retention is %v, want %d and 5", c.op, c.resource, got, c.want)
		}
	}
}

func TestGroupAndClientMetricsConfigsAreKept(t *testing.T) {
	b := open(t, nil)
	for _, c := range []struct {
		of   meta.ResourceType
		name string
		op   op
	}{
		{meta.GroupResource, "g", op{"consumer.session.timeout.ms", set, text("50000")}},
		{meta.GroupResource, "g", op{"share.auto.offset.reset", set, text("by_duration:PT1H")}},
		{meta.ClientMetricsResource, "m", op{"interval.ms", set, text("1000")}},
		{meta.ClientMetricsResource, "m", op{"metrics", appendTo, text("org.apache.kafka.")}},
	} {
		code, message := b.incremental(false, c.of, c.name, c.op)
		b.check(c.name, code, message, 0, "")
	}
	im := metatest.Reopen(t, b.log, nil).Image()
	if got := im.Overrides(meta.Resource{Type: meta.GroupResource, Name: "g"}); len(got) != 2 {
		t.Errorf("group has %v", got)
	}
	if got := im.Overrides(meta.Resource{Type: meta.ClientMetricsResource, Name: "m"}); got["metrics"] != "org.apache.kafka." {
		t.Errorf("client metrics subscription has %v", got)
	}
}

func TestResourceTwiceInOneRequestIsRefused(t *testing.T) {
	b := open(t, nil)
	b.mustCreate(topic("a", 1, 1), topic("b", 1, 1))
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	for _, name := range []string{"a", "b", "a"} {
		req.Resources = append(req.Resources, incrementalResource(meta.TopicResource, name, op{"retention.ms", set, text("1")}))
	}
	resp := b.IncrementalAlterConfigs(server.Client{}, req)
	for i, want := range []int16{42, 0, 42} {
		if got := resp.Resources[i].ErrorCode; got != want {
			t.Errorf("resource %d: error %d, want %d", i, got, want)
		}
	}
	if b.image().Topic("a").Config.RetentionMs == 1 || b.image().Topic("b").Config.RetentionMs != 1 {
		t.Error("the wrong topic was changed")
	}
}
