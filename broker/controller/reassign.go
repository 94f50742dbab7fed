package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/meta"
	"millrace/net/server"
)

// AlterPartitionAssignments (key 45, versions 0-1) is AlterPartitionReassignments of Kafka. With one broker the only
// replicas a partition can be given are those it has, which is done at once; tools send that along when they move
// replicas between log dirs.
func (c *Controller) AlterPartitionAssignments(_ server.Client, req *kmsg.AlterPartitionAssignmentsRequest) *kmsg.AlterPartitionAssignmentsResponse {
	resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	im := c.store.Image()
	for _, t := range req.Topics {
		rt := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			rp.Partition = p.Partition
			rp.ErrorCode, rp.ErrorMessage = reassign(im, t.Topic, p.Partition, p.Replicas).result()
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// reassign says what is against giving a partition these replicas; nil replicas end a reassignment.
func reassign(im *meta.Image, topic string, partition int32, replicas []int32) *refusal {
	t := im.Topic(topic)
	if t == nil || partition < 0 || int(partition) >= len(t.Partitions) {
		return refuseStandard(kerr.UnknownTopicOrPartition)
	}
	if replicas == nil {
		return refuseStandard(kerr.NoReassignmentInProgress)
	}
	if r := checkAssignment(im, replicas, 0); r != nil {
		return r
	}
	if !slices.Equal(slices.Sorted(slices.Values(replicas)), slices.Sorted(slices.Values(t.Partitions[partition].Replicas))) {
		return refuse(kerr.InvalidReplicaAssignment, "Replicas cannot be moved between brokers by this version of Millrace.")
	}
	return nil
}

// ListPartitionReassignments (key 46, version 0): none is ever under way.
func (c *Controller) ListPartitionReassignments(_ server.Client, req *kmsg.ListPartitionReassignmentsRequest) *kmsg.ListPartitionReassignmentsResponse {
	return req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
}
