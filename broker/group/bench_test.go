package group

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// 10,000 groups with a member each: heartbeats and timers stay cheap.
func BenchmarkHeartbeat(b *testing.B) {
	w := newBench(b, func(c *Config) { c.OffsetsTopicPartitions = 50; c.InitialRebalanceDelayMs = 0 })
	type who struct {
		group, id  string
		generation int32
	}
	var all []who
	for i := range 10_000 {
		g := fmt.Sprint("g", i)
		r := w.join(staticJoin(g, "i"))
		all = append(all, who{g, r.MemberID, r.Generation})
	}
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version = 4
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		x := all[i%len(all)]
		req.Group, req.MemberID, req.Generation = x.group, x.id, x.generation
		if w.s.heartbeat(req) != nil {
			b.Fatal("heartbeat refused")
		}
	}
}

func BenchmarkOffsetCommit(b *testing.B) {
	w := newBench(b, func(c *Config) { c.OffsetsTopicPartitions = 1 })
	req := commitRequest("g", "", -1, "t1", 0, 1)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		w.s.OffsetCommit(w.client(), req, func(*kmsg.OffsetCommitResponse) { n++ })
		if w.disk.complete(); len(w.disk.partitions[0].batches) > 1000 {
			w.disk.partitions[0].batches = nil
		}
	}
}
