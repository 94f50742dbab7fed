package admin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/admin"
	"millrace/broker/meta"
)

func TestDescribeCluster(t *testing.T) {
	const notAsked = -2147483648
	for _, c := range []struct {
		name     string
		version  int16
		endpoint int8
		asked    bool
		code     int16
		message  string
		ops      int32
	}{
		{"version 0", 0, 1, false, 0, "", notAsked},
		{"brokers", 2, 1, false, 0, "", notAsked},
		{"operations", 1, 1, true, 0, "", 8096},
		{"controllers", 1, 2, false, 114, "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER", notAsked},
		{"unknown endpoint type", 2, 3, false, 115, "Unsupported endpoint type 3", notAsked},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, nil)
			req := kmsg.NewPtrDescribeClusterRequest()
			req.Version, req.EndpointType, req.IncludeClusterAuthorizedOperations = c.version, c.endpoint, c.asked
			got := check(t, req, b.DescribeCluster(onListener("h", 7), req))
			message := ""
			if got.ErrorMessage != nil {
				message = *got.ErrorMessage
			}
			if got.ErrorCode != c.code || message != c.message || got.ClusterAuthorizedOperations != c.ops {
				t.Errorf("error %d %q, operations %d", got.ErrorCode, message, got.ClusterAuthorizedOperations)
			}
			if c.code != 0 {
				return
			}
			if got.ControllerID != 1 || got.ClusterID == "" || len(got.Brokers) != 1 || got.Brokers[0].Host != "h" || got.Brokers[0].Port != 7 {
				t.Errorf("cluster is %+v", got)
			}
		})
	}
}

func TestDescribeLogDirs(t *testing.T) {
	b := open(t, nil)
	b.dirs = []admin.LogDir{
		{Path: "/d1", TotalBytes: 100, UsableBytes: 40, Partitions: []admin.PartitionSize{
			{Topic: "a", Partition: 2, Size: 20}, {Topic: "b.b", Size: 5}, {Topic: "a", Partition: 0, Size: 10, OffsetLag: 3},
		}},
		{Path: "/d2", Offline: true, TotalBytes: -1, UsableBytes: -1},
	}
	some := func(topic string, partitions ...int32) kmsg.DescribeLogDirsRequestTopic {
		t := kmsg.NewDescribeLogDirsRequestTopic()
		t.Topic, t.Partitions = topic, partitions
		return t
	}
	for _, c := range []struct {
		name   string
		topics []kmsg.DescribeLogDirsRequestTopic
		want   string
	}{
		{"all", nil, "a-0:10 a-2:20 b.b-0:5"},
		{"none", []kmsg.DescribeLogDirsRequestTopic{}, ""},
		{"some", []kmsg.DescribeLogDirsRequestTopic{some("a", 0, 77), some("nope", 0)}, "a-0:10"},
	} {
		for version := int16(1); version <= 5; version++ {
			t.Run(fmt.Sprint(c.name, " version ", version), func(t *testing.T) {
				req := kmsg.NewPtrDescribeLogDirsRequest()
				req.Version, req.Topics = version, c.topics
				got := check(t, req, b.DescribeLogDirs(local, req))
				if len(got.Dirs) != 2 || got.Dirs[0].Dir != "/d1" || got.Dirs[1].ErrorCode != 56 {
					t.Fatalf("dirs are %+v", got.Dirs)
				}
				var parts []string
				for _, topic := range got.Dirs[0].Topics {
					for _, p := range topic.Partitions {
						parts = append(parts, fmt.Sprintf("%s-%d:%d", topic.Topic, p.Partition, p.Size))
					}
				}
				if s := strings.Join(parts, " "); s != c.want {
					t.Errorf("partitions are %s, want %s", s, c.want)
				}
				if version >= 4 && (got.Dirs[0].TotalBytes != 100 || got.Dirs[0].UsableBytes != 40) {
					t.Errorf("volume is %d of %d", got.Dirs[0].UsableBytes, got.Dirs[0].TotalBytes)
				}
			})
		}
	}
}

func TestListConfigResources(t *testing.T) {
	b := open(t, nil)
	b.commit(override(meta.GroupResource, "g", "consumer.session.timeout.ms", "46000"),
		override(meta.ClientMetricsResource, "m", "interval.ms", "1000"))
	for _, c := range []struct {
		name    string
		version int16
		types   []int8
		code    int16
		want    string
	}{
		{"all", 1, nil, 0, "32:g 16:m 8:1 4:1 2:__consumer_offsets 2:a 2:b.b"},
		{"some", 1, []int8{2, 32}, 0, "32:g 2:__consumer_offsets 2:a 2:b.b"},
		{"unknown type", 1, []int8{2, 99}, 35, ""},
		{"version 0: client metrics", 0, nil, 0, "0:m"},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := kmsg.NewPtrListConfigResourcesRequest()
			req.Version, req.ResourceTypes = c.version, c.types
			got := check(t, req, b.ListConfigResources(local, req))
			var names []string
			for _, r := range got.ConfigResources {
				of := r.Type
				if c.version == 0 {
					of = 0 // not in this version
				}
				names = append(names, fmt.Sprintf("%d:%s", of, r.Name))
			}
			if s := strings.Join(names, " "); got.ErrorCode != c.code || s != c.want {
				t.Errorf("error %d, resources %s, want %s", got.ErrorCode, s, c.want)
			}
		})
	}
}
