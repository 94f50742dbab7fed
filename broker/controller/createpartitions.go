package controller

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/meta"
	"millrace/net/server"
)

// CreatePartitions (key 37, versions 0-3).
func (c *Controller) CreatePartitions(_ server.Client, req *kmsg.CreatePartitionsRequest) *kmsg.CreatePartitionsResponse {
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	seen := make(map[string]int)
	var names []string
	for _, t := range req.Topics {
		if seen[t.Topic]++; seen[t.Topic] == 1 {
			names = append(names, t.Topic)
		}
	}
	results := make(map[string]*refusal)
	failed := c.commit("create partitions", func(im *meta.Image) []meta.Change {
		var changes []meta.Change
		added, dirs, most := 0, c.planDirs(im), c.mostPartitions(im)
		for i := range req.Topics {
			t := &req.Topics[i]
			if _, done := results[t.Topic]; done {
				continue
			}
			if seen[t.Topic] > 1 {
				results[t.Topic] = refuse(kerr.InvalidRequest, "Duplicate topic name.")
				continue
			}
			more, r := addPartitions(im, t, added, dirs, most)
			results[t.Topic] = r
			added += len(more)
			changes = append(changes, more...)
		}
		if req.ValidateOnly {
			return nil
		}
		return changes
	})
	for _, name := range names {
		out := kmsg.NewCreatePartitionsResponseTopic()
		out.Topic = name
		r := results[name]
		if r == nil {
			r = failed
		}
		out.ErrorCode, out.ErrorMessage = r.result()
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// addPartitions gives the records of a topic's new partitions. added is how many the
// request has added to other topics.
func addPartitions(im *meta.Image, t *kmsg.CreatePartitionsRequestTopic, added int, dirs dirPlan, most partitionLimit) ([]meta.Change, *refusal) {
	topic := im.Topic(t.Topic)
	if topic == nil {
		return nil, refuseBare(kerr.UnknownTopicOrPartition)
	}
	have := len(topic.Partitions)
	more := int(t.Count) - have
	switch {
	case more == 0:
		return nil, refuse(kerr.InvalidPartitions, "Topic already has %d partition(s).", have)
	case more < 0:
		return nil, refuse(kerr.InvalidPartitions, "The topic %s currently has %d partition(s); %d would not be an increase.", t.Topic, have, t.Count)
	case added+more > maxPartitionsPerRequest:
		return nil, refuse(kerr.PolicyViolation, "Excessively large number of additional partitions per request.")
	}
	if r := most.refuse(im.PartitionCount + added + more); r != nil {
		return nil, r
	}
	replication := len(topic.Partitions[0].Replicas)
	assignments, r := newAssignments(im, t, have, more, replication)
	if r != nil {
		return nil, r
	}
	placed, r := dirs.place(t.Topic, have, assignments)
	if r != nil {
		return nil, r
	}
	return partitionRecords(topic.ID, have, assignments, placed), nil
}

// newAssignments is the replicas of a topic's new partitions, as the client says or as they come.
func newAssignments(im *meta.Image, t *kmsg.CreatePartitionsRequestTopic, have, more, replication int) ([][]int32, *refusal) {
	if t.Assignment == nil {
		return place(im.Brokers, have, more, replication)
	}
	if len(t.Assignment) != more {
		return nil, refuse(kerr.InvalidReplicaAssignment,
			"Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", more, len(t.Assignment))
	}
	var assignments [][]int32
	for _, a := range t.Assignment {
		if r := checkAssignment(im, a.Replicas, replication); r != nil {
			return nil, r
		}
		assignments = append(assignments, a.Replicas)
	}
	return assignments, nil
}
