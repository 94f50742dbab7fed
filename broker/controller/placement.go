package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"millrace/broker/meta"
)

// place assigns replicas to n new partitions, the first of which has the number
// first: leaders go round the brokers, followers to the ones after.
func place(brokers []meta.Node, first, n, replicas int) ([][]int32, *refusal) {
	if replicas > len(brokers) {
		return nil, refuse(kerr.InvalidReplicationFactor,
			"Unable to replicate the partition %d time(s): The target replication factor of %d cannot be reached because only %d broker(s) are registered or some brokers have all their log directories cordoned.",
			replicas, replicas, len(brokers))
	}
	out := make([][]int32, n)
	for i := range out {
		set := make([]int32, replicas)
		for j := range set {
			set[j] = brokers[(first+i+j)%len(brokers)].ID
		}
		out[i] = set
	}
	return out, nil
}

// checkAssignment checks the replicas a client chose for one partition. want is how
// many there must be; 0: any number.
func checkAssignment(im *meta.Image, replicas []int32, want int) *refusal {
	if len(replicas) == 0 {
		return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	sorted := slices.Sorted(slices.Values(replicas))
	for i, id := range sorted {
		if !im.HasBroker(id) {
			return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", id)
		}
		if i > 0 && sorted[i-1] == id {
			return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", id)
		}
	}
	if want > 0 && len(replicas) != want {
		return refuse(kerr.InvalidReplicaAssignment,
			"The manual partition assignment includes a partition with %d replica(s), but this is not consistent with previous partitions, which have %d replica(s).",
			len(replicas), want)
	}
	return nil
}

// Placer chooses the log dirs of this broker's new replicas.
type Placer interface {
	// Plan begins the placement of all new partitions of one commit on the given image. The function gives the
	// directory.id for the next of them; false: there is no log dir that may take it.
	Plan(im *meta.Image) func(topic string, partition int32) (dir meta.ID, ok bool)
}

// dirPlan places the new partitions of one commit. The zero dirPlan leaves the log dirs open.
type dirPlan struct {
	node int32
	next func(topic string, partition int32) (meta.ID, bool)
}

func (c *Controller) planDirs(im *meta.Image) dirPlan {
	if c.placer == nil {
		return dirPlan{}
	}
	return dirPlan{im.NodeID, c.placer.Plan(im)}
}

// place chooses a log dir for each replica, by partition, from first on. Replicas of other brokers have the zero id:
// those brokers choose themselves.
func (d dirPlan) place(topic string, first int, assignments [][]int32) ([][]meta.ID, *refusal) {
	if d.next == nil {
		return nil, nil
	}
	dirs := make([][]meta.ID, len(assignments))
	for i, replicas := range assignments {
		dirs[i] = make([]meta.ID, len(replicas))
		for j, broker := range replicas {
			if broker != d.node {
				continue
			}
			dir, ok := d.next(topic, int32(first+i))
			if !ok {
				return nil, refuse(kerr.InvalidReplicationFactor,
					"Unable to replicate the partition %d time(s): The target replication factor of %d cannot be reached because only %d broker(s) are registered or some brokers have all their log directories cordoned.",
					len(replicas), len(replicas), len(replicas)-1)
			}
			dirs[i][j] = dir
		}
	}
	return dirs, nil
}

// partitionRecords creates partitions from first on with the given replicas, the
// first of each being the leader and all in sync. dirs nil: not chosen.
func partitionRecords(topic meta.ID, first int, assignments [][]int32, dirs [][]meta.ID) []meta.Change {
	out := make([]meta.Change, len(assignments))
	for i, replicas := range assignments {
		r := &meta.PartitionRecord{
			Partition: int32(first + i), TopicID: topic, Replicas: replicas, ISR: replicas, Leader: replicas[0],
		}
		if dirs != nil {
			r.Directories = dirs[i]
		}
		out[i] = r
	}
	return out
}
