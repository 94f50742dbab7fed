package data

import (
	"testing"

	"millrace/replication"
)

// A request may name a partition a hundred thousand times. It is watched once, or
// whoever writes to it would pay for every mention.
func TestAPartitionIsWatchedOnce(t *testing.T) {
	for _, distinct := range []int{1, fewWatched, fewWatched + 1, 3 * fewWatched} {
		partitions := make([]replication.Partition, distinct)
		var entries []fetchEntry
		for range 5 {
			for i := range partitions {
				entries = append(entries, fetchEntry{partition: &partitions[i]}, fetchEntry{})
			}
		}
		w := &fetchWait{}
		w.watch(entries)
		for i := range partitions {
			if n := partitions[i].Watched(); n != 1 {
				t.Fatalf("%d partitions: number %d is watched %d times", distinct, i, n)
			}
		}
		if len(w.watched) != distinct {
			t.Errorf("%d watched of %d", len(w.watched), distinct)
		}
	}
}
