package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// topicsPerRequest bounds create and delete requests, so that thousands of topics do
// not run into the broker's request timeout.
const topicsPerRequest = 256

// leaderTime is how long new partitions may take to get their leaders.
const leaderTime = 3 * time.Minute

// withAdmin runs f with an admin client of its own.
func (o *options) withAdmin(f func(*kadm.Client) error) error {
	cl, err := kgo.NewClient(o.clientOptions()...)
	if err != nil {
		return err
	}
	defer cl.Close()
	return f(kadm.NewClient(cl))
}

// createTopics creates the topics that are missing and returns when every partition
// has a leader that knows it, and its whole in-sync set.
func (o *options) createTopics(ctx context.Context) error {
	return o.withAdmin(func(adm *kadm.Client) error {
		for names := range slices.Chunk(o.topicNames(), topicsPerRequest) {
			res, err := adm.CreateTopics(ctx, int32(o.partitions), int16(o.replication), o.topicConfig, names...)
			if err != nil {
				return fmt.Errorf("create topics: %w", err)
			}
			for _, t := range res {
				if t.Err != nil && !errors.Is(t.Err, kerr.TopicAlreadyExists) {
					return fmt.Errorf("create topic %s: %w %s", t.Topic, t.Err, t.ErrMessage)
				}
			}
		}
		return poll(ctx, leaderTime, "a leader for every partition", func() bool { return o.allHaveLeaders(ctx, adm) && o.allLead(ctx, adm) })
	})
}

// allLead asks every leader for the end of its partitions: metadata may tell of one
// before it knows itself, and what is sent to it then is refused.
func (o *options) allLead(ctx context.Context, adm *kadm.Client) bool {
	ends, err := adm.ListEndOffsets(ctx, o.topicNames()...)
	return err == nil && ends.Error() == nil
}

func (o *options) allHaveLeaders(ctx context.Context, adm *kadm.Client) bool {
	md, err := adm.Metadata(ctx, o.topicNames()...)
	if err != nil {
		return false
	}
	ready := 0
	for _, t := range md.Topics {
		for _, p := range t.Partitions {
			if p.Err == nil && p.Leader >= 0 && len(p.ISR) == o.replication {
				ready++
			}
		}
	}
	return ready >= o.topics*o.partitions
}

// deleteTopics deletes the topics of this run; one that is not there is no error.
func (o *options) deleteTopics(ctx context.Context) error {
	return o.withAdmin(func(adm *kadm.Client) error {
		for names := range slices.Chunk(o.topicNames(), topicsPerRequest) {
			res, err := adm.DeleteTopics(ctx, names...)
			if err != nil {
				return fmt.Errorf("delete topics: %w", err)
			}
			for _, t := range res {
				if t.Err != nil && !errors.Is(t.Err, kerr.UnknownTopicOrPartition) {
					return fmt.Errorf("delete topic %s: %w", t.Topic, t.Err)
				}
			}
		}
		return nil
	})
}

// ping returns when the broker answers ApiVersions and Metadata.
func (o *options) ping(ctx context.Context) error {
	return o.withAdmin(func(adm *kadm.Client) error {
		return poll(ctx, o.maxTime, "an answer of the broker", func() bool {
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			_, err := adm.BrokerMetadata(ctx)
			return err == nil
		})
	})
}

// poll asks ready ten times a second until it agrees, for at most d.
func poll(ctx context.Context, d time.Duration, what string, ready func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}
