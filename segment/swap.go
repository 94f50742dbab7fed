package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// How a segment takes the place of a group of others. B is the base offset of both; C that of another of the group.
//
//	1  B.index.cleaned -> B.index.swap, and so on, last B.log.cleaned -> B.log.swap       from here on it is done
//	2  C.* -> C.*.deleted; B.index -> B.index.deleted, and so on
//	3  B.log.swap -> B.log, over the old one; then B.index.swap -> B.index, and so on
//
// The directory is synced after each step. What a crash leaves says how far it came: with B.log.cleaned nothing has
// happened, and all is removed; with B.log.swap a start does 2 and 3, as often as it takes; with neither, B.log is the new
// one, and indexes that still have .swap are its.
//
// In the process the new segment takes its place in the log between 1 and 2, with its file open. Who wants to open the
// files of one of them by name meanwhile waits for openMu, and who has an old one open goes on reading it.

// commitOrder is the order in which files are named .swap: the log decides.
var commitOrder = []string{txnSuffix, timeSuffix, offsetSuffix, logSuffix}

// Replace puts the segment in the place of its group. When it returns nil that is durable. ErrSegmentGone: the group is
// no longer in the log as it was; nothing has happened then, nor after ErrNoSpace. After other errors the dir may be
// offline. Blocking; the log's lock is held for microseconds.
func (c *Cleaned) Replace() error {
	defer c.Discard()
	if err := c.finish(); err != nil {
		return c.explained(err)
	}
	c.close()
	l := c.log
	// What may be written again by a restart is what lies above the recovery points on the disk.
	if err := l.dir.SyncRecoveryPoints(); err != nil {
		return c.explained(err)
	}
	if !l.beginSwap(c.group) {
		return fmt.Errorf("replace %s: %w", c.seg.path, ErrSegmentGone)
	}
	defer l.endSwap()
	if err := c.commit(); err != nil {
		return c.explained(err)
	}
	if err := c.install(); err != nil {
		err = fmt.Errorf("replace %s: %w", c.seg.path, err)
		l.dir.failSoon(err)
		return err
	}
	return nil
}

// beginSwap keeps everybody else from changing the log's files. False: the group is not in the log any more.
func (l *Log) beginSwap(group []Sealed) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.closing || l.cutting || l.swapping || l.uncompacted > 0 || l.dir.offline() != nil || l.groupAt(group) < 0 {
		return false
	}
	if last := group[len(group)-1]; last.NextOffset > l.recoveryPoint {
		return false
	}
	l.swapping = true
	return true
}

func (l *Log) endSwap() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.swapping = false
	l.idle.Broadcast()
}

// groupAt is where the group begins in l.segments, -1 if it is not there as a whole. Under l.mu.
func (l *Log) groupAt(group []Sealed) int {
	i := l.segmentIndex(group[0].BaseOffset)
	if i+len(group) > len(l.segments) {
		return -1
	}
	for j, s := range group {
		if l.segments[i+j] != s.seg {
			return -1
		}
	}
	return i
}

// commit is step 1. After an error nothing has happened.
func (c *Cleaned) commit() error {
	disk, path := c.log.dir.disk, c.seg.path
	var done []string
	err := func() error {
		for _, suffix := range commitOrder {
			err := disk.Rename(path+suffix+cleanedSuffix, path+suffix+swapSuffix)
			if suffix == txnSuffix && errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			done = append(done, suffix)
		}
		return syncDir(disk, c.log.path)
	}()
	if err == nil {
		c.named = true
		return nil
	}
	for i := len(done) - 1; i >= 0; i-- {
		_ = disk.Remove(path + done[i] + swapSuffix)
	}
	return err
}

// install is steps 2 and 3, and the change in memory before them.
func (c *Cleaned) install() error {
	l, seg := c.log, c.seg
	read, err := openFile(seg.path+logSuffix+swapSuffix, l.dir.files.blocks)
	if err != nil {
		return err
	}
	seg.handle.Store(read)
	seg.timesKnown = true
	l.asSealed(seg)
	seg.openMu.Lock()
	defer seg.openMu.Unlock()
	for _, s := range c.group {
		s.seg.openMu.Lock()
	}
	l.mu.Lock()
	i := l.groupAt(c.group)
	segments := append([]*segment(nil), l.segments[:i]...)
	segments = append(segments, seg)
	l.segments = append(segments, l.segments[i+len(c.group):]...)
	for _, s := range c.group {
		s.seg.replaced.Store(true)
		s.seg.dropped = true
	}
	keep := l.snapshotAt
	delay := time.Duration(l.cfg.FileDeleteDelayMs) * time.Millisecond
	l.mu.Unlock()
	for _, s := range c.group {
		s.seg.openMu.Unlock()
	}
	l.dir.files.add(seg)
	for _, s := range c.group {
		if x := s.seg.indexes.Swap(nil); x != nil {
			x.offsets.Release()
			x.times.Release()
		}
		s.seg.closeHandle()
	}
	doomed, err := l.finishSwap(seg.path, c.group[1:], keep)
	l.dir.house.doom(delay, doomed...)
	return err
}

// finishSwap does steps 2 and 3 with the files alone.
func (l *Log) finishSwap(path string, others []Sealed, keepSnapshot string) (doomed []string, err error) {
	disk := l.dir.disk
	for _, s := range others {
		renamed, err := renameDeleted(disk, s.seg.path)
		doomed = append(doomed, renamed...)
		if err != nil {
			return doomed, err
		}
		if snapshot := s.seg.path + snapshotSuffix; snapshot != keepSnapshot {
			if err := disk.Remove(snapshot); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return doomed, err
			}
		}
	}
	for _, suffix := range []string{offsetSuffix, timeSuffix, txnSuffix} {
		err := disk.Rename(path+suffix, path+suffix+deletedSuffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return doomed, err
		}
		doomed = append(doomed, path+suffix+deletedSuffix)
	}
	if err := syncDir(disk, l.path); err != nil {
		return doomed, err
	}
	return doomed, l.nameSwapped(path)
}

// nameSwapped is step 3.
func (l *Log) nameSwapped(path string) error {
	disk := l.dir.disk
	for _, suffix := range []string{logSuffix, offsetSuffix, timeSuffix, txnSuffix} {
		err := disk.Rename(path+suffix+swapSuffix, path+suffix)
		if err != nil && !(suffix != logSuffix && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return syncDir(disk, l.path)
}

// recoverSwaps finishes or undoes what a crash has interrupted, before segments are listed. It may be interrupted itself.
func (l *Log) recoverSwaps(names []string) error {
	have := map[string]bool{}
	for _, n := range names {
		have[n] = true
	}
	changed, disk := false, l.dir.disk
	for _, name := range names {
		stem, suffix := splitName(name)
		base, err := strconv.ParseInt(stem, 10, 64)
		if err != nil || base < 0 || stem != baseName(base) || !strings.HasSuffix(suffix, swapSuffix) {
			continue
		}
		path := filepath.Join(l.path, stem)
		switch kind := strings.TrimSuffix(suffix, swapSuffix); {
		case kind == logSuffix:
			if err := l.redoSwap(path, base, names); err != nil {
				return fmt.Errorf("finish replacing %s: %w", path, err)
			}
		case have[stem+logSuffix+swapSuffix]: // its log does both
		case have[stem+logSuffix+cleanedSuffix] || !have[stem+logSuffix]:
			if err := disk.Remove(filepath.Join(l.path, name)); err != nil {
				return err
			}
			changed = true
		default:
			if err := disk.Rename(filepath.Join(l.path, name), path+kind); err != nil {
				return err
			}
			changed = true
		}
	}
	if !changed {
		return nil
	}
	// Before the .cleaned files go: they say that the indexes were to be removed.
	return syncDir(disk, l.path)
}

// redoSwap does steps 2 and 3 for the .log.swap of path.
func (l *Log) redoSwap(path string, base int64, names []string) error {
	next, err := l.endOf(path+logSuffix+swapSuffix, base)
	if err != nil {
		return err
	}
	l.dir.log.Info("a segment that compaction has made takes its place", "file", path+logSuffix, "base", base, "next", next)
	disk := l.dir.disk
	for _, name := range names {
		stem, suffix := splitName(name)
		at, err := strconv.ParseInt(stem, 10, 64)
		if err == nil && suffix == logSuffix && at > base && at < next {
			if err := removeSegmentFiles(disk, filepath.Join(l.path, stem)); err != nil {
				return err
			}
		}
	}
	for _, suffix := range []string{offsetSuffix, timeSuffix, txnSuffix} {
		if err := disk.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := syncDir(disk, l.path); err != nil {
		return err
	}
	return l.nameSwapped(path)
}

// endOf is one past the last offset in a segment file.
func (l *Log) endOf(path string, base int64) (int64, error) {
	fd, err := openFd(path, unix.O_RDONLY|l.dir.directFlag)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, fmt.Errorf("stat %s: %w", path, err)
	}
	s, err := newScanner(fd, st.Size)
	if err != nil {
		return 0, err
	}
	defer s.close()
	for pos := int64(0); pos < st.Size; {
		b, err := s.batchAt(pos, base, -1<<31, false)
		if err != nil {
			return 0, err
		}
		if b == nil {
			break // reading it says so
		}
		pos, base = pos+int64(b.Size()), b.NextOffset()
	}
	return base, nil
}
