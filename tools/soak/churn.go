package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/tools/rig"
)

const (
	churnPrefix     = "churn-"
	churnPartitions = 3
	churnRecords    = 60
	churnEvery      = time.Second
	// churnTimeout bounds each step, so that one into a dead broker ends soon.
	churnTimeout = 5 * time.Second
)

// churn creates topics, writes and reads them, and deletes them.
type churn struct {
	addr string

	mu      sync.Mutex
	next    int
	deleted map[string]bool // topics whose deletion was confirmed
	pending []string        // topics that may exist and are yet to be deleted
}

// run goes on until ctx ends. Steps that meet a dead broker are tried again later.
func (c *churn) run(ctx context.Context) {
	tick := time.NewTicker(churnEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		name := fmt.Sprintf("%s%d", churnPrefix, c.next)
		c.next++
		c.mu.Lock()
		c.pending = append(c.pending, name)
		c.mu.Unlock()
		step, cancel := context.WithTimeout(ctx, churnTimeout)
		// What fails here meets a broker that is down; the deletion tells in the end.
		if rig.CreateTopic(step, c.addr, name, churnPartitions, nil) == nil {
			_ = c.use(step, name)
		}
		cancel()
		_ = c.deletePending(ctx)
	}
}

// use writes some records and reads them.
func (c *churn) use(ctx context.Context, topic string) error {
	cl, err := kgo.NewClient(append(rig.ClientOptions(c.addr), kgo.DefaultProduceTopic(topic), kgo.ConsumeTopics(topic))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	records := make([]*kgo.Record, churnRecords)
	for i := range records {
		records[i] = &kgo.Record{Value: make([]byte, 100)}
	}
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err
	}
	for n := 0; n < churnRecords; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return err
		}
		n += fetches.NumRecords()
	}
	return nil
}

// deletePending deletes the topics that may exist.
func (c *churn) deletePending(ctx context.Context) error {
	c.mu.Lock()
	pending := append([]string(nil), c.pending...)
	c.mu.Unlock()
	var failed error
	var rest []string
	for _, topic := range pending {
		err := c.delete(ctx, topic)
		if err == nil {
			c.mu.Lock()
			c.deleted[topic] = true
			c.mu.Unlock()
			continue
		}
		rest = append(rest, topic)
		failed = errors.Join(failed, err)
	}
	c.mu.Lock()
	c.pending = append(rest, c.pending[len(pending):]...)
	c.mu.Unlock()
	return failed
}

func (c *churn) delete(ctx context.Context, topic string) error {
	ctx, cancel := context.WithTimeout(ctx, churnTimeout)
	defer cancel()
	return rig.WithAdmin(c.addr, func(adm *kadm.Client) error {
		res, err := adm.DeleteTopics(ctx, topic)
		if err = errors.Join(err, res.Error()); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("delete topic %s: %w", topic, err)
		}
		return nil // it was deleted by an attempt whose answer was lost, or never created
	})
}

// gone says which deleted topics are still there, or again, in the metadata or, for longer than their files are kept, as
// directories in data.
func (c *churn) gone(ctx context.Context, data string) error {
	if err := c.deletePending(ctx); err != nil {
		return err
	}
	return rig.WithAdmin(c.addr, func(adm *kadm.Client) error {
		topics, err := adm.ListTopics(ctx)
		if err != nil {
			return err
		}
		for _, name := range topics.Names() {
			if strings.HasPrefix(name, churnPrefix) {
				return fmt.Errorf("topic %s was deleted and is there", name)
			}
		}
		for {
			left, err := filepath.Glob(filepath.Join(data, churnPrefix+"*"))
			if err != nil || len(left) == 0 {
				return err
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%d directories of deleted topics are left: %s", len(left), strings.Join(left, ", "))
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
}

// count is the number of topics made and deleted.
func (c *churn) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.deleted)
}
