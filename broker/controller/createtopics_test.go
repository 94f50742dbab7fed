package controller_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/meta"
	"millrace/broker/meta/metatest"
)

func TestCreateTopicRefusals(t *testing.T) {
	long := strings.Repeat("x", 250)
	for _, c := range []struct {
		name    string
		topic   kmsg.CreateTopicsRequestTopic
		code    int16
		message string
	}{
		{"empty name", topic("", 1, 1), 17, "Topic name is invalid: the empty string is not allowed"},
		{"dot", topic(".", 1, 1), 17, "Topic name is invalid: '.' is not allowed"},
		{"two dots", topic("..", 1, 1), 17, "Topic name is invalid: '..' is not allowed"},
		{"slash", topic("a/b", 1, 1), 17, "Topic name is invalid: 'a/b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
		{"letter outside ASCII", topic("ä", 1, 1), 17, "Topic name is invalid: 'ä' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
		{"250 characters", topic(long, 1, 1), 17, "Topic name is invalid: the length of '" + long + "' is longer than the max allowed length 249"},
		{"collision of . and _", topic("z.z", 1, 1), 17, "Topic 'z.z' collides with existing topic: z_z"},
		{"exists", topic("z_z", 1, 1), 36, "Topic 'z_z' already exists."},
		{"the metadata log", topic("__cluster_metadata", 1, 1), 42, "Creation of internal topic __cluster_metadata is prohibited."},
		{"more replicas than brokers", topic("r", 1, 3), 38, "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because only 1 broker(s) are registered or some brokers have all their log directories cordoned."},
		{"no replicas", topic("r", 1, 0), 38, "Replication factor must be larger than 0, or -1 to use the default value."},
		{"replication factor -2", topic("r", 1, -2), 38, "Replication factor must be larger than 0, or -1 to use the default value."},
		{"no partitions", topic("r", 0, 1), 37, "Number of partitions was set to an invalid non-positive value."},
		{"partitions -2", topic("r", -2, 1), 37, "Number of partitions was set to an invalid non-positive value."},
		{"unknown config", topic("r", 1, 1, "foo.bar", "1"), 40, "Unknown topic config name: foo.bar"},
		{"config of another type", topic("r", 1, 1, "retention.ms", "x"), 40, "Invalid value x for configuration retention.ms: Not a number of type LONG"},
		{"config out of bounds", topic("r", 1, 1, "segment.bytes", "1"), 40, "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576"},
		{"assignment to an unknown broker", assigned("r", -1, -1, map[int32][]int32{0: {9}}), 39, "The manual partition assignment includes broker 9, but no such broker is registered."},
		{"assignment to a broker twice", assigned("r", -1, -1, map[int32][]int32{0: {1, 1}}), 39, "The manual partition assignment includes the broker 1 more than once."},
		{"two assignments of a partition", assigned("r", -1, -1, map[int32][]int32{0: {1}}, map[int32][]int32{0: {1}}), 39, "Found multiple manual partition assignments for partition 0"},
		{"assignment with a gap", assigned("r", -1, -1, map[int32][]int32{1: {1}}), 39, "partitions should be a consecutive 0-based integer sequence"},
		{"assignment to nobody", assigned("r", -1, -1, map[int32][]int32{0: {}}), 39, "The manual partition assignment includes an empty replica list."},
		{"assignment and partitions", assigned("r", 1, -1, map[int32][]int32{0: {1}}), 42, "A manual partition assignment was specified, but numPartitions was not set to -1."},
		{"assignment and replication factor", assigned("r", -1, 1, map[int32][]int32{0: {1}}), 42, "A manual partition assignment was specified, but replication factor was not set to -1."},
		{"10,001 partitions", topic("r", 10_001, 1), 44, "Excessively large number of partitions per request."},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, nil)
			b.mustCreate(topic("z_z", 1, 1))
			end := b.log.EndOffset()
			got := b.create(c.topic)[0]
			b.check(c.topic.Topic, got.ErrorCode, got.ErrorMessage, c.code, c.message)
			if got.TopicID != [16]byte{} || got.NumPartitions != -1 || got.ReplicationFactor != -1 {
				t.Errorf("a refused topic has id %v, %d partitions, %d replicas", got.TopicID, got.NumPartitions, got.ReplicationFactor)
			}
			if b.log.EndOffset() != end {
				t.Error("something was written")
			}
		})
	}
}

func TestCreateTopicWithNullConfigIsRefused(t *testing.T) {
	b := open(t, nil)
	x := topic("a", 1, 1)
	cfg := kmsg.NewCreateTopicsRequestTopicConfig()
	cfg.Name = "retention.ms"
	x.Configs = append(x.Configs, cfg)
	got := b.create(x)[0]
	b.check("a", got.ErrorCode, got.ErrorMessage, 40, "Null value not supported for topic configs: retention.ms")
}

func TestDuplicateTopicInOneRequestIsRefusedAndOthersCreated(t *testing.T) {
	b := open(t, nil)
	got := b.create(topic("d", 1, 1), topic("e", 1, 1), topic("d", 2, 1), topic("d", 2, 1))
	if len(got) != 2 {
		t.Fatalf("%d results", len(got))
	}
	b.check("d", got[0].ErrorCode, got[0].ErrorMessage, 42, "Duplicate topic name.")
	b.check("e", got[1].ErrorCode, got[1].ErrorMessage, 0, "")
	if b.image().Topic("d") != nil || b.image().Topic("e") == nil {
		t.Error("the wrong topic exists")
	}
}

func TestNamesThatCollideInOneRequestAreRefused(t *testing.T) {
	b := open(t, nil)
	got := b.create(topic("y.z", 1, 1), topic("y_z", 1, 1))
	b.check("y.z", got[0].ErrorCode, got[0].ErrorMessage, 0, "")
	b.check("y_z", got[1].ErrorCode, got[1].ErrorMessage, 17, "Topic 'y_z' collides with existing topic: y.z")
}

func TestMinusOneMeansTheBrokersDefaults(t *testing.T) {
	b := open(t, map[string]string{"num.partitions": "5"})
	got := b.create(topic("a", -1, -1))[0]
	b.check("a", got.ErrorCode, got.ErrorMessage, 0, "")
	if got.NumPartitions != 5 || got.ReplicationFactor != 1 || len(b.image().Topic("a").Partitions) != 5 {
		t.Errorf("%d partitions, %d replicas", got.NumPartitions, got.ReplicationFactor)
	}
}

func TestManualAssignmentIsFollowed(t *testing.T) {
	b := open(t, nil)
	b.mustCreate(assigned("a", -1, -1, map[int32][]int32{0: {1}, 1: {1}, 2: {1}}))
	if p := b.image().Topic("a").Partitions; len(p) != 3 || p[2].Leader != 1 || len(p[2].ISR) != 1 {
		t.Errorf("partitions are %+v", p)
	}
}

func TestCreateTopicAnswersEveryConfigWithItsSource(t *testing.T) {
	b := open(t, map[string]string{"log.segment.bytes": "2097152"})
	got := b.create(topic("a", 1, 1, "retention.ms", "604800000"))[0]
	if len(got.Configs) < 37 {
		t.Errorf("%d configs", len(got.Configs))
	}
	want := map[string]struct {
		value  string
		source int8
	}{
		"retention.ms":   {"604800000", 1}, // set, though it is the default
		"segment.bytes":  {"2097152", 4},   // of the broker's own file
		"cleanup.policy": {"delete", 5},
	}
	last := ""
	for _, c := range got.Configs {
		if c.Name <= last {
			t.Errorf("%s comes after %s", c.Name, last)
		}
		last = c.Name
		if w, ok := want[c.Name]; ok && (*c.Value != w.value || c.Source != w.source) {
			t.Errorf("%s is %s from %d, want %s from %d", c.Name, *c.Value, c.Source, w.value, w.source)
		}
	}
	if got.TopicID != b.image().Topic("a").ID {
		t.Error("another topic id is answered than created")
	}
	if old := b.createVersion(2, false, topic("b", 1, 1))[0]; old.ErrorCode != 0 || len(old.Configs) != 0 {
		t.Errorf("version 2 answers error %d and %d configs", old.ErrorCode, len(old.Configs))
	}
}

func TestValidateOnlyCreatesNothing(t *testing.T) {
	b := open(t, nil)
	end := b.log.EndOffset()
	got := b.createVersion(7, true, topic("a", 2, 1), topic("b", 0, 1))
	b.check("a", got[0].ErrorCode, got[0].ErrorMessage, 0, "")
	b.check("b", got[1].ErrorCode, got[1].ErrorMessage, 37, "Number of partitions was set to an invalid non-positive value.")
	if got[0].NumPartitions != 2 || len(got[0].Configs) < 37 {
		t.Errorf("%d partitions and %d configs", got[0].NumPartitions, len(got[0].Configs))
	}
	if b.image().Topic("a") != nil || b.log.EndOffset() != end {
		t.Error("a topic was created")
	}
}

func TestRecreatedTopicHasANewID(t *testing.T) {
	b := open(t, nil)
	b.mustCreate(topic("a", 1, 1))
	was := b.image().Topic("a").ID
	b.delete(6, "a")
	b.mustCreate(topic("a", 1, 1))
	if now := b.image().Topic("a").ID; now == was || now.IsZero() {
		t.Errorf("id is %s after %s", now, was)
	}
	if b.image().TopicByID(was) != nil {
		t.Error("the old id still finds a topic")
	}
}

func TestClusterCapOnPartitions(t *testing.T) {
	b := openLimited(t, nil, 10)
	b.mustCreate(topic("a", 6, 1))
	got := b.create(topic("b", 4, 1), topic("c", 1, 1))
	b.check("b", got[0].ErrorCode, got[0].ErrorMessage, 0, "")
	b.check("c", got[1].ErrorCode, got[1].ErrorMessage, 44, "The cluster would have 11 partitions, which is more than its limit of 10.")
	if r := b.partitions("a", 7); r.ErrorCode != 44 {
		t.Errorf("an 11th partition: error %d", r.ErrorCode)
	}
}

func TestARefusalNamesTheLimitOfTheMachine(t *testing.T) {
	b := openWithRoom(t, 10, "LimitNOFILE in the unit")
	b.mustCreate(topic("a", 6, 1))
	got := b.create(topic("b", 4, 1), topic("c", 1, 1))
	b.check("b", got[0].ErrorCode, got[0].ErrorMessage, 0, "")
	b.check("c", got[1].ErrorCode, got[1].ErrorMessage, 44, "The cluster would have 11 partitions, which is more than its limit of 10: LimitNOFILE in the unit.")
	if r := b.partitions("a", 7); r.ErrorCode != 44 {
		t.Errorf("an 11th partition: error %d", r.ErrorCode)
	}
	if n, err := b.EnsureInternal("__consumer_offsets", 5, nil); err != nil || n != 5 {
		t.Errorf("a topic that the broker needs: %d partitions, %v", n, err)
	}
}

func TestFailedLogIsARetriableErrorForEveryTopic(t *testing.T) {
	b := open(t, nil)
	b.log.AppendError = errors.New("no space left on device")
	for _, r := range b.create(topic("a", 1, 1), topic("b", 1, 1)) {
		b.check(r.Topic, r.ErrorCode, r.ErrorMessage, 56, "The metadata log could not be written.")
	}
	b.log.AppendError = nil
	b.mustCreate(topic("a", 1, 1))
	if metatest.Reopen(t, b.log, nil).Image().Topic("a") == nil {
		t.Error("topic is lost")
	}
}

func TestLogThatFailedUnderAChangeFailsEveryRequest(t *testing.T) {
	b := open(t, nil)
	b.mustCreate(topic("a", 1, 1))
	b.log.DurableError = errors.New("input/output error")
	b.create(topic("b", 1, 1))
	b.log.DurableError = nil
	const message = "The metadata log could not be written."
	created := b.create(topic("c", 1, 1))[0]
	b.check("create", created.ErrorCode, created.ErrorMessage, 56, message)
	deleted := b.delete(6, "a")[0]
	b.check("delete", deleted.ErrorCode, deleted.ErrorMessage, 56, message)
	grown := b.partitions("a", 3)
	b.check("partitions", grown.ErrorCode, grown.ErrorMessage, 56, message)
	code, text := b.incremental(false, meta.TopicResource, "a", op{"retention.ms", remove, nil})
	b.check("incremental", code, text, 56, message)
	code, text = b.alter(meta.TopicResource, "a", "retention.ms", "1")
	b.check("alter", code, text, 56, message)
	if _, err := b.EnsureInternal(meta.ConsumerOffsets, 1, nil); err == nil {
		t.Error("an internal topic was created")
	}
}

func TestInternalTopicsAreMarked(t *testing.T) {
	b := open(t, nil)
	b.mustCreate(topic("__consumer_offsets", 1, 1), topic("__other", 1, 1))
	if !b.image().Topic("__consumer_offsets").Internal || b.image().Topic("__other").Internal {
		t.Error("the wrong topic is internal")
	}
}
