package admin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/meta"
)

func (b *bench) configs(version int16, of meta.ResourceType, name string, keys ...string) kmsg.DescribeConfigsResponseResource {
	b.t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version, req.IncludeSynonyms, req.IncludeDocumentation = version, true, true
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceType(of), name, keys
	req.Resources = append(req.Resources, r)
	return check(b.t, req, b.DescribeConfigs(local, req)).Resources[0]
}

// chain is a config as value from source, then its synonyms.
func chain(c kmsg.DescribeConfigsResponseResourceConfig) string {
	s := fmt.Sprintf("%s from %d", *c.Value, c.Source)
	for _, x := range c.ConfigSynonyms {
		s += fmt.Sprintf("; %s=%s from %d", x.Name, *x.Value, x.Source)
	}
	return s
}

func TestDescribeConfigsOfATopic(t *testing.T) {
	b := open(t, map[string]string{"log.segment.bytes": "2097152"})
	b.commit(override(meta.TopicResource, "a", "max.message.bytes", "1048588"), override(meta.TopicResource, "a", "retention.ms", "777"))
	got := b.configs(4, meta.TopicResource, "a")
	if got.ErrorCode != 0 || len(got.Configs) < 37 {
		t.Fatalf("error %d, %d configs", got.ErrorCode, len(got.Configs))
	}
	want := map[string]string{
		// Set to what is the default anyway: still set.
		"max.message.bytes": "1048588 from 1; max.message.bytes=1048588 from 1; message.max.bytes=1048588 from 5",
		"segment.bytes":     "2097152 from 4; log.segment.bytes=2097152 from 4; log.segment.bytes=1073741824 from 5",
		"retention.ms":      "777 from 1; retention.ms=777 from 1",
		"cleanup.policy":    "delete from 5; log.cleanup.policy=delete from 5",
	}
	types := map[string]kmsg.ConfigType{
		"max.message.bytes": kmsg.ConfigTypeInt, "retention.ms": kmsg.ConfigTypeLong, "cleanup.policy": kmsg.ConfigTypeList,
		"preallocate": kmsg.ConfigTypeBoolean, "min.cleanable.dirty.ratio": kmsg.ConfigTypeDouble, "compression.type": kmsg.ConfigTypeString,
	}
	for _, c := range got.Configs {
		if c.Documentation == nil || *c.Documentation == "" || c.ReadOnly || c.IsSensitive || c.ConfigType == 0 {
			t.Errorf("%s is %+v", c.Name, c)
		}
		if w, ok := want[c.Name]; ok && chain(c) != w {
			t.Errorf("%s is %s, want %s", c.Name, chain(c), w)
		}
		if w, ok := types[c.Name]; ok && c.ConfigType != w {
			t.Errorf("%s is of type %v", c.Name, c.ConfigType)
		}
	}
}

func TestDescribeConfigsKeyFilter(t *testing.T) {
	b := open(t, nil)
	for _, c := range []struct {
		keys []string
		want int
	}{{[]string{"retention.ms", "segment.bytes", "nope"}, 2}, {[]string{"nope"}, 0}} {
		if got := b.configs(4, meta.TopicResource, "a", c.keys...); got.ErrorCode != 0 || len(got.Configs) != c.want {
			t.Errorf("%v: error %d, %d configs", c.keys, got.ErrorCode, len(got.Configs))
		}
	}
	if got := b.configs(4, meta.TopicResource, "a", []string{}...); len(got.Configs) < 37 {
		t.Errorf("an empty filter leaves %d configs", len(got.Configs))
	}
}

func TestDescribeConfigsLeavesOutWhatIsNotAsked(t *testing.T) {
	b := open(t, nil)
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = 4
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, "a"
	req.Resources = append(req.Resources, r)
	for _, c := range check(t, req, b.DescribeConfigs(local, req)).Resources[0].Configs {
		if len(c.ConfigSynonyms) > 0 || c.Documentation != nil {
			t.Errorf("%s has %d synonyms and documentation %v", c.Name, len(c.ConfigSynonyms), c.Documentation)
		}
	}
}

func TestDescribeConfigsRefusals(t *testing.T) {
	for _, c := range []struct {
		name     string
		of       meta.ResourceType
		resource string
		code     int16
		message  string
	}{
		{"unknown topic", meta.TopicResource, "nope", 3, ""},
		{"illegal topic", meta.TopicResource, "a/b", 17, "Topic name is invalid: 'a/b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
		{"no topic", meta.TopicResource, "", 17, "Topic name is invalid: the empty string is not allowed"},
		{"another broker", meta.BrokerResource, "2", 42, "Unexpected broker id, expected 1 or empty string, but received 2"},
		{"no broker id", meta.BrokerResource, "x", 42, "Broker id must be an integer, but it is: x"},
		{"another broker's loggers", meta.BrokerLoggerResource, "2", 42, "Unexpected broker id, expected 1 but received 2"},
		{"nobody's loggers", meta.BrokerLoggerResource, "", 42, "Broker id must not be empty"},
		{"no group", meta.GroupResource, "", 42, "Group name must not be empty"},
		{"no client metrics subscription", meta.ClientMetricsResource, "", 42, "Client metrics subscription name must not be empty"},
		{"unknown type", 3, "x", 42, "Unsupported resource type: 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := open(t, nil).configs(4, c.of, c.resource)
			if got.ErrorCode != c.code || got.ErrorMessage == nil || *got.ErrorMessage != c.message || len(got.Configs) != 0 {
				t.Errorf("error %d %v, %d configs", got.ErrorCode, got.ErrorMessage, len(got.Configs))
			}
		})
	}
}

func TestDescribeConfigsOfBrokers(t *testing.T) {
	b := open(t, nil)
	b.commit(override(meta.BrokerResource, "", "log.retention.ms", "1000"), override(meta.BrokerResource, "1", "log.retention.ms", "2000"))
	own := b.configs(4, meta.BrokerResource, "1", "log.retention.ms", "node.id")
	for _, c := range own.Configs {
		switch c.Name {
		case "log.retention.ms":
			if !strings.HasPrefix(chain(c), "2000 from 2; log.retention.ms=2000 from 2; log.retention.ms=1000 from 3") || c.ReadOnly {
				t.Errorf("log.retention.ms is %s", chain(c))
			}
		case "node.id":
			if !strings.HasPrefix(chain(c), "1 from 4; node.id=1 from 4") || !c.ReadOnly {
				t.Errorf("node.id is %s", chain(c))
			}
		}
	}
	if len(own.Configs) != 2 {
		t.Errorf("%d configs", len(own.Configs))
	}
	all := b.configs(4, meta.BrokerResource, "")
	if len(all.Configs) != 1 || chain(all.Configs[0]) != "1000 from 3; log.retention.ms=1000 from 3" {
		t.Errorf("the defaults of all brokers are %+v", all.Configs)
	}
	if c := b.configs(4, meta.TopicResource, "a", "retention.ms").Configs[0]; c.Source != kmsg.ConfigSourceDynamicBrokerConfig || *c.Value != "2000" {
		t.Errorf("the topic has %s", chain(c))
	}
	if got := b.configs(4, meta.BrokerLoggerResource, "1"); got.ErrorCode != 0 || len(got.Configs) != 0 {
		t.Errorf("loggers: error %d, %d configs", got.ErrorCode, len(got.Configs))
	}
}

func TestDescribeConfigsOfGroups(t *testing.T) {
	b := open(t, nil)
	b.commit(override(meta.GroupResource, "g", "consumer.session.timeout.ms", "46000"))
	for group, want := range map[string]string{
		"g":     "46000 from 8; consumer.session.timeout.ms=46000 from 8; group.consumer.session.timeout.ms=45000 from 5",
		"other": "45000 from 5; group.consumer.session.timeout.ms=45000 from 5",
	} {
		got := b.configs(4, meta.GroupResource, group, "consumer.session.timeout.ms")
		if len(got.Configs) != 1 || chain(got.Configs[0]) != want {
			t.Errorf("%s has %+v", group, got.Configs)
		}
		if c := b.configs(4, meta.GroupResource, group, "share.isolation.level").Configs[0]; chain(c) != "read_uncommitted from 5; share.isolation.level=read_uncommitted from 5" {
			t.Errorf("%s has %s", group, chain(c))
		}
		if all := b.configs(4, meta.GroupResource, group); len(all.Configs) < 20 {
			t.Errorf("%s has %d configs", group, len(all.Configs))
		}
	}
}

func TestDescribeConfigsBoundsWhatIsRepeated(t *testing.T) {
	b := open(t, nil)
	b.commit(override(meta.TopicResource, "a", "retention.ms", "777"))
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = 4
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceType(meta.TopicResource), "a"
	for range 10_000 {
		req.Resources = append(req.Resources, r)
	}
	if n := len(b.DescribeConfigs(local, req).Resources); n < 2 || n > 200 {
		t.Errorf("a resource that is named 10,000 times is described %d times", n)
	}
}
