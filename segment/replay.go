package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"millrace/segment/journal"
)

// journalDir is where the files of the commit journal are, in the log dir.
const journalDir = ".journal"

// openJournal takes what a crash left in the journal to the segment files and starts with an empty journal. Nothing
// else uses the dir yet. A crash in it leaves the journal as it was, or what is written there already.
func (d *Dir) openJournal() error {
	path := filepath.Join(d.opts.Path, journalDir)
	found, err := journal.Scan(path)
	if err != nil {
		return err
	}
	if found.Missing > 0 {
		d.log.Error("commit journal is damaged; what the turns held is lost unless it is in the segments", "dir", path,
			"turns", found.Missing)
		d.stats.corruptRanges.Add(1)
	}
	if len(found.Entries) > 0 {
		if err := d.replay(found.Entries); err != nil {
			return fmt.Errorf("replay journal: %w", err)
		}
		d.log.Info("commit journal replayed", "dir", d.opts.Path, "turns", found.Turns, "entries", len(found.Entries), "bytes", found.Bytes)
	}
	if err := journal.Discard(d.disk, path); err != nil {
		return err
	}
	if err := d.disk.Mkdir(path); err == nil {
		err = syncDir(d.disk, d.opts.Path)
		if err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	d.journal = journal.New(d.disk, path, d.journalBytes(), d.directFlag != 0)
	return nil
}

const (
	defaultJournalBytes = 64 << 20
	leastJournalBytes   = 1 << 20
)

// journalBytes is the size of the largest journal file: on a small file system the files together take a
// sixteenth of it.
func (d *Dir) journalBytes() int64 {
	if d.opts.JournalBytes > 0 {
		return alignUp(d.opts.JournalBytes, blockSize)
	}
	total, _ := d.Usage()
	share := total / 16 / journal.MaxFiles
	return max(min(alignUp(share, blockSize), defaultJournalBytes), leastJournalBytes)
}

// replay writes the entries to their segment files, and those to the disk.
func (d *Dir) replay(entries []journal.Entry) error {
	byName := map[string][]journal.Entry{}
	for _, e := range entries {
		byName[e.Name] = append(byName[e.Name], e)
	}
	names := slices.Collect(maps.Keys(byName))
	flush, together := d.disk.Fsync, len(names) > syncEach
	if together {
		flush = func(int) error { return nil }
	}
	err := atOnce(len(names), func(i int) error { return d.replayLog(names[i], byName[names[i]], flush) })
	if err == nil && together {
		err = d.disk.Syncfs(int(d.lock.Fd()))
	}
	return err
}

// replayLog writes the entries of one partition directory: what is above the recovery point, of the topic that has
// the directory now, to segments that are still there.
func (d *Dir) replayLog(name string, entries []journal.Entry, flush func(fd int) error) error {
	path := filepath.Join(d.opts.Path, name)
	id, err := readTopicID(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, serr := os.Lstat(path); errors.Is(serr, fs.ErrNotExist) {
			return nil // deleted
		}
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if errors.Is(err, ErrCorrupt) {
		// The log will not open before somebody has mended the file; what it was acknowledged is kept until then.
		d.log.Error("directory does not say whose it is; the journal's last word on it counts", "dir", path, "err", err)
		id, err = entries[len(entries)-1].TopicID, nil
	}
	if err != nil {
		return err
	}
	recovered := int64(0)
	if topic, partition, ok := parsePartitionDir(name); ok {
		recovered, _ = d.recoveryPoints.get(topic, partition)
	}
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && entries[n].Segment == entries[0].Segment {
			n++
		}
		if err := d.replaySegment(path, id, recovered, entries[:n], flush); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}

// replaySegment writes entries of one segment.
func (d *Dir) replaySegment(dir string, id [16]byte, recovered int64, entries []journal.Entry, flush func(fd int) error) error {
	fd := -1
	for _, e := range entries {
		if e.TopicID != id || e.End <= recovered {
			continue
		}
		if fd < 0 {
			file := filepath.Join(dir, baseName(e.Segment)+logSuffix)
			if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
				return nil // retention took it
			}
			var err error
			if fd, err = d.disk.Open(file, unix.O_RDWR); err != nil {
				return err
			}
			defer unix.Close(fd)
		}
		if err := d.disk.WriteAt(fd, e.Data, e.Position); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		d.stats.replayedBytes.Add(int64(len(e.Data)))
	}
	if fd < 0 {
		return nil
	}
	if err := flush(fd); err != nil {
		return err
	}
	// Direct writes follow, and recovery reads past the page cache.
	_ = unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED)
	return nil
}
