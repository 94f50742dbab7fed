package inspect

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Verify checks a file, a partition's directory or a whole log dir. Damage goes to the report; the error is for what
// could not be looked at.
func Verify(path string, r *Report) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return verifyFile(path, r)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	isPartition := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return kindOf(e.Name()) == logFile })
	if isPartition {
		return verifyPartition(path, entries, r)
	}
	return verifyLogDir(path, entries, r)
}

// verifyLogDir checks the files of a log dir and each partition in it.
func verifyLogDir(path string, entries []os.DirEntry, r *Report) error {
	for _, e := range entries {
		child := filepath.Join(path, e.Name())
		if !e.IsDir() {
			if k := kindOf(child); k == unknownFile || k == ignoredFile || k == cleanShutdownFile {
				continue
			}
			if err := verifyFile(child, r); err != nil {
				return err
			}
			continue
		}
		if e.Name() == ".journal" {
			if err := verifyJournalDir(child, r); err != nil {
				return err
			}
			continue
		}
		if _, _, ok := partitionDir(child); !ok {
			continue // lost+found, a partition on its way to deletion, an orphan
		}
		files, err := os.ReadDir(child)
		if err != nil {
			return err
		}
		if err := verifyPartition(child, files, r); err != nil {
			return err
		}
	}
	return nil
}

// verifyPartition checks the segments of a partition, that they follow one another, and the indexes against them.
func verifyPartition(path string, entries []os.DirEntry, r *Report) error {
	var logs []*segmentLog
	byBase := map[string]*segmentLog{}
	legal := gapsOf(path).below
	for _, e := range entries { // in the order of names, which is that of base offsets
		if kindOf(e.Name()) != logFile || strings.HasSuffix(e.Name(), ".deleted") {
			continue
		}
		log, err := verifyLog(filepath.Join(path, e.Name()), r)
		if err != nil {
			return err
		}
		if n := len(logs); n > 0 {
			verifyFollows(logs[n-1], log, legal, r)
		}
		logs = append(logs, log)
		byBase[strings.TrimSuffix(e.Name(), ".log")] = log
	}
	for _, e := range entries {
		child := filepath.Join(path, e.Name())
		if strings.HasSuffix(e.Name(), ".deleted") {
			continue
		}
		segment, _, _ := strings.Cut(e.Name(), ".")
		log := byBase[segment]
		if err := verifyBeside(child, log, logs, r); err != nil {
			return err
		}
	}
	return nil
}

// verifyBeside checks a file of a partition that is not a log.
func verifyBeside(path string, log *segmentLog, logs []*segmentLog, r *Report) error {
	k := kindOf(path)
	if log == nil && (k == offsetIndexFile || k == timeIndexFile || k == txnIndexFile) {
		r.damage(path, -1, "there is no log of that segment")
		return nil
	}
	switch k {
	case offsetIndexFile:
		return verifyOffsetIndex(path, log, r)
	case timeIndexFile:
		return verifyTimeIndex(path, log, r)
	case txnIndexFile:
		return verifyTxnIndex(path, log, r)
	case snapshotFile:
		return verifySnapshot(path, r)
	case epochFile:
		return verifyEpochs(path, logs, r)
	case partitionMetadataFile:
		return verifyPartitionMetadata(path, r)
	}
	return nil
}

// verifyFollows checks that a segment begins where the one before it ends, unless it begins up to offset legal.
func verifyFollows(before, after *segmentLog, legal int64, r *Report) {
	base, ok := baseOffset(after.path)
	if !ok {
		r.damage(after.path, -1, "the name has no base offset")
		return
	}
	next, ok := baseOffset(before.path)
	if n := len(before.batches); n > 0 {
		next, ok = before.batches[n-1].last+1, before.whole
	}
	if ok && next != base && (next > base || base > legal) {
		r.damage(after.path, -1, "the segment begins at offset %d, the one before it ends before %d", base, next)
	}
}

// verifyFile checks one file, an index against the log beside it if there is one.
func verifyFile(path string, r *Report) error {
	beside := func() *segmentLog {
		log, err := verifyLog(sibling(path, ".log"), &Report{})
		if err != nil {
			return nil
		}
		return log
	}
	switch kindOf(path) {
	case logFile:
		_, err := verifyLog(path, r)
		return err
	case offsetIndexFile:
		return verifyOffsetIndex(path, beside(), r)
	case timeIndexFile:
		return verifyTimeIndex(path, beside(), r)
	case txnIndexFile:
		return verifyTxnIndex(path, beside(), r)
	case snapshotFile:
		return verifySnapshot(path, r)
	case epochFile:
		return verifyEpochs(path, nil, r)
	case checkpointFile:
		return verifyCheckpoint(path, r)
	case propertiesFile:
		return verifyProperties(path, r)
	case partitionMetadataFile:
		return verifyPartitionMetadata(path, r)
	case journalFile:
		return verifyJournal(path, r)
	case stoppedFile:
		return verifyStopped(path, r)
	case cleanShutdownFile:
		return nil
	}
	return fmt.Errorf("%s: not the name of a file of a log dir", path)
}
