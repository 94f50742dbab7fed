package admin

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/net/server"
)

// LogDirs gives the state of every log dir of this node. It may stat the disk.
type LogDirs interface{ LogDirs() []LogDir }

// LogDir is one log dir.
type LogDir struct {
	Path        string
	Offline     bool
	Cordoned    bool  // gets no new partitions
	TotalBytes  int64 // of the volume; -1: unknown
	UsableBytes int64 // free on the volume; -1: unknown
	Partitions  []PartitionSize
}

// PartitionSize is one partition's log in a log dir.
type PartitionSize struct {
	Topic     string
	Partition int32
	Size      int64 // bytes in segments
	OffsetLag int64 // how far the log end is behind the high watermark; of a future replica, behind the log end of the current one
	Future    bool  // being moved here
}

// DescribeLogDirs (key 35, versions 1-5).
func (a *Admin) DescribeLogDirs(_ server.Client, req *kmsg.DescribeLogDirsRequest) *kmsg.DescribeLogDirsResponse {
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	wanted := wantedPartitions(req)
	for _, d := range a.dirs.LogDirs() {
		out := kmsg.NewDescribeLogDirsResponseDir()
		out.Dir, out.TotalBytes, out.UsableBytes = d.Path, d.TotalBytes, d.UsableBytes
		out.IsCordoned = d.Cordoned
		if d.Offline {
			out.ErrorCode = kerr.KafkaStorageError.Code
		} else {
			out.Topics = dirTopics(d.Partitions, wanted)
		}
		resp.Dirs = append(resp.Dirs, out)
	}
	return resp
}

// wantedPartitions tells which partitions are asked for.
func wantedPartitions(req *kmsg.DescribeLogDirsRequest) func(PartitionSize) bool {
	if req.Topics == nil {
		return func(PartitionSize) bool { return true }
	}
	type key struct {
		topic     string
		partition int32
	}
	set := make(map[key]bool)
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			set[key{t.Topic, p}] = true
		}
	}
	return func(p PartitionSize) bool { return set[key{p.Topic, p.Partition}] }
}

// dirTopics is the wanted partitions by topic, in order.
func dirTopics(partitions []PartitionSize, wanted func(PartitionSize) bool) []kmsg.DescribeLogDirsResponseDirTopic {
	sorted := slices.SortedFunc(slices.Values(partitions), func(a, b PartitionSize) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	var out []kmsg.DescribeLogDirsResponseDirTopic
	for _, p := range sorted {
		if !wanted(p) {
			continue
		}
		if len(out) == 0 || out[len(out)-1].Topic != p.Topic {
			t := kmsg.NewDescribeLogDirsResponseDirTopic()
			t.Topic = p.Topic
			out = append(out, t)
		}
		part := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		part.Partition, part.Size, part.OffsetLag, part.IsFuture = p.Partition, p.Size, p.OffsetLag, p.Future
		t := &out[len(out)-1]
		t.Partitions = append(t.Partitions, part)
	}
	return out
}
