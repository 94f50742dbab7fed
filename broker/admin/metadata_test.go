package admin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/admin"
	"millrace/broker/meta"
	"millrace/broker/meta/metatest"
)

func (b *bench) metadata(version int16, change func(*kmsg.MetadataRequest), topics ...any) *kmsg.MetadataResponse {
	b.t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.Version = version
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, x := range topics {
		t := kmsg.NewMetadataRequestTopic()
		switch x := x.(type) {
		case string:
			t.Topic = &x
		case [16]byte:
			t.TopicID = x
		}
		req.Topics = append(req.Topics, t)
	}
	if change != nil {
		change(req)
	}
	return check(b.t, req, b.Metadata(local, req))
}

func allTopics(req *kmsg.MetadataRequest) { req.Topics = nil }

// brief is a topic as name:error:partitions.
func brief(topics []kmsg.MetadataResponseTopic) string {
	var out []string
	for _, t := range topics {
		name := "null"
		if t.Topic != nil {
			name = *t.Topic
		}
		out = append(out, fmt.Sprintf("%s:%d:%d", name, t.ErrorCode, len(t.Partitions)))
	}
	return strings.Join(out, " ")
}

func TestMetadataTopicLists(t *testing.T) {
	const everything = "__consumer_offsets:0:2 a:0:3 b.b:0:1"
	for _, c := range []struct {
		name    string
		version int16
		change  func(*kmsg.MetadataRequest)
		topics  []any
		want    string
	}{
		{"version 0, empty list: all", 0, nil, nil, everything},
		{"version 1, empty list: none", 1, nil, nil, ""},
		{"version 1, null list: all", 1, allTopics, nil, everything},
		{"version 13, empty list: none", 13, nil, nil, ""},
		{"version 13, null list: all", 13, allTopics, nil, everything},
		{"named, in the order asked, once", 9, nil, []any{"b.b", "a", "b.b"}, "b.b:0:1 a:0:3"},
		{"unknown", 9, nil, []any{"nope", "a"}, "nope:3:0 a:0:3"},
		{"illegal names", 9, nil, []any{"a/b", ".", "..", "", strings.Repeat("x", 250)},
			"a/b:17:0 .:17:0 ..:17:0 :17:0 " + strings.Repeat("x", 250) + ":17:0"},
		{"unknown id", 12, nil, []any{[16]byte{1, 2, 3}}, "null:100:0"},
		{"ids beside names: ids only", 12, nil, []any{[16]byte{1, 2, 3}, "a"}, "null:100:0"},
		{"neither name nor id", 12, nil, []any{[16]byte{}}, ":42:0"},
		{"the metadata log", 12, nil, []any{"__cluster_metadata"}, "__cluster_metadata:3:0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, nil)
			if got := brief(b.metadata(c.version, c.change, c.topics...).Topics); got != c.want {
				t.Errorf("topics are %s, want %s", got, c.want)
			}
		})
	}
}

func TestMetadataByTopicID(t *testing.T) {
	b := open(t, nil)
	got := b.metadata(12, nil, b.id("a"), [16]byte{9}, b.id("a"))
	if s := brief(got.Topics); s != "a:0:3 null:100:0" {
		t.Errorf("topics are %s", s)
	}
	if got.Topics[0].TopicID != b.id("a") || got.Topics[1].TopicID != [16]byte{9} {
		t.Error("ids are not echoed")
	}
}

func TestMetadataOfATopic(t *testing.T) {
	b := open(t, nil)
	topic := b.metadata(13, nil, "a").Topics[0]
	if topic.TopicID != b.id("a") || topic.IsInternal || len(topic.Partitions) != 3 {
		t.Errorf("topic is %+v", topic)
	}
	p := topic.Partitions[2]
	if p.ErrorCode != 0 || p.Partition != 2 || p.Leader != 1 || p.LeaderEpoch != 0 || !slices.Equal(p.Replicas, []int32{1}) ||
		!slices.Equal(p.ISR, []int32{1}) || len(p.OfflineReplicas) != 0 {
		t.Errorf("partition is %+v", p)
	}
	if !b.metadata(13, nil, "__consumer_offsets").Topics[0].IsInternal {
		t.Error("__consumer_offsets is not internal")
	}
}

func TestMetadataOfAPartitionWithoutLeader(t *testing.T) {
	b := open(t, nil)
	b.commit(&meta.PartitionChangeRecord{TopicID: b.id("a"), Partition: 1, Leader: -1, Replicas: []int32{1, 7}, LeaderRecoveryState: -1})
	p := b.metadata(13, nil, "a").Topics[0].Partitions[1]
	if p.ErrorCode != 5 || p.Leader != -1 || p.LeaderEpoch != 1 || !slices.Equal(p.OfflineReplicas, []int32{7}) {
		t.Errorf("partition is %+v", p)
	}
}

func TestMetadataOfTheCluster(t *testing.T) {
	b := open(t, map[string]string{"broker.rack": "r1"})
	for _, at := range []struct {
		host string
		port int32
	}{{"127.0.0.1", 9092}, {"public.example", 19092}, {"::1", 9093}} {
		req := kmsg.NewPtrMetadataRequest()
		req.Version = 13
		got := check(t, req, b.Metadata(onListener(at.host, at.port), req))
		if len(got.Brokers) != 1 || got.Brokers[0].Host != at.host || got.Brokers[0].Port != at.port || *got.Brokers[0].Rack != "r1" {
			t.Errorf("brokers are %+v, the listener is advertised as %s %d", got.Brokers, at.host, at.port)
		}
		if got.ControllerID != 1 || *got.ClusterID == "" || got.ErrorCode != 0 {
			t.Errorf("controller %d, cluster %s, error %d", got.ControllerID, *got.ClusterID, got.ErrorCode)
		}
	}
}

func TestAuthorizedOperationsOnlyWhenAsked(t *testing.T) {
	const notAsked = -2147483648
	b := open(t, nil)
	asked := func(req *kmsg.MetadataRequest) {
		req.IncludeTopicAuthorizedOperations, req.IncludeClusterAuthorizedOperations = true, true
	}
	for _, c := range []struct {
		name           string
		version        int16
		change         func(*kmsg.MetadataRequest)
		topic, cluster int32
	}{
		{"not asked", 8, nil, notAsked, notAsked},
		{"asked", 8, asked, 3576, 8096},
		{"asked, no cluster field any more", 13, asked, 3576, notAsked},
		{"all topics", 8, func(r *kmsg.MetadataRequest) { asked(r); allTopics(r) }, 3576, 8096},
		{"all topics, not asked", 8, allTopics, notAsked, notAsked},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := b.metadata(c.version, c.change, "a", "nope")
			for _, topic := range got.Topics {
				if topic.AuthorizedOperations != c.topic {
					t.Errorf("%s has operations %d, want %d", *topic.Topic, topic.AuthorizedOperations, c.topic)
				}
			}
			if got.AuthorizedOperations != c.cluster {
				t.Errorf("cluster has operations %d, want %d", got.AuthorizedOperations, c.cluster)
			}
		})
	}
}

func TestMissingTopicsAreCreatedOnlyIfBothWantIt(t *testing.T) {
	allow := func(req *kmsg.MetadataRequest) { req.AllowAutoTopicCreation = true }
	for _, c := range []struct {
		name    string
		broker  string
		version int16
		change  func(*kmsg.MetadataRequest)
		want    []string
	}{
		{"both", "true", 13, allow, []string{"new", "__transaction_state"}},
		{"broker does not", "false", 13, allow, nil},
		{"request does not", "true", 13, nil, nil},
		{"old request cannot say", "true", 3, nil, []string{"new", "__transaction_state"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, map[string]string{"auto.create.topics.enable": c.broker})
			got := b.metadata(c.version, c.change, "new", "a", "a/b", "..", "__cluster_metadata", "__transaction_state")
			if s := brief(got.Topics); s != "new:3:0 a:0:3 a/b:17:0 ..:17:0 __cluster_metadata:3:0 __transaction_state:3:0" {
				t.Errorf("topics are %s", s)
			}
			if !slices.Equal(b.created, c.want) {
				t.Errorf("created %v, want %v", b.created, c.want)
			}
		})
	}
}

func TestPollingAllTopicsSeesChanges(t *testing.T) {
	b := open(t, nil)
	first := b.metadata(13, allTopics)
	if again := b.metadata(13, allTopics); brief(again.Topics) != brief(first.Topics) {
		t.Error("the same state is answered differently")
	}
	b.commit(createTopic("c", 1)...)
	if got := brief(b.metadata(13, allTopics).Topics); got != "__consumer_offsets:0:2 a:0:3 b.b:0:1 c:0:1" {
		t.Errorf("topics are %s", got)
	}
	b.commit(&meta.RemoveTopicRecord{ID: b.id("a")})
	if got := brief(b.metadata(13, allTopics).Topics); got != "__consumer_offsets:0:2 b.b:0:1 c:0:1" {
		t.Errorf("topics are %s", got)
	}
}

func BenchmarkMetadataOfAllTopics(b *testing.B) {
	store, _ := metatest.Open(b, nil)
	err := store.Commit(func(*meta.Image) (changes []meta.Change, err error) {
		for i := range 10_000 {
			changes = append(changes, createTopic(fmt.Sprintf("topic-%05d", i), 1)...)
		}
		return changes, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	a := admin.New(store, nil, nil)
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 13
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = a.Metadata(local, req).AppendTo(buf[:0])
	}
	b.ReportMetric(float64(len(buf)), "response-bytes")
}
