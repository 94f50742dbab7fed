package oracle

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// served is the version range of each API of the broker under test. Kafka 4.4
// serves the same ranges; the probes just outside them hold both to it. Keys that
// Kafka announces and Millrace does not are in the differences file, not here.
var served = []struct {
	key, min, max int16
}{
	{0, 3, 13}, {1, 4, 18}, {2, 1, 11}, {3, 0, 13}, {8, 2, 10}, {9, 1, 10}, {10, 0, 6}, {11, 0, 9}, {12, 0, 4},
	{13, 0, 5}, {14, 0, 5}, {15, 0, 6}, {16, 4, 5}, {19, 2, 7}, {20, 1, 6}, {21, 0, 2}, {22, 0, 5},
	{23, 2, 4}, {32, 1, 4}, {33, 0, 2}, {35, 1, 5}, {37, 0, 3}, {42, 0, 3}, {44, 0, 1}, {47, 0, 0}, {60, 0, 2},
	{61, 0, 0}, {74, 0, 1}, {75, 0, 0},
}

// listGroupsKey is asked from version 4 on here, the first with a filter: without
// one it lists the groups of all probes. The probe group-list asks the rest.
const listGroupsKey = 16

// versionRules cover what a simple request may bring back from any API.
var versionRules = []Rule{
	topicIDs, endpoint, clusterID, messages, memberIDs, leaderIDs, producerIDs, appendTimes, topicsByName, configsByName,
	Keyed("*.ApiKeys", "ApiKey"), Masked("*.Dir"), Masked("*.TotalBytes"), Masked("*.UsableBytes"),
}

func versionProbes() []Probe {
	var probes []Probe
	for _, s := range served {
		name := kmsg.NameForKey(s.key)
		for v := s.min; v <= s.max; v++ {
			if v != s.min && v != s.max && !middleVersions[s.key] {
				continue
			}
			probes = append(probes, Probe{Name: fmt.Sprintf("version-%s-v%d", name, v), Rules: versionRules, Play: func(r *Run) {
				r.askAny("answer", v, simple(r, s.key, v))
			}})
		}
		probes = append(probes, outside(name, s.key, s.max+1))
		if s.key != listGroupsKey {
			for v := range s.min {
				probes = append(probes, outside(name, s.key, v))
			}
		}
	}
	return probes
}

// middleVersions are the APIs asked at every version: the ones all clients use,
// where each version changed the answer.
var middleVersions = map[int16]bool{1: true, 2: true, 3: true, 8: true, 9: true, 10: true, 11: true, 13: true, 15: true}

// outside asks for a version that no broker serves: the connection is closed
// without an answer, and the broker lives.
func outside(name string, key, version int16) Probe {
	return Probe{Name: fmt.Sprintf("version-%s-outside-v%d", name, version), Play: func(r *Run) {
		req := kmsg.RequestForKey(key)
		req.SetVersion(version)
		frame, _ := r.Conn().encode(req)
		r.Conn().Write(frame)
		r.outcome("then", r.Conn(), 2*time.Second)
		resp := send[*kmsg.ApiVersionsResponse](r, r.Dial(), "alive", 0, apiVersions("", ""))
		r.Note("alive", errorName(resp.ErrorCode))
	}}
}

// simple is a small sensible request of key at version, about things that do not
// exist or take no effect.
func simple(r *Run, key, version int16) kmsg.Request {
	none := r.Name("none")
	switch req := kmsg.RequestForKey(key).(type) {
	case *kmsg.ProduceRequest:
		return produceTo(none, 0, plain(1))
	case *kmsg.FetchRequest:
		return fetchFrom(none, 0)
	case *kmsg.ListOffsetsRequest:
		return offsetsAt(none, 0, -1)
	case *kmsg.MetadataRequest:
		return metadataOf(none)
	case *kmsg.OffsetCommitRequest:
		return commit(none, none, 0, 1)
	case *kmsg.OffsetFetchRequest:
		return committed(version, none, none, 0)
	case *kmsg.FindCoordinatorRequest:
		return coordinatorOf(version, none)
	case *kmsg.JoinGroupRequest:
		return join(none, "")
	case *kmsg.HeartbeatRequest:
		req.Group, req.MemberID, req.Generation = none, "m", 1
		return req
	case *kmsg.LeaveGroupRequest:
		req.Group, req.MemberID = none, "m"
		req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: "m"}}
		return req
	case *kmsg.SyncGroupRequest:
		req.Group, req.MemberID, req.Generation = none, "m", 1
		return req
	case *kmsg.DescribeGroupsRequest:
		req.Groups = []string{none}
		return req
	case *kmsg.ListGroupsRequest:
		if version >= 4 {
			req.StatesFilter = []string{"Dead"}
		}
		return req
	case *kmsg.CreateTopicsRequest:
		req.Topics, req.ValidateOnly, req.TimeoutMillis = []kmsg.CreateTopicsRequestTopic{newTopic(none, 1)}, true, 5000
		return req
	case *kmsg.DeleteTopicsRequest:
		req.TimeoutMillis = 5000
		req.TopicNames = []string{none}
		req.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &none}}
		return req
	case *kmsg.DeleteRecordsRequest:
		return deleteRecords(none, 0, 1)
	case *kmsg.InitProducerIDRequest:
		req.ProducerID, req.ProducerEpoch = -1, -1
		return req
	case *kmsg.OffsetForLeaderEpochRequest:
		return epochEnd(none, 0, -1, 0)
	case *kmsg.DescribeConfigsRequest:
		req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: none}}
		return req
	case *kmsg.AlterConfigsRequest:
		req.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: none}}
		return req
	case *kmsg.DescribeLogDirsRequest:
		t := kmsg.NewDescribeLogDirsRequestTopic()
		t.Topic, t.Partitions = none, []int32{0}
		req.Topics = append(req.Topics, t)
		return req
	case *kmsg.CreatePartitionsRequest:
		req.Topics, req.TimeoutMillis = []kmsg.CreatePartitionsRequestTopic{{Topic: none, Count: 2}}, 5000
		return req
	case *kmsg.DeleteGroupsRequest:
		req.Groups = []string{none}
		return req
	case *kmsg.IncrementalAlterConfigsRequest:
		req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: none}}
		return req
	case *kmsg.OffsetDeleteRequest:
		req.Group = none
		req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: none, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}
		return req
	case *kmsg.DescribeClusterRequest:
		req.EndpointType = 1
		return req
	case *kmsg.DescribeProducersRequest:
		req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: none, Partitions: []int32{0}}}
		return req
	case *kmsg.ListConfigResourcesRequest:
		req.ResourceTypes = []int8{16}
		if version == 0 {
			req.ResourceTypes = nil
		}
		return req
	case *kmsg.DescribeTopicPartitionsRequest:
		req.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: none}}
		req.ResponsePartitionLimit = 10
		return req
	default:
		return req
	}
}
