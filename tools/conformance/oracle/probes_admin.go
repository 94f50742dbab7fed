package oracle

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeLogDirs.

func adminProbes() []Probe {
	rules := []Rule{Keyed("*.Topics", "Topic"), Keyed("*.Partitions", "Partition"), Masked("*.Dir"), Drawn("*.TotalBytes"), Drawn("*.UsableBytes")}
	ask := func(r *Run, label string, version int16, topic string, partitions ...int32) {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		req.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: topic, Partitions: partitions}}
		r.askAny(label, version, req)
	}
	return []Probe{
		{Name: "logdirs-topic", Rules: rules, Play: func(r *Run) {
			topic, _ := r.topic("t", 2)
			r.put(topic, plain(2), plain(3))
			for v := int16(1); v <= 5; v++ {
				ask(r, fmt.Sprint("v", v), v, topic, 0, 1)
			}
			ask(r, "one partition", 4, topic, 1)
			ask(r, "unknown partition", 4, topic, 7)
			ask(r, "unknown topic", 4, r.Name("none"), 0)
			ask(r, "no partitions", 4, topic)
		}},
		{Name: "logdirs-all", Rules: rules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			req := kmsg.NewPtrDescribeLogDirsRequest()
			req.Topics = nil
			resp := send[*kmsg.DescribeLogDirsResponse](r, r.Conn(), "answer", 4, req)
			r.Note("error", errorName(resp.ErrorCode))
			for _, d := range resp.Dirs {
				for _, t := range d.Topics {
					if strings.HasPrefix(t.Topic, topic) {
						r.Note("has", t.Topic)
					}
				}
			}
			req.Topics = []kmsg.DescribeLogDirsRequestTopic{}
			r.askAny("empty list", 4, req)
		}},
	}
}
