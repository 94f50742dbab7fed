package rig

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/tools/rig/history"
)

// commitTimeout bounds one commit, so that one into a dead broker ends as unknown soon.
const commitTimeout = 5 * time.Second

// Consumer is the one member of a group on one topic. It commits after each poll.
type Consumer struct {
	topic, group string
	cl           *kgo.Client
	commits      *history.Commits
	found        *Findings
	records      atomic.Int64
}

// NewConsumer makes the member; what it sees that must not be goes to found.
func NewConsumer(addr, topic, group string, found *Findings) (*Consumer, error) {
	cl, err := kgo.NewClient(append(ClientOptions(addr),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.FetchMaxWait(100*time.Millisecond),
	)...)
	if err != nil {
		return nil, err
	}
	return &Consumer{topic: topic, group: group, cl: cl, commits: history.NewCommits(), found: found}, nil
}

// Run reads and commits until ctx ends.
func (c *Consumer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		fetches := c.cl.PollRecords(ctx, 5000)
		ends := map[int32]kgo.EpochOffset{}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if len(p.Records) == 0 {
				return
			}
			first, last := p.Records[0], p.Records[len(p.Records)-1]
			if at := c.commits.Acknowledged(p.Partition); first.Offset < at {
				c.found.Add(history.Violation{Kind: history.WentBack, Partition: p.Partition,
					Text: fmt.Sprintf("the group was given offset %d again after %d had been confirmed", first.Offset, at)})
			}
			ends[p.Partition] = kgo.EpochOffset{Epoch: last.LeaderEpoch, Offset: last.Offset + 1}
			c.records.Add(int64(len(p.Records)))
		})
		if len(ends) > 0 {
			c.commit(ctx, ends)
		}
	}
}

// Records is the number of records read.
func (c *Consumer) Records() int64 { return c.records.Load() }

// Close leaves the group.
func (c *Consumer) Close() { c.cl.CloseAllowingRebalance() }

// commit asks for one commit and notes what was confirmed of it.
func (c *Consumer) commit(ctx context.Context, ends map[int32]kgo.EpochOffset) {
	for partition, end := range ends {
		c.commits.Ask(partition, end.Offset)
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	c.cl.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{c.topic: ends},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			if err != nil || resp == nil {
				return
			}
			for _, t := range resp.Topics {
				for _, p := range t.Partitions {
					if p.ErrorCode == 0 {
						c.commits.Acknowledge(p.Partition, ends[p.Partition].Offset)
					}
				}
			}
		})
}

// Observe asks the broker for the group's committed offsets and judges them.
func (c *Consumer) Observe(ctx context.Context, adm *kadm.Client, partitions int) (map[int32]int64, error) {
	confirmed := make([]int64, partitions)
	for p := range confirmed {
		confirmed[p] = c.commits.Acknowledged(int32(p))
	}
	offsets, err := fetchOffsets(ctx, adm, c.group)
	if err != nil {
		return nil, fmt.Errorf("fetch committed offsets: %w", err)
	}
	out := map[int32]int64{}
	for p, at := range confirmed {
		got := int64(-1)
		if o, ok := offsets.Lookup(c.topic, int32(p)); ok {
			if o.Err != nil {
				return nil, fmt.Errorf("fetch committed offset of partition %d: %w", p, o.Err)
			}
			got = o.At
		}
		out[int32(p)] = got
		c.found.Add(c.commits.Observe(int32(p), at, got)...)
	}
	return out, nil
}

// fetchOffsets asks until there is an answer: after a restart the coordinator has to read what was committed, which takes
// the longer the more that is.
func fetchOffsets(ctx context.Context, adm *kadm.Client, group string) (kadm.OffsetResponses, error) {
	for {
		offsets, err := adm.FetchOffsets(ctx, group)
		if err == nil || !kerr.IsRetriable(err) {
			return offsets, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// CatchUp waits until the group has committed the end of every partition: after the last
// crash it must be able to go on.
func (c *Consumer) CatchUp(ctx context.Context, adm *kadm.Client, ends map[int32]int64) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		at, err := c.Observe(ctx, adm, len(ends))
		if err != nil && !kerr.IsRetriable(err) {
			return err
		}
		behind := 0
		for p, end := range ends {
			if end > 0 && at[p] < end {
				behind++
			}
		}
		if err == nil && behind == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the group does not reach the end of the log: committed %v of %v", at, ends)
		case <-tick.C:
		}
	}
}
