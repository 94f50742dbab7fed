package oracle

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Steps that bring a broker to where a probe begins. Nothing of them is written
// down unless they fail; the same requests have probes of their own.

// settle is how long a set-up step may take to come true, and poll how often it
// is asked: brokers do not announce that a new topic has a leader.
const (
	settle = 15 * time.Second
	poll   = 5 * time.Millisecond
)

// until asks again until done says so.
func (r *Run) until(label string, done func() bool) {
	for end := time.Now().Add(settle); !done(); time.Sleep(poll) {
		if time.Now().After(end) {
			r.fail(label, fmt.Errorf("not within %v", settle))
		}
	}
}

func ptr[T any](v T) *T { return &v }

// newTopic is a CreateTopics entry with RF 1; configs are names and values.
func newTopic(name string, partitions int32, configs ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, 1
	for i := 0; i+1 < len(configs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = configs[i], ptr(configs[i+1])
		t.Configs = append(t.Configs, c)
	}
	return t
}

func createTopics(topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 15000
	req.Topics = topics
	return req
}

// topic creates a topic of this probe and waits until each partition has a
// leader that answers. It gives the topic's name and id.
func (r *Run) topic(suffix string, partitions int32, configs ...string) (string, [16]byte) {
	name := r.Name(suffix)
	resp := send[*kmsg.CreateTopicsResponse](r, r.Conn(), "setup.create", 7, createTopics(newTopic(name, partitions, configs...)))
	if len(resp.Topics) != 1 || resp.Topics[0].ErrorCode != 0 {
		r.fail("setup.create", fmt.Errorf("create %s: %+v", name, resp.Topics))
	}
	r.until("setup.leader", func() bool { return r.leads(name, partitions) })
	return name, resp.Topics[0].TopicID
}

func (r *Run) leads(name string, partitions int32) bool {
	req := kmsg.NewPtrListOffsetsRequest()
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = name
	for p := range partitions {
		lp := kmsg.NewListOffsetsRequestTopicPartition()
		lp.Partition, lp.Timestamp = p, -1
		t.Partitions = append(t.Partitions, lp)
	}
	req.Topics = append(req.Topics, t)
	resp := send[*kmsg.ListOffsetsResponse](r, r.Conn(), "setup.leader", 4, req)
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return false
			}
		}
	}
	return true
}

// produceTo is a Produce request of one partition entry, acks -1.
func produceTo(topic string, partition int32, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 5000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// put appends record sets to partition 0 of topic and insists that they land.
func (r *Run) put(topic string, sets ...[]byte) {
	for _, set := range sets {
		resp := send[*kmsg.ProduceResponse](r, r.Conn(), "setup.produce", 9, produceTo(topic, 0, set))
		if code := resp.Topics[0].Partitions[0].ErrorCode; code != 0 {
			r.fail("setup.produce", fmt.Errorf("error %s", errorName(code)))
		}
	}
}

// drop deletes a topic and waits until it is gone from metadata.
func (r *Run) drop(name string) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames, req.TimeoutMillis = []string{name}, 5000
	send[*kmsg.DeleteTopicsResponse](r, r.Conn(), "setup.delete", 4, req)
	r.until("setup.deleted", func() bool {
		return send[*kmsg.MetadataResponse](r, r.Conn(), "setup.deleted", 12, metadataOf(name)).Topics[0].ErrorCode == 3
	})
}

// findCoordinator waits until the coordinator of group serves it: a fresh broker
// first creates and loads the topic of offsets.
func (r *Run) findCoordinator(group string) {
	r.until("setup.coordinator", func() bool {
		return send[*kmsg.FindCoordinatorResponse](r, r.Conn(), "setup.coordinator", 4, coordinatorOf(4, group)).Coordinators[0].ErrorCode == 0
	})
	r.until("setup.group", func() bool {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{group}
		return send[*kmsg.DescribeGroupsResponse](r, r.Conn(), "setup.group", 5, req).Groups[0].ErrorCode == 0
	})
}
