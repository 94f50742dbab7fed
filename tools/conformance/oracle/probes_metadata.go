package oracle

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Metadata, DescribeTopicPartitions and DescribeCluster: who is there and what exists.

var metadataRules = []Rule{endpoint, clusterID, topicIDs, topicsByName, messages, internalEpochs}

func metadataProbes() []Probe {
	ask13 := func(r *Run, label string, req *kmsg.MetadataRequest) *kmsg.MetadataResponse {
		return ask[*kmsg.MetadataResponse](r, label, 13, req)
	}
	// all is a whole-broker answer cut down to the topics of this probe, since
	// other probes create topics at the same time.
	all := func(r *Run, label string, version int16, topics []kmsg.MetadataRequestTopic) {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = topics
		resp := send[*kmsg.MetadataResponse](r, r.Conn(), label, version, req)
		for _, t := range resp.Topics {
			if strings.HasPrefix(*t.Topic, r.prefix) {
				r.Note(label+".mine", *t.Topic)
			}
		}
		r.Note(label+".some", len(resp.Topics) > 0)
	}
	return []Probe{
		{Name: "metadata-null-list", Rules: metadataRules, Play: func(r *Run) {
			r.topic("t", 2)
			all(r, "v0-empty", 0, []kmsg.MetadataRequestTopic{})
			all(r, "v1-null", 1, nil)
			all(r, "v13-null", 13, nil)
			ask13(r, "v13-empty", metadataOf())
			r.askAny("v1-empty", 1, metadataOf())
		}},
		{Name: "metadata-topic-3-partitions", Rules: metadataRules, Play: func(r *Run) {
			name, _ := r.topic("t", 3)
			for v := range int16(14) {
				r.askAny(fmt.Sprint("v", v), v, metadataOf(name))
			}
		}},
		{Name: "metadata-authorized-operations", Rules: metadataRules, Play: func(r *Run) {
			name, _ := r.topic("t", 1)
			req := metadataOf(name)
			req.IncludeTopicAuthorizedOperations, req.IncludeClusterAuthorizedOperations = true, true
			r.askAny("v8", 8, req)
			r.askAny("v10", 10, req)
			r.askAny("v13", 13, req)
		}},
		{Name: "metadata-by-id", Rules: metadataRules, Play: func(r *Run) {
			_, id := r.topic("t", 1)
			req := kmsg.NewPtrMetadataRequest()
			req.Topics = []kmsg.MetadataRequestTopic{{TopicID: id}, {TopicID: [16]byte{9, 9}}}
			r.askAny("v12", 12, req)
			ask13(r, "v13", req)
			req.Topics = []kmsg.MetadataRequestTopic{{}}
			ask13(r, "zero id", req)
		}},
		{Name: "metadata-by-id-before-v12", Rules: metadataRules, Play: func(r *Run) {
			_, id := r.topic("t", 1)
			req := kmsg.NewPtrMetadataRequest()
			req.Topics = []kmsg.MetadataRequestTopic{{TopicID: id, Topic: nil}}
			req.SetVersion(11)
			frame, _ := r.Conn().encode(req)
			r.Conn().Write(frame)
			r.outcome("v11", r.Conn(), 2*time.Second)
		}},
		{Name: "metadata-id-and-name", Rules: metadataRules, Play: func(r *Run) {
			name, id := r.topic("t", 1)
			req := kmsg.NewPtrMetadataRequest()
			req.Topics = []kmsg.MetadataRequestTopic{{TopicID: id, Topic: &name}}
			ask13(r, "both", req)
		}},
		{Name: "metadata-same-topic-twice", Rules: metadataRules, Play: func(r *Run) {
			name, _ := r.topic("t", 1)
			ask13(r, "twice", metadataOf(name, name))
		}},
		{Name: "metadata-auto-create", Rules: metadataRules, Play: func(r *Run) {
			name := r.Name("auto")
			req := metadataOf(name)
			ask13(r, "not allowed", req)
			req.AllowAutoTopicCreation = true
			ask13(r, "first", req)
			r.until("created", func() bool {
				return send[*kmsg.MetadataResponse](r, r.Conn(), "created", 13, metadataOf(name)).Topics[0].ErrorCode == 0
			})
			ask13(r, "then", metadataOf(name))
		}},
		{Name: "metadata-auto-create-v0", Rules: metadataRules, Play: func(r *Run) {
			name := r.Name("auto")
			r.askAny("first", 0, metadataOf(name))
			r.until("created", func() bool {
				return send[*kmsg.MetadataResponse](r, r.Conn(), "created", 13, metadataOf(name)).Topics[0].ErrorCode == 0
			})
			r.askAny("then", 0, metadataOf(name))
		}},
		{Name: "metadata-bad-names", Rules: metadataRules, Play: func(r *Run) {
			for i, name := range []string{"", ".", "..", "a/b", "a b", "ä", strings.Repeat("a", 249), strings.Repeat("a", 250), "a\x00b", "__consumer_offsets-"} {
				for _, create := range []bool{false, true} {
					if create && (i == 6 || i == 9) {
						continue // a legal name would be created
					}
					req := metadataOf(name)
					req.AllowAutoTopicCreation = create
					ask13(r, fmt.Sprintf("%d create=%v", i, create), req)
				}
			}
		}},
		{Name: "metadata-collision-auto-create", Rules: metadataRules, Play: func(r *Run) {
			r.topic("a_b", 1)
			req := metadataOf(r.Name("a.b"))
			req.AllowAutoTopicCreation = true
			ask13(r, "answer", req)
		}},
		{Name: "metadata-internal-topic", Rules: metadataRules, Play: func(r *Run) {
			r.findCoordinator(r.Name("g"))
			ask13(r, "answer", metadataOf("__consumer_offsets"))
		}},
		{Name: "metadata-deleted-topic", Rules: metadataRules, Play: func(r *Run) {
			name, id := r.topic("t", 1)
			r.drop(name)
			ask13(r, "by name", metadataOf(name))
			req := kmsg.NewPtrMetadataRequest()
			req.Topics = []kmsg.MetadataRequestTopic{{TopicID: id}}
			ask13(r, "by id", req)
		}},
		{Name: "describe-topic-partitions", Rules: metadataRules, Play: func(r *Run) {
			a, _ := r.topic("a", 3)
			b, _ := r.topic("b", 2)
			describe := func(label string, limit int32, cursor *kmsg.DescribeTopicPartitionsRequestCursor, names ...string) {
				req := kmsg.NewPtrDescribeTopicPartitionsRequest()
				req.ResponsePartitionLimit, req.Cursor = limit, cursor
				for _, n := range names {
					req.Topics = append(req.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: n})
				}
				r.askAny(label, 0, req)
			}
			describe("both", 100, nil, b, a)
			describe("limit 2", 2, nil, a, b)
			describe("limit 3", 3, nil, a, b)
			describe("limit 4", 4, nil, a, b)
			describe("cursor", 100, &kmsg.DescribeTopicPartitionsRequestCursor{Topic: a, Partition: 2}, a, b)
			describe("cursor on b", 100, &kmsg.DescribeTopicPartitionsRequestCursor{Topic: b, Partition: 1}, a, b)
			describe("cursor past", 100, &kmsg.DescribeTopicPartitionsRequestCursor{Topic: a, Partition: 9}, a, b)
			describe("limit 0", 0, nil, a, b)
			describe("unknown", 100, nil, r.Name("none"), a)
			describe("bad name", 100, nil, "a/b")
			describe("twice", 100, nil, a, a)
		}},
		{Name: "describe-cluster", Rules: metadataRules, Play: func(r *Run) {
			for v := range int16(3) {
				for _, ops := range []bool{false, true} {
					req := kmsg.NewPtrDescribeClusterRequest()
					req.EndpointType, req.IncludeClusterAuthorizedOperations = 1, ops
					r.askAny(fmt.Sprintf("v%d ops=%v", v, ops), v, req)
				}
			}
			req := kmsg.NewPtrDescribeClusterRequest()
			req.EndpointType, req.IncludeFencedBrokers = 1, true
			r.askAny("fenced", 2, req)
			req.EndpointType = 2
			r.askAny("controllers", 2, req)
			req.EndpointType = 9
			r.askAny("endpoint 9", 2, req)
		}},
	}
}
