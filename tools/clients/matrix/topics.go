package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// topic is a written topic and what it holds.
type topic struct {
	name   string
	writer string
	codec  string
	// partitions hold the records in order.
	partitions [topicPartitions][]record
	// ownTimestamps: the writer chose the timestamps.
	ownTimestamps bool
}

func (t *topic) ends() []int64 {
	var ends []int64
	for _, p := range t.partitions {
		ends = append(ends, int64(len(p)))
	}
	return ends
}

func (t *topic) count() (n int) {
	for _, p := range t.partitions {
		n += len(p)
	}
	return n
}

// connect makes a client of our own, for what is not under test.
func (m *matrix) connect(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(opts, kgo.SeedBrokers(m.brokers))...)
}

// createTopics creates topics with room for the largest records in one batch.
func (m *matrix) createTopics(ctx context.Context, partitions int32, names ...string) error {
	cl, err := m.connect()
	if err != nil {
		return err
	}
	defer cl.Close()
	maxBytes := "4194304"
	created, err := kadm.NewClient(cl).CreateTopics(ctx, partitions, 1, map[string]*string{"max.message.bytes": &maxBytes}, names...)
	if err == nil {
		err = created.Error()
	}
	if err != nil {
		return fmt.Errorf("create topics %s: %w", strings.Join(names, ", "), err)
	}
	return nil
}

// committed returns the committed offsets of a group in a topic.
func (m *matrix) committed(ctx context.Context, group, topic string) (map[int32]int64, error) {
	cl, err := m.connect()
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	responses, err := kadm.NewClient(cl).FetchOffsets(ctx, group)
	if err != nil {
		return nil, fmt.Errorf("fetch offsets of group %s: %w", group, err)
	}
	offsets := map[int32]int64{}
	responses.Each(func(o kadm.OffsetResponse) {
		if o.Topic == topic {
			offsets[o.Partition] = o.At
		}
	})
	return offsets, nil
}

// endOffsets returns the end offsets of the written topics.
func (m *matrix) endOffsets(ctx context.Context, names ...string) (kadm.ListedOffsets, error) {
	cl, err := m.connect()
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return kadm.NewClient(cl).ListEndOffsets(ctx, names...)
}

// awaitMembers waits until a group is stable with so many members.
func (m *matrix) awaitMembers(ctx context.Context, group string, members int) error {
	cl, err := m.connect()
	if err != nil {
		return err
	}
	defer cl.Close()
	for {
		described, err := kadm.NewClient(cl).DescribeGroups(ctx, group)
		if err != nil {
			return fmt.Errorf("describe group %s: %w", group, err)
		}
		if g := described[group]; g.State == "Stable" && len(g.Members) == members {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("group %s is %s with %d members: %w", group, described[group].State, len(described[group].Members), ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
