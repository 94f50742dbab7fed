package config

import (
	"strings"
	"testing"
)

func mustLoad(t *testing.T, props map[string]string) *Broker {
	t.Helper()
	b, _, err := Load(props)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// allowed has, for each topic config, a value that is not its default, and how it is shown.
var allowed = map[string][2]string{
	"cleanup.policy":                          {"compact , delete", "compact,delete"},
	"compression.type":                        {"zstd", "zstd"},
	"compression.gzip.level":                  {"9", "9"},
	"compression.lz4.level":                   {"17", "17"},
	"compression.zstd.level":                  {"-131072", "-131072"},
	"delete.retention.ms":                     {"0", "0"},
	"durability":                              {"async", "async"},
	"errors.deadletterqueue.group.enable":     {"true", "true"},
	"file.delete.delay.ms":                    {"0", "0"},
	"flush.messages":                          {"1", "1"},
	"flush.ms":                                {"0", "0"},
	"follower.replication.throttled.replicas": {"*", "*"},
	"index.interval.bytes":                    {"0", "0"},
	"leader.replication.throttled.replicas":   {"0:1,1:2", "0:1,1:2"},
	"local.retention.bytes":                   {"5", "5"},
	"local.retention.ms":                      {"5", "5"},
	"max.compaction.lag.ms":                   {"1", "1"},
	"max.decompressed.message.bytes":          {"1", "1"},
	"max.message.bytes":                       {"0", "0"},
	"message.timestamp.after.max.ms":          {"0", "0"},
	"message.timestamp.before.max.ms":         {"0", "0"},
	"message.timestamp.type":                  {"LogAppendTime", "LogAppendTime"},
	"min.cleanable.dirty.ratio":               {"0.00001", "1.0E-5"},
	"min.compaction.lag.ms":                   {"7", "7"},
	"min.insync.replicas":                     {"2", "2"},
	"preallocate":                             {"TRUE", "true"},
	"remote.copy.lag.bytes":                   {"5", "5"},
	"remote.copy.lag.ms":                      {"-1", "-1"},
	"remote.log.copy.disable":                 {"true", "true"},
	"remote.log.delete.on.disable":            {"true", "true"},
	"remote.storage.enable":                   {"False", "false"},
	"retention.bytes":                         {"-7", "-7"},
	"retention.ms":                            {" +7 ", "7"},
	"segment.bytes":                           {"1048576", "1048576"},
	"segment.index.bytes":                     {"4", "4"},
	"segment.jitter.ms":                       {"9", "9"},
	"segment.ms":                              {"1", "1"},
	"unclean.leader.election.enable":          {"true", "true"},
}

func TestEveryTopicConfigRoundTrips(t *testing.T) {
	b := mustLoad(t, nil)
	for _, o := range TopicOptions() {
		v, ok := allowed[o.Name]
		if !ok {
			t.Errorf("no value to try for %s", o.Name)
			continue
		}
		overrides := map[string]string{o.Name: v[0]}
		if err := ValidateTopic(b, overrides); err != nil {
			t.Errorf("%s=%s: %v", o.Name, v[0], err)
			continue
		}
		for _, e := range TopicEntries(b, overrides) {
			if e.Name == o.Name && (e.Value == nil || *e.Value != v[1] || e.Source != DynamicTopic) {
				t.Errorf("%s=%s is described as %s", o.Name, v[0], line(e))
			}
			if e.Name != o.Name && e.Source == DynamicTopic {
				t.Errorf("%s=%s: %s is described as an override", o.Name, v[0], e.Name)
			}
		}
		if again := (map[string]string{o.Name: v[1]}); ValidateTopic(b, again) != nil {
			t.Errorf("%s=%s: what is shown is not accepted", o.Name, v[1])
		}
	}
	if len(allowed) != len(TopicOptions()) {
		t.Errorf("%d values for %d configs", len(allowed), len(TopicOptions()))
	}
}

// The texts are those of Kafka 4.4.
func TestBadTopicConfigsAreRefusedInKafkasWords(t *testing.T) {
	b := mustLoad(t, nil)
	for _, c := range []struct{ config, want string }{
		{"foo=1", "Unknown topic config name: foo"},
		{"retention.ms=-5", "Invalid value -5 for configuration retention.ms: Value must be at least -1"},
		{"retention.ms=abc", "Invalid value abc for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms=", "Invalid value  for configuration retention.ms: Not a number of type LONG"},
		{"segment.bytes=1000", "Invalid value 1000 for configuration segment.bytes: Value must be at least 1048576"},
		{"segment.bytes=3000000000", "Invalid value 3000000000 for configuration segment.bytes: Not a number of type INT"},
		{"segment.ms=0", "Invalid value 0 for configuration segment.ms: Value must be at least 1"},
		{"cleanup.policy=compact,foo", "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete"},
		{"cleanup.policy=,", "Configuration 'cleanup.policy' values must not be empty."},
		{"compression.type=Gzip", "Invalid value Gzip for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
		{"compression.gzip.level=0", "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"},
		{"compression.lz4.level=18", "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17"},
		{"compression.zstd.level=23", "Invalid value 23 for configuration compression.zstd.level: Value must be no more than 22"},
		{"preallocate=maybe", "Invalid value maybe for configuration preallocate: Expected value to be either true or false"},
		{"min.cleanable.dirty.ratio=2", "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
		{"min.cleanable.dirty.ratio=-1", "Invalid value -1.0 for configuration min.cleanable.dirty.ratio: Value must be at least 0"},
		{"min.cleanable.dirty.ratio=x", "Invalid value x for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
		{"min.cleanable.dirty.ratio=NaN", "Invalid value NaN for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
		{"message.timestamp.type=foo", "Invalid value foo for configuration message.timestamp.type: String must be one of: CreateTime, LogAppendTime"},
		{"leader.replication.throttled.replicas=a", "Invalid value [a] for configuration leader.replication.throttled.replicas: leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."},
		{"remote.storage.enable=true", "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
		{"min.compaction.lag.ms=5;max.compaction.lag.ms=3", "conflict topic config setting min.compaction.lag.ms (5) > max.compaction.lag.ms (3)"},
		{"min.insync.replicas=0", "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1"},
		{"max.decompressed.message.bytes=2147483647", "Invalid value 2147483647 for configuration max.decompressed.message.bytes: Value must be no more than 2147483639"},
		{"durability=maybe", "Invalid value maybe for configuration durability: String must be one of: flush, replicated, async"},
	} {
		overrides := map[string]string{}
		for kv := range strings.SplitSeq(c.config, ";") {
			k, v, _ := strings.Cut(kv, "=")
			overrides[k] = v
		}
		if err := ValidateTopic(b, overrides); err == nil || err.Error() != c.want {
			t.Errorf("%s\n got %v\nwant %s", c.config, err, c.want)
		}
	}
}

func TestTopicDefaultsComeFromTheFirstSynonymSet(t *testing.T) {
	const hour = 3_600_000
	for _, c := range []struct {
		name   string
		static map[string]string
		get    func(*Topic) int64
		want   int64
	}{
		{"nothing set", nil, func(t *Topic) int64 { return t.RetentionMs }, 168 * hour},
		{"hours", map[string]string{"log.retention.hours": "2"}, func(t *Topic) int64 { return t.RetentionMs }, 2 * hour},
		{"minutes over hours", map[string]string{"log.retention.hours": "2", "log.retention.minutes": "3"}, func(t *Topic) int64 { return t.RetentionMs }, 180_000},
		{"ms over minutes", map[string]string{"log.retention.minutes": "3", "log.retention.ms": "4"}, func(t *Topic) int64 { return t.RetentionMs }, 4},
		{"negative hours", map[string]string{"log.retention.hours": "-1"}, func(t *Topic) int64 { return t.RetentionMs }, -1},
		{"negative ms", map[string]string{"log.retention.ms": "-9"}, func(t *Topic) int64 { return t.RetentionMs }, -1},
		{"roll hours", map[string]string{"log.roll.hours": "1"}, func(t *Topic) int64 { return t.SegmentMs }, hour},
		{"roll ms", map[string]string{"log.roll.hours": "1", "log.roll.ms": "5"}, func(t *Topic) int64 { return t.SegmentMs }, 5},
		{"jitter hours", map[string]string{"log.roll.jitter.hours": "1"}, func(t *Topic) int64 { return t.SegmentJitterMs }, hour},
		{"flush scheduler", map[string]string{"log.flush.scheduler.interval.ms": "6"}, func(t *Topic) int64 { return t.FlushMs }, 6},
		{"message.max.bytes", map[string]string{"message.max.bytes": "77"}, func(t *Topic) int64 { return int64(t.MaxMessageBytes) }, 77},
	} {
		topic, err := mustLoad(t, c.static).ResolveTopic(nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := c.get(topic); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestDynamicBrokerConfigsReachTopics(t *testing.T) {
	b, err := mustLoad(t, map[string]string{"log.segment.bytes": "2000000"}).
		WithDynamic(map[string]string{"log.retention.ms": "5"}, map[string]string{"log.retention.ms": "6", "log.durability": "async"})
	if err != nil {
		t.Fatal(err)
	}
	topic, err := b.ResolveTopic(map[string]string{"segment.ms": "7"})
	if err != nil {
		t.Fatal(err)
	}
	if topic.RetentionMs != 5 || topic.Durability != "async" || topic.SegmentBytes != 2_000_000 || topic.SegmentMs != 7 {
		t.Errorf("got %+v", topic)
	}
}

func TestAStoredValueOutsideTodaysBoundsIsShown(t *testing.T) {
	for _, e := range TopicEntries(mustLoad(t, nil), map[string]string{"segment.bytes": "14"}) {
		if e.Name == "segment.bytes" && (e.Value == nil || *e.Value != "14") {
			t.Errorf("got %s", line(e))
		}
	}
}

func TestDoublesPrintAsJavas(t *testing.T) {
	for f, want := range map[float64]string{0: "0.0", 1: "1.0", 0.5: "0.5", 0.001: "0.001", 0.0001: "1.0E-4", 1e7: "1.0E7", 12345678: "1.2345678E7", 1234567: "1234567.0", -2.5: "-2.5"} {
		if got := formatDouble(f); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
}
