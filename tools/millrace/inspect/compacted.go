package inspect

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// gaps are where a partition may lack offsets, because it was compacted.
type gaps struct {
	inside bool // between the batches of a segment
	// below is the offset below which segments need not follow each other either: Kafka leaves such gaps, Millrace does
	// not, and has an entry in delete-horizon-checkpoint for what it has compacted.
	below int64
}

// gapsOf reads that from the checkpoints of the log dir that a partition's directory is in. Without them, or if they
// cannot be read, which is reported where they are verified themselves, there are no gaps.
func gapsOf(partition string) gaps {
	abs, err := filepath.Abs(partition)
	if err != nil {
		return gaps{}
	}
	dir, name := filepath.Split(abs)
	clean, compacted := checkpointed(filepath.Join(dir, "cleaner-offset-checkpoint"), name)
	if _, ours := checkpointed(filepath.Join(dir, "delete-horizon-checkpoint"), name); ours {
		clean = 0
	}
	return gaps{compacted, clean}
}

// checkpointed is the offset that a checkpoint has for a partition.
func checkpointed(path, partition string) (offset int64, ok bool) {
	lines, err := readCheckpoint(path, 3)
	if err != nil {
		return 0, false
	}
	for _, l := range lines {
		if fmt.Sprintf("%s-%s", l[0], l[1]) == partition {
			offset, err := strconv.ParseInt(l[2], 10, 64)
			return offset, err == nil
		}
	}
	return 0, false
}
