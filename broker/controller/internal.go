package controller

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"

	"millrace/broker/config"
	"millrace/broker/meta"
)

// internalReplication names the config that has the replication factor of an internal
// topic.
var internalReplication = map[string]string{
	meta.ConsumerOffsets:  "offsets.topic.replication.factor",
	meta.TransactionState: "transaction.state.log.replication.factor",
	meta.ShareGroupState:  "share.coordinator.state.topic.replication.factor",
}

// EnsureInternal creates an internal topic if it is missing and gives its partition
// count, which is that of the existing topic if there is one. There are never more
// replicas than brokers. Blocking.
func (c *Controller) EnsureInternal(topic string, partitions int32, overrides map[string]string) (int32, error) {
	im := c.store.Image()
	if t := im.Topic(topic); t != nil {
		return int32(len(t.Partitions)), nil
	}
	n := &newTopic{
		name: topic, partitions: partitions, overrides: overrides,
		replication: internalReplicas(topic, im.Config, len(im.Brokers)),
	}
	c.createTopics([]*newTopic{n}, false)
	if n.refused == nil {
		return int32(len(n.replicas)), nil
	}
	if t := c.store.Image().Topic(topic); t != nil {
		return int32(len(t.Partitions)), nil // another coordinator was first
	}
	return 0, fmt.Errorf("create internal topic %s: %w: %s", topic, kerr.ErrorForCode(n.refused.code), *n.refused.message)
}

func internalReplicas(topic string, cfg *config.Broker, brokers int) int16 {
	return int16(min(number(cfg, internalReplication[topic], 1), int64(brokers)))
}

// number is the value of a numeric broker config, or otherwise if it has none.
func number(cfg *config.Broker, name string, otherwise int64) int64 {
	text, _, ok := cfg.Value(name)
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

// internalTopic is how an internal topic is created when a client is the first to ask
// for it.
func internalTopic(name string, im *meta.Image) *newTopic {
	t := &newTopic{name: name, replication: internalReplicas(name, im.Config, len(im.Brokers)), overrides: map[string]string{
		"cleanup.policy": "compact",
	}}
	switch name {
	case meta.ConsumerOffsets:
		t.partitions = im.Config.OffsetsTopicPartitions
		t.overrides["compression.type"] = "producer"
		t.overrides["segment.bytes"] = strconv.Itoa(int(im.Config.OffsetsTopicSegmentBytes))
	case meta.TransactionState:
		t.partitions = int32(number(im.Config, "transaction.state.log.num.partitions", 50))
		t.overrides["compression.type"] = "uncompressed"
	case meta.ShareGroupState:
		t.partitions = int32(number(im.Config, "share.coordinator.state.topic.num.partitions", 50))
		t.overrides["cleanup.policy"] = "delete"
		t.overrides["retention.ms"] = "-1"
	}
	return t
}
