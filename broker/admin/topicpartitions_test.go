package admin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

type cursor struct {
	topic     string
	partition int32
}

func (b *bench) topicPartitions(limit int32, from *cursor, topics ...string) *kmsg.DescribeTopicPartitionsResponse {
	b.t.Helper()
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = limit
	for _, name := range topics {
		t := kmsg.NewDescribeTopicPartitionsRequestTopic()
		t.Topic = name
		req.Topics = append(req.Topics, t)
	}
	if from != nil {
		c := kmsg.NewDescribeTopicPartitionsRequestCursor()
		c.Topic, c.Partition = from.topic, from.partition
		req.Cursor = &c
	}
	return check(b.t, req, b.DescribeTopicPartitions(local, req))
}

// pageOf is a page as name:error:first-last, and the cursor after it.
func pageOf(r *kmsg.DescribeTopicPartitionsResponse) string {
	var out []string
	for _, t := range r.Topics {
		s := fmt.Sprintf("%s:%d:", *t.Topic, t.ErrorCode)
		if n := len(t.Partitions); n > 0 {
			s += fmt.Sprintf("%d-%d", t.Partitions[0].Partition, t.Partitions[n-1].Partition)
		}
		out = append(out, s)
	}
	if r.NextCursor != nil {
		out = append(out, fmt.Sprintf("> %s %d", r.NextCursor.Topic, r.NextCursor.Partition))
	}
	return strings.Join(out, " ")
}

func TestDescribeTopicPartitionsPages(t *testing.T) {
	for _, c := range []struct {
		name   string
		limit  int32
		from   *cursor
		topics []string
		want   string
	}{
		{"all, by name", 2000, nil, nil, "__consumer_offsets:0:0-1 a:0:0-2 b.b:0:0-0"},
		{"named, by name, once", 2000, nil, []string{"b.b", "a", "a"}, "a:0:0-2 b.b:0:0-0"},
		{"page ends inside a topic", 1, nil, []string{"a", "b.b"}, "a:0:0-0 > a 1"},
		{"page ends with a topic", 3, nil, []string{"a", "b.b"}, "a:0:0-2 > b.b 0"},
		{"the next topic is unknown", 3, nil, []string{"a", "zzz"}, "a:0:0-2 > zzz 0"},
		{"limit 0 is 1", 0, nil, []string{"a"}, "a:0:0-0 > a 1"},
		{"page in the middle", 2, &cursor{"a", 1}, nil, "a:0:1-2 > b.b 0"},
		{"page from a cursor on", 10, &cursor{"a", 2}, []string{"b.b", "a", "zzz"}, "a:0:2-2 b.b:0:0-0 zzz:3:"},
		{"cursor past the partitions", 10, &cursor{"a", 99}, []string{"a", "b.b"}, "a:0: b.b:0:0-0"},
		{"cursor at a deleted topic", 10, &cursor{"Z", 3}, nil, "__consumer_offsets:0:0-1 a:0:0-2 b.b:0:0-0"},
		{"cursor outside the list", 10, &cursor{"Z", 0}, []string{"a"}, "a:42:"},
		{"negative cursor", 10, &cursor{"a", -1}, []string{"a"}, "a:42:"},
		{"unknown and illegal", 10, nil, []string{"nope", "a/b", "a"}, "a:0:0-2 a/b:17: nope:3:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, nil)
			if got := pageOf(b.topicPartitions(c.limit, c.from, c.topics...)); got != c.want {
				t.Errorf("page is %s, want %s", got, c.want)
			}
		})
	}
}

func TestDescribeTopicPartitionsIsBoundByTheBroker(t *testing.T) {
	b := open(t, map[string]string{"max.request.partition.size.limit": "2"})
	if got := pageOf(b.topicPartitions(2000, nil, "a")); got != "a:0:0-1 > a 2" {
		t.Errorf("page is %s", got)
	}
}

func TestDescribeTopicPartitionsFollowingCursorsShowsEverythingOnce(t *testing.T) {
	for limit := int32(1); limit < 8; limit++ {
		b := open(t, nil)
		var seen []string
		var from *cursor
		for range 10 {
			r := b.topicPartitions(limit, from)
			n := 0
			for _, topic := range r.Topics {
				for _, p := range topic.Partitions {
					seen = append(seen, fmt.Sprintf("%s-%d", *topic.Topic, p.Partition))
					n++
				}
			}
			if n > int(limit) {
				t.Errorf("limit %d: %d partitions", limit, n)
			}
			if r.NextCursor == nil {
				break
			}
			from = &cursor{r.NextCursor.Topic, r.NextCursor.Partition}
		}
		if got, want := strings.Join(seen, " "), "__consumer_offsets-0 __consumer_offsets-1 a-0 a-1 a-2 b.b-0"; got != want {
			t.Errorf("limit %d: saw %s", limit, got)
		}
	}
}

func TestDescribeTopicPartitionsOfATopic(t *testing.T) {
	b := open(t, nil)
	topic := b.topicPartitions(10, nil, "a").Topics[0]
	if topic.TopicID != b.id("a") || topic.IsInternal || topic.AuthorizedOperations != 3576 {
		t.Errorf("topic is %+v", topic)
	}
	if p := topic.Partitions[1]; p.LeaderID != 1 || p.EligibleLeaderReplicas == nil || p.LastKnownELR == nil || len(p.ISR) != 1 {
		t.Errorf("partition is %+v", p)
	}
}
