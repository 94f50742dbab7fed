package broker

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"millrace/broker/meta"
	"millrace/segment"
)

const (
	// inodesEach is what a partition takes once it is written: a directory, a segment, its indexes, partition.metadata,
	// leader epochs and a producer snapshot, and one more for the next segment.
	inodesEach = 8
	// perLively is how many partitions there may be for each that can have its files open for appending: with more, a client
	// that writes to all of them would have the node open and close files all the time.
	perLively = 20
)

// room says how many partitions this machine has room for, those there are included, and which limit says so.
func (b *Broker) room(im *meta.Image) (partitions int, limit string) {
	lively := segment.LivelyLogs(1)
	partitions, limit = lively*perLively, fmt.Sprintf("the limit of open files lets %d be written at once; LimitNOFILE in the unit, or ulimit -n", lively)
	if lively == math.MaxInt32 {
		partitions = math.MaxInt
	}
	inodes, counted := uint64(0), false
	for _, d := range b.dirs {
		var st unix.Statfs_t
		if d.Err() != nil || unix.Statfs(d.Path(), &st) != nil {
			continue
		}
		if st.Files == 0 { // it makes them as it needs them
			return partitions, limit
		}
		inodes, counted = inodes+st.Ffree, true
	}
	if n := im.PartitionCount + int(min(inodes/inodesEach, math.MaxInt32)); counted && n < partitions {
		partitions, limit = n, fmt.Sprintf("the log dirs have %d inodes left, and a partition takes up to %d", inodes, inodesEach)
	}
	return partitions, limit
}

// partitionLimits is what is too low for the partitions there are, each with what changes it.
func (b *Broker) partitionLimits() (out []string) {
	im := b.meta.Image()
	if lively := segment.LivelyLogs(1); im.PartitionCount > lively {
		out = append(out, fmt.Sprintf("open files: %d of %d partitions can be written at once without opening and closing files; "+
			"LimitNOFILE=1048576 in the unit, or ulimit -n", lively, im.PartitionCount))
	}
	if most, why := b.room(im); im.PartitionCount > most-most/10 {
		out = append(out, fmt.Sprintf("%d partitions of at most %d: %s", im.PartitionCount, most, why))
	}
	return out
}
