package controller

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"millrace/broker/config"
	"millrace/broker/meta"
)

func TestReplicasCanBeReassignedToWhereTheyAre(t *testing.T) {
	im := meta.NewImage(&config.Broker{NodeID: 1}, "c", &meta.Topic{Name: "t", ID: meta.NewID(), Partitions: []meta.Partition{{Replicas: []int32{1}}}})
	for _, c := range []struct {
		topic     string
		partition int32
		replicas  []int32
		want      int16
	}{
		{"t", 0, []int32{1}, 0},
		{"t", 0, []int32{2}, kerr.InvalidReplicaAssignment.Code},
		{"t", 0, []int32{1, 1}, kerr.InvalidReplicaAssignment.Code},
		{"t", 0, []int32{}, kerr.InvalidReplicaAssignment.Code},
		{"t", 0, nil, kerr.NoReassignmentInProgress.Code},
		{"t", 1, []int32{1}, kerr.UnknownTopicOrPartition.Code},
		{"u", 0, []int32{1}, kerr.UnknownTopicOrPartition.Code},
	} {
		if code, _ := reassign(im, c.topic, c.partition, c.replicas).result(); code != c.want {
			t.Errorf("%s-%d to %v: error %d, want %d", c.topic, c.partition, c.replicas, code, c.want)
		}
	}
}
