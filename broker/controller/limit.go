package controller

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"millrace/broker/meta"
)

// partitionLimit is how many partitions there may be, and why no more.
type partitionLimit struct {
	partitions int
	why        string // "" for the cluster's own cap
}

// mostPartitions is the lower of the cluster's cap and what the machine has room for.
func (c *Controller) mostPartitions(im *meta.Image) partitionLimit {
	most := partitionLimit{partitions: c.maxPartitions}
	if c.room != nil {
		if n, why := c.room(im); n < most.partitions {
			most = partitionLimit{n, ": " + why}
		}
	}
	return most
}

// refuse is the refusal of what would make it so many partitions, nil if they may be.
func (l partitionLimit) refuse(total int) *refusal {
	if total <= l.partitions {
		return nil
	}
	return refuse(kerr.PolicyViolation, "The cluster would have %d partitions, which is more than its limit of %d%s.", total, l.partitions, l.why)
}
