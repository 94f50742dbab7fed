package inspect

import (
	"path/filepath"
	"strconv"
	"strings"
)

// kind is what a file is, by its name.
type kind int

const (
	unknownFile kind = iota
	logFile
	offsetIndexFile
	timeIndexFile
	txnIndexFile
	snapshotFile
	epochFile
	checkpointFile
	propertiesFile
	partitionMetadataFile
	cleanShutdownFile
	journalFile
	stoppedFile
	ignoredFile // .lock and leftovers that the next start removes
)

func kindOf(path string) kind {
	if filepath.Base(filepath.Dir(path)) == ".journal" {
		return journalFile
	}
	name := strings.TrimSuffix(filepath.Base(path), ".deleted")
	switch name {
	case "leader-epoch-checkpoint":
		return epochFile
	case "meta.properties":
		return propertiesFile
	case "partition.metadata":
		return partitionMetadataFile
	case ".kafka_cleanshutdown":
		return cleanShutdownFile
	case ".millrace_stopped":
		return stoppedFile
	case ".lock":
		return ignoredFile
	}
	switch filepath.Ext(name) {
	case ".log":
		return logFile
	case ".index":
		return offsetIndexFile
	case ".timeindex":
		return timeIndexFile
	case ".txnindex":
		return txnIndexFile
	case ".snapshot":
		return snapshotFile
	case ".tmp", ".cleaned", ".swap":
		return ignoredFile
	}
	if strings.HasSuffix(name, "-checkpoint") {
		return checkpointFile
	}
	return unknownFile
}

// baseOffset is the offset in the name of a segment's file; false if the name has none.
func baseOffset(path string) (int64, bool) {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	if len(name) != 20 {
		return 0, false
	}
	n, err := strconv.ParseInt(name, 10, 64)
	return n, err == nil && n >= 0
}

// partitionDir splits the name of a directory TOPIC-PARTITION.
func partitionDir(path string) (topic string, partition int32, ok bool) {
	name := filepath.Base(path)
	i := strings.LastIndexByte(name, '-')
	if i <= 0 {
		return "", 0, false
	}
	n, err := strconv.ParseInt(name[i+1:], 10, 32)
	return name[:i], int32(n), err == nil && n >= 0
}

// sibling is the file of the same segment with another suffix.
func sibling(path, suffix string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return filepath.Join(filepath.Dir(path), name+suffix)
}
