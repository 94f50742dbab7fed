package controller

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"millrace/broker/meta"
)

// AutoCreate starts the creation of topics that a client asked for and that do not
// exist. It does not wait: the client finds them when it asks again. Names that are
// waiting already are not added twice, and past a bound the rest is dropped, to be
// asked for again. Any goroutine.
func (c *Controller) AutoCreate(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	for _, name := range names {
		if len(c.pending) >= maxPendingAutoCreate {
			break
		}
		c.pending[name] = struct{}{}
	}
	if !c.working && len(c.pending) > 0 {
		c.working = true
		go c.autoCreate()
	}
}

// autoCreate is the worker: it creates what has gathered, in one commit, until
// nothing is left.
func (c *Controller) autoCreate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.pending) > 0 {
		names := slices.Sorted(maps.Keys(c.pending))
		c.mu.Unlock()
		c.createMissing(names)
		c.mu.Lock()
		for _, name := range names {
			delete(c.pending, name)
		}
	}
	c.working = false
	c.idle.Broadcast()
}

func (c *Controller) createMissing(names []string) {
	im := c.store.Image()
	var topics []*newTopic
	partitions := 0
	for _, name := range names {
		t := &newTopic{name: name, partitions: im.Config.NumPartitions, replication: -1}
		if meta.IsInternal(name) {
			t = internalTopic(name, im)
		}
		if partitions += int(t.partitions); partitions > maxPartitionsPerRequest && len(topics) > 0 {
			break // the rest is asked for again
		}
		topics = append(topics, t)
	}
	c.createTopics(topics, false)
	for _, t := range topics {
		if t.refused != nil && t.refused.code != kerr.TopicAlreadyExists.Code {
			c.log.Warn("topic was not created on demand", "topic", t.name, "reason", *t.refused.message)
		}
	}
}
