package config

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNothingSetIsAWorkingNode(t *testing.T) {
	b, warnings, err := Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	if b.NodeID != 1 || b.NumPartitions != 1 || !b.AutoCreateTopics || b.HTTPAddr != "127.0.0.1:9644" || len(b.Listeners) != 1 || b.Listeners[0].Port != 9092 {
		t.Errorf("got %+v", b)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "WITHOUT AUTHENTICATION") {
		t.Errorf("warnings %q", warnings)
	}
}

func TestKafkasServerPropertiesLoads(t *testing.T) {
	props, err := ParseProperties(strings.NewReader(`
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=3
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
ssl.keystore.location=/none
my.plugin=1
retention.ms=5
`))
	if err != nil {
		t.Fatal(err)
	}
	b, warnings, err := Load(props)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Listeners) != 1 || b.Listeners[0].AdvertisedHost != "localhost" || b.RecoveryThreads != 1 || !slices.Equal(b.LogDirs, []string{"/tmp/kraft-combined-logs"}) {
		t.Errorf("got %+v", b)
	}
	all := strings.Join(warnings, "\n")
	for _, want := range []string{
		"unknown config my.plugin is ignored",
		"retention.ms is a topic config and ignored here; the default of all topics is log.retention.ms",
		"configs of Kafka without effect here: controller.quorum.bootstrap.servers, ",
		"ssl.keystore.location",
		"controller listener CONTROLLER is not opened",
		"advertises localhost, so that clients on other machines connect to themselves",
		"WITHOUT AUTHENTICATION",
		"offsets.topic.replication.factor=3 is taken as 1",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning %q in\n%s", want, all)
		}
	}
}

func TestListeners(t *testing.T) {
	for _, c := range []struct {
		name  string
		props map[string]string
		want  []Listener
	}{
		{"loopback", map[string]string{"listeners": "PLAINTEXT://127.0.0.1:9092"},
			[]Listener{{"PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092, "127.0.0.1", 9092}}},
		{"IPv6", map[string]string{"listeners": "plaintext://[::1]:0"},
			[]Listener{{"PLAINTEXT", "PLAINTEXT", "::1", 0, "::1", 0}}},
		{"several, one advertised", map[string]string{
			"listeners":                      "A://localhost:1, B://[::1]:2",
			"advertised.listeners":           "B://[fd00::5]:3",
			"listener.security.protocol.map": "A:PLAINTEXT,b:plaintext"},
			[]Listener{{"A", "PLAINTEXT", "localhost", 1, "localhost", 1}, {"B", "PLAINTEXT", "::1", 2, "fd00::5", 3}}},
		{"behind a balancer", map[string]string{"listeners": "PLAINTEXT://:9092", "advertised.listeners": "PLAINTEXT://kafka.example.org:19092"},
			[]Listener{{"PLAINTEXT", "PLAINTEXT", "", 9092, "kafka.example.org", 19092}}},
	} {
		b, _, err := Load(c.props)
		if err != nil || !slices.Equal(b.Listeners, c.want) {
			t.Errorf("%s: got %+v, %v, want %+v", c.name, b, err, c.want)
		}
	}
}

func TestTheAddressOfAllInterfacesIsNotAdvertised(t *testing.T) {
	for _, host := range []string{"", "0.0.0.0", "[::]"} {
		l := mustLoad(t, map[string]string{"listeners": "PLAINTEXT://" + host + ":9092"}).Listeners[0]
		if isUnspecified(l.AdvertisedHost) {
			t.Errorf("listener on %q advertises %q", host, l.AdvertisedHost)
		}
	}
	_, warnings, err := Load(map[string]string{"listeners": "PLAINTEXT://:9092", "advertised.listeners": "PLAINTEXT://0.0.0.0:9092"})
	if err != nil || !strings.Contains(strings.Join(warnings, " "), "advertises 0.0.0.0") {
		t.Errorf("warnings %q, %v", warnings, err)
	}
}

func TestLoopbackListenersGiveNoWarning(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "127.9.9.9", "[::1]", "localhost"} {
		if _, warnings, err := Load(map[string]string{"listeners": "PLAINTEXT://" + host + ":9092"}); err != nil || len(warnings) > 0 {
			t.Errorf("%s: %q, %v", host, warnings, err)
		}
	}
}

func TestBadBrokerConfigsNameTheKey(t *testing.T) {
	for _, c := range []struct {
		props map[string]string
		want  string
	}{
		{map[string]string{"num.partitions": "0"}, "Invalid value 0 for configuration num.partitions: Value must be at least 1"},
		{map[string]string{"num.partitions": "many"}, "Invalid value many for configuration num.partitions: Not a number of type INT"},
		{map[string]string{"offsets.topic.replication.factor": "40000"}, "Not a number of type SHORT"},
		{map[string]string{"log.io": "mmap"}, "log.io: String must be one of: auto, direct, buffered"},
		{map[string]string{"log.retention.ms": "0"}, "log.retention.ms: must be unlimited (-1) or"},
		{map[string]string{"listeners": ""}, "Configuration 'listeners' must not be empty"},
		{map[string]string{"listeners": "9092"}, "Unable to parse 9092 to a broker endpoint"},
		{map[string]string{"listeners": "PLAINTEXT://::1:9092"}, "IPv6 address in brackets"},
		{map[string]string{"listeners": "PLAINTEXT://h:70000"}, "port must be a number from 0 to 65535"},
		{map[string]string{"listeners": "SSL://127.0.0.1:9092"}, "this version serves PLAINTEXT only"},
		{map[string]string{"listeners": "OTHER://127.0.0.1:9092"}, "no security protocol for listener OTHER"},
		{map[string]string{"listeners": "PLAINTEXT://a:1,PLAINTEXT://b:2"}, "Each listener must have a different name"},
		{map[string]string{"listeners": "A://a:1,B://a:1", "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT"}, "Each listener must have a different address"},
		{map[string]string{"listener.security.protocol.map": "A"}, "must be a list of NAME:PROTOCOL"},
		{map[string]string{"listener.security.protocol.map": "A:TLS"}, "No security protocol TLS"},
		{map[string]string{"advertised.listeners": "X://a:1"}, "there is no listener X"},
		{map[string]string{"listeners": "C://a:1", "controller.listener.names": "C"}, "there is no listener for clients"},
		{map[string]string{"http.listen": "9644"}, "http.listen: must be HOST:PORT"},
		{map[string]string{"node.id": "1", "broker.id": "2"}, "node.id"},
		{map[string]string{"log.dirs": "a,a"}, "each log dir must be named, and once"},
		{map[string]string{"group.min.session.timeout.ms": "7000000"}, "must not be more than group.max.session.timeout.ms"},
		{map[string]string{"log.cleaner.min.compaction.lag.ms": "5", "log.cleaner.max.compaction.lag.ms": "3"}, "conflict topic config setting"},
	} {
		if _, _, err := Load(c.props); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.props, err, c.want)
		}
	}
}

func TestLaterLayersWin(t *testing.T) {
	env := FromEnvironment([]string{"MILLRACE_LOG_RETENTION_HOURS=1", "MILLRACE_NODE_ID=7", "PATH=/bin", "MILLRACE_=x"})
	if want := map[string]string{"log.retention.hours": "1", "node.id": "7"}; !maps.Equal(env, want) {
		t.Fatalf("environment: %v", env)
	}
	set, err := ParseAssignments([]string{"log.dir=/b", "num.partitions = 3=4"})
	if err != nil || set["num.partitions"] != " 3=4" {
		t.Fatalf("assignments: %v, %v", set, err)
	}
	got := Merge(map[string]string{"log.retention.ms": "5", "broker.id": "1", "log.dirs": "/a", "x": "1"}, env, set)
	want := map[string]string{"log.retention.hours": "1", "node.id": "7", "log.dir": "/b", "x": "1", "num.partitions": " 3=4"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := ParseAssignments([]string{"novalue"}); err == nil {
		t.Error("an argument without = is accepted")
	}
}

func TestDynamicConfigs(t *testing.T) {
	b := mustLoad(t, map[string]string{"max.connections": "10"})
	for _, c := range []struct {
		name, value string
		perBroker   bool
		want        string
	}{
		{"max.connections", "5", true, ""},
		{"log.retention.ms", "5", false, ""},
		{"log.retention.ms", "-7", false, ""},
		{"num.partitions", "2", true, "Cannot update these configs dynamically: [num.partitions]"},
		{"no.such", "1", true, "Unknown broker config name: [no.such]"},
		{"max.connections", "-1", false, "Invalid value -1 for configuration max.connections: Value must be at least 0"},
		{"log.cleaner.max.compaction.lag.ms", "x", true, "Invalid value x for configuration log.cleaner.max.compaction.lag.ms: Not a number of type LONG"},
	} {
		err := b.ValidateDynamic(map[string]string{c.name: c.value}, c.perBroker)
		if got := ""; err != nil {
			if got = err.Error(); got != c.want {
				t.Errorf("%s=%s: got %q, want %q", c.name, c.value, got, c.want)
			}
		} else if c.want != "" {
			t.Errorf("%s=%s is accepted, want %q", c.name, c.value, c.want)
		}
	}
	d, err := b.WithDynamic(map[string]string{"max.connections": "5", "of.a.later.version": "1"}, nil)
	if err != nil || d.MaxConnections != 5 || b.MaxConnections != 10 {
		t.Errorf("got %+v, %v", d, err)
	}
	if v, source, ok := d.Value("max.connections"); v != "5" || source != DynamicBroker || !ok {
		t.Errorf("value %q from %d", v, source)
	}
	if _, _, ok := d.Value("log.retention.ms"); ok {
		t.Error("log.retention.ms has a value although it is not set")
	}
}

func TestTheTableIsWhole(t *testing.T) {
	for _, o := range append(slices.Clone(BrokerOptions()), TopicOptions()...) {
		if !o.Null {
			if v, err := o.Parse(o.Default); err != nil {
				t.Errorf("%s: the default is refused: %v", o.Name, err)
			} else if format(v) != o.Default {
				t.Errorf("%s: default %q is shown as %q", o.Name, o.Default, format(v))
			}
		}
		if !strings.HasSuffix(o.Doc, ".") {
			t.Errorf("%s: %q is not a sentence", o.Name, o.Doc)
		}
		for _, s := range o.Synonyms {
			if BrokerOption(s.Name) == nil {
				t.Errorf("%s: no broker config %s", o.Name, s.Name)
			}
		}
		if isKafkaKey(o.Name) && kafkaKeys[o.Name] {
			t.Errorf("%s is in the table and among the keys without effect", o.Name)
		}
	}
	if len(byName(BrokerOptions())) != len(BrokerOptions()) || len(byName(TopicOptions())) != len(TopicOptions()) {
		t.Error("a name comes twice")
	}
}

// Whatever a client sends as a value, the answer is a value or a reason.
func TestParseNeverPanics(t *testing.T) {
	all := append(slices.Clone(BrokerOptions()), TopicOptions()...)
	rapid.Check(t, func(t *rapid.T) {
		o := rapid.SampledFrom(all).Draw(t, "config")
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`-?[0-9]{1,20}(\.[0-9])?`)).Draw(t, "value")
		v, err := o.Parse(s)
		if err != nil {
			return
		}
		if again, err := o.Parse(format(v)); err != nil || format(again) != format(v) {
			t.Fatalf("%s: %q is shown as %q, which reads as %v, %v", o.Name, s, format(v), again, err)
		}
	})
}
