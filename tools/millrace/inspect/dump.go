package inspect

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Dump prints a file, or each file under a directory; with records also the records of each batch. It goes on after
// a file that cannot be read, and returns the first such error.
func Dump(w io.Writer, path string, records bool) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return dumpFile(w, path, records)
	}
	var first error
	walk := filepath.WalkDir(path, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() || kindOf(path) == unknownFile || kindOf(path) == ignoredFile {
			return nil
		}
		if err := dumpFile(w, path, records); err != nil {
			fmt.Fprintln(w, err)
			if first == nil {
				first = err
			}
		}
		return nil
	})
	if first == nil {
		first = walk
	}
	return first
}

func dumpFile(w io.Writer, path string, records bool) error {
	fmt.Fprintf(w, "Dumping %s\n", path)
	switch kindOf(path) {
	case logFile:
		return dumpLog(w, path, records)
	case offsetIndexFile:
		return dumpOffsetIndex(w, path)
	case timeIndexFile:
		return dumpTimeIndex(w, path)
	case txnIndexFile:
		return dumpTxnIndex(w, path)
	case snapshotFile:
		return dumpSnapshot(w, path)
	case epochFile:
		return dumpEpochs(w, path)
	case checkpointFile:
		return dumpCheckpoint(w, path)
	case propertiesFile:
		return dumpProperties(w, path)
	case partitionMetadataFile:
		return dumpPartitionMetadata(w, path)
	case journalFile:
		return dumpJournal(w, path)
	case stoppedFile:
		return dumpStopped(w, path)
	case cleanShutdownFile:
		return dumpText(w, path)
	}
	return fmt.Errorf("%s: not the name of a file of a log dir", path)
}
