package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"millrace/segment/batch"
)

// recover brings the log up from its directory. Segments wholly below the recovery point are taken as they are;
// the rest is read, and a batch accepted only by length, CRC, offsets that rise and epochs that do not fall. It is
// idempotent: a crash in it leaves what it can start from again.
func (l *Log) recover() error {
	bases, err := l.cleanDirectory()
	if err != nil {
		return err
	}
	if l.epochs, err = readEpochs(filepath.Join(l.path, epochFileName)); err != nil {
		l.dir.log.Warn("leader epochs unreadable, taken from the batches", "err", err)
	}
	onDisk := l.epochs.format()
	rp, _ := l.dir.recoveryPoints.get(l.topic, l.partition)
	l.recoveryPoint = rp
	for _, base := range bases {
		l.segments = append(l.segments, newSegment(l.path, base))
	}
	for i := 0; i < len(l.segments); i++ {
		if err := l.recoverAt(i, rp); err != nil {
			return err
		}
	}
	end := l.start.Load()
	if n := len(l.segments); n > 0 {
		end = l.segments[n-1].nextOffset
		l.start.Store(max(l.start.Load(), l.segments[0].baseOffset))
	} else if rp > end {
		l.dir.log.Error("all segments are missing; offsets go on behind them", "dir", l.path, "was", rp)
		end = rp
		l.start.Store(end)
	}
	end = max(end, l.start.Load())
	l.end.Store(end)
	l.durable.Store(end)
	l.sinceSnapshot = snapshotBytes // how much is behind the last one is not worth finding out
	l.epochs.cutEnd(end + 1)        // an epoch that starts at the end has no batch yet
	if err := l.recoverProducers(end); err != nil {
		return err
	}
	l.unsettled, l.recoveredTo = end > rp || len(l.unsynced()) > 0, rp
	// The batches that tell of an epoch are not read again once the recovery point has passed them.
	if err := l.keepEpochs(onDisk); err != nil {
		l.dir.log.Warn("leader epochs not written", "dir", l.path, "err", err)
		return nil
	}
	if !l.unsettled {
		return nil
	}
	l.recoveredTo = min(end, l.lastOffset())
	if l.replayed < snapshotBytes {
		return nil // the next start reads that much again sooner than every log's snapshot is written
	}
	path := filepath.Join(l.path, baseName(end)+snapshotSuffix)
	if err := replaceFile(l.dir.disk, path, l.producers.AppendSnapshot(nil), false); err != nil {
		l.dir.log.Warn("producer snapshot not written", "file", path, "err", err)
	} else {
		l.snapshotAt = path
	}
	return nil
}

// keepEpochs makes the leader epochs durable unless they are what is on the disk.
func (l *Log) keepEpochs(onDisk []byte) error {
	content := l.epochs.format()
	if bytes.Equal(content, onDisk) {
		return nil
	}
	return writeFileDurable(l.dir.disk, filepath.Join(l.path, epochFileName), content)
}

// lastOffset is one past the last offset in the segments; it is below the end only if data below the log start
// offset was lost.
func (l *Log) lastOffset() int64 {
	if n := len(l.segments); n > 0 {
		return l.segments[n-1].nextOffset
	}
	return l.end.Load()
}

// cleanDirectory removes what a crash left half made and lists the segments.
func (l *Log) cleanDirectory() (bases []int64, err error) {
	entries, err := os.ReadDir(l.path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err := l.recoverSwaps(names); err != nil {
		return nil, err
	}
	if entries, err = os.ReadDir(l.path); err != nil {
		return nil, err
	}
	logs := map[int64]bool{}
	for _, e := range entries {
		name := e.Name()
		stem, suffix := splitName(name)
		base, perr := strconv.ParseInt(stem, 10, 64)
		switch {
		case strings.HasSuffix(name, deletedSuffix), strings.HasSuffix(name, ".tmp"), strings.HasSuffix(name, cleanedSuffix):
			_ = l.dir.disk.Remove(filepath.Join(l.path, name))
		case suffix == logSuffix && perr == nil && base >= 0 && stem == baseName(base):
			logs[base] = true
			bases = append(bases, base)
		}
	}
	for _, e := range entries {
		stem, suffix := splitName(e.Name())
		base, perr := strconv.ParseInt(stem, 10, 64)
		// An index whose segment is gone.
		if (suffix == offsetSuffix || suffix == timeSuffix || suffix == txnSuffix) && perr == nil && !logs[base] {
			_ = l.dir.disk.Remove(filepath.Join(l.path, e.Name()))
		}
	}
	sort.Slice(bases, func(i, j int) bool { return bases[i] < bases[j] })
	return bases, nil
}

func splitName(name string) (stem, suffix string) {
	if i := strings.IndexByte(name, '.'); i >= 0 {
		return name[:i], name[i:]
	}
	return name, ""
}

// recoverAt recovers segment i. It may remove empty segments behind it.
func (l *Log) recoverAt(i int, rp int64) error {
	seg := l.segments[i]
	fi, err := os.Stat(seg.path + logSuffix)
	if err != nil {
		return err
	}
	// A recovery point behind the base of the next segment was set after this one was sealed. One right there may
	// be older than the roll: the file may still have its preallocated tail.
	last := i == len(l.segments)-1
	if !last && l.segments[i+1].baseOffset < rp {
		if i > 0 && fi.Size() == 0 {
			return l.dropHollow(i, rp)
		}
		seg.size = fi.Size()
		seg.nextOffset = l.segments[i+1].baseOffset
		seg.unread = true
		l.asSealed(seg)
		return nil
	}
	// What follows decides what damage at the end of this segment means: a later segment is written only
	// after all of this one.
	next := int64(-1)
	for j := i + 1; j < len(l.segments); j++ {
		if ok, err := l.hasBatch(l.segments[j]); err != nil {
			return err
		} else if ok {
			next = l.segments[i+1].baseOffset
			break
		}
	}
	r := &segmentRecovery{log: l, seg: seg, rp: rp, next: next, loose: l.cfg.Durability == Async}
	if err := r.run(fi.Size()); err != nil {
		return fmt.Errorf("recover %s: %w", seg.path+logSuffix, err)
	}
	l.dir.stats.recoveredBytes.Add(r.read)
	if len(seg.bad) == 0 && l.epochs.contradicted(r.epoch, seg.nextOffset, seg.baseOffset) {
		l.dir.log.Warn("leader epochs newer than the batches are not believed", "dir", l.path, "epoch", r.epoch)
	}
	if next >= 0 && !r.followed() {
		l.dir.log.Warn("log was not flushed up to its last segments; they are removed", "file", seg.path+logSuffix,
			"offset", seg.nextOffset, "next", next)
		next = -1
	}
	if next < 0 {
		if err := l.dropEmpty(i); err != nil {
			return err
		}
	} else if seg.nextOffset > next {
		return fmt.Errorf("recover %s: %w: offsets up to %d overlap the next segment", seg.path+logSuffix, ErrCorrupt, seg.nextOffset)
	}
	l.asSealed(seg)
	if i == len(l.segments)-1 && !seg.endsBad() {
		seg.rolled, seg.sealed, seg.resting = false, false, true // appended to again
	}
	return nil
}

// dropHollow removes segment i, an empty file amid the log, and recovers the one that takes its place. Either it is no
// segment of this log, or all of it is lost; then reads find that the one before it ends too early.
func (l *Log) dropHollow(i int, rp int64) error {
	seg := l.segments[i]
	l.dir.log.Error("segment amid the log is empty; removed, what was in it answers an error", "file", seg.path+logSuffix)
	if err := removeSegmentFiles(l.dir.disk, seg.path); err != nil {
		return err
	}
	l.segments = append(l.segments[:i], l.segments[i+1:]...)
	l.segments[i-1].nextOffset = l.segments[i].baseOffset
	return l.recoverAt(i, rp)
}

func (l *Log) asSealed(seg *segment) {
	seg.rolled, seg.sealed, seg.named = true, true, true
	seg.committed, seg.written, seg.flushed, seg.allocated = seg.size, seg.size, seg.size, seg.size
	seg.committedOffset, seg.writtenOffset = seg.nextOffset, seg.nextOffset
}

// dropEmpty removes the segments behind i, none of which has a batch that counts, but for one that begins where i ends.
func (l *Log) dropEmpty(i int) error {
	keep := i + 1
	for j := i + 1; j < len(l.segments); j++ {
		s := l.segments[j]
		if j == i+1 && s.baseOffset == l.segments[i].nextOffset {
			keep = j + 1
			continue
		}
		l.dir.log.Info("segment behind the end of the log removed", "file", s.path+logSuffix)
		if err := removeSegmentFiles(l.dir.disk, s.path); err != nil {
			return err
		}
	}
	if keep == len(l.segments) {
		return nil
	}
	l.segments = l.segments[:keep]
	return syncDir(l.dir.disk, l.path)
}

// removeSegmentFiles unlinks a segment's files.
func removeSegmentFiles(disk Disk, path string) error {
	for _, suffix := range []string{logSuffix, offsetSuffix, timeSuffix, txnSuffix} {
		if err := disk.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// hasBatch says that a segment begins with a valid batch.
func (l *Log) hasBatch(seg *segment) (bool, error) {
	s, f, err := l.scanFile(seg)
	if err != nil {
		return false, err
	}
	defer f.Release()
	defer s.close()
	b, err := s.batchAt(0, seg.baseOffset, math.MinInt32, true)
	return b != nil, err
}

// scanFile opens a segment for reading from front to back.
func (l *Log) scanFile(seg *segment) (*scanner, *file, error) {
	fd, err := l.dir.disk.Open(seg.path+logSuffix, unix.O_RDWR|l.dir.directFlag)
	if err != nil {
		return nil, nil, err
	}
	f := newFile(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Release()
		return nil, nil, fmt.Errorf("stat %s: %w", seg.path+logSuffix, err)
	}
	s, err := newScanner(fd, st.Size)
	if err != nil {
		f.Release()
		return nil, nil, err
	}
	return s, f, nil
}

// recoverProducers loads the newest usable snapshot and replays the batches after it.
func (l *Log) recoverProducers(end int64) error {
	from := l.start.Load()
	if len(l.segments) > 0 {
		from = l.segments[0].baseOffset
	}
	loaded, first := false, from
	for _, at := range l.snapshots() {
		path := filepath.Join(l.path, baseName(at)+snapshotSuffix)
		// One from before the first segment says what was true before batches that retention has deleted. Producers that
		// have gone on meanwhile would be told that their next batch is out of order; of one that is not known, any is next.
		if at > end || at < first || loaded && !l.isBase(at) {
			_ = l.dir.disk.Remove(path) // of batches that were cut, or obsolete
			continue
		}
		if loaded {
			continue
		}
		if err := l.producers.ReadSnapshot(path); err != nil {
			l.dir.log.Warn("producer snapshot unusable", "file", path, "err", err)
			_ = l.dir.disk.Remove(path)
			continue
		}
		l.snapshotAt = path
		from = max(from, at)
		loaded = true
	}
	now := l.dir.nowMs()
	l.replayed = 0
	return l.eachHeader(from, func(b batch.Batch) error {
		l.replayed += int64(b.Size())
		if b.HasProducer() {
			l.producers.Update(b, b.BaseOffset(), now)
		}
		return nil
	})
}

// isBase says that a segment begins at offset.
func (l *Log) isBase(offset int64) bool {
	i := l.segmentIndex(offset)
	return i < len(l.segments) && l.segments[i].baseOffset == offset
}

// snapshots lists the offsets of producer snapshots, newest first.
func (l *Log) snapshots() (offsets []int64) {
	names, _ := filepath.Glob(filepath.Join(l.path, "*"+snapshotSuffix))
	for _, n := range names {
		at, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(n), snapshotSuffix), 10, 64)
		if err == nil && at >= 0 {
			offsets = append(offsets, at)
		}
	}
	sort.Slice(offsets, func(i, j int) bool { return offsets[i] > offsets[j] })
	return offsets
}

// eachHeader calls f with the batches from offset on, at start. Control batches come whole; of others only the header
// is certain to be there.
func (l *Log) eachHeader(from int64, f func(batch.Batch) error) error {
	for i, seg := range l.segments {
		if seg.nextOffset <= from || seg.size == 0 {
			continue
		}
		if err := l.eachHeaderOf(l.segments[i], from, f); err != nil {
			return fmt.Errorf("replay %s: %w", seg.path+logSuffix, err)
		}
	}
	return nil
}

func (l *Log) eachHeaderOf(seg *segment, from int64, f func(batch.Batch) error) error {
	s, file, err := l.scanFile(seg)
	if err != nil {
		return err
	}
	defer file.Release()
	defer s.close()
	pos, least := int64(0), seg.baseOffset
	if from > seg.baseOffset {
		x := seg.indexes.Load()
		if x == nil && (seg.sealed || seg.resting) {
			// Not kept: most segments are never looked up.
			if opened, err := openIndexes(seg.path, seg.baseOffset); err == nil {
				defer opened.offsets.Release()
				x = opened
			}
		}
		if x != nil {
			if entry, at := x.offsets.Lookup(from); at > 0 {
				if b, err := s.batchAt(int64(at), seg.baseOffset, math.MinInt32, false); err == nil && b != nil && b.LastOffset() == entry {
					pos, least = int64(at), b.BaseOffset()
				}
			}
		}
	}
	for pos < seg.size {
		if bad, ok := seg.badAt(pos); ok && pos >= bad.from {
			pos, least = bad.to, bad.toOffset
			continue
		}
		b, err := s.batchAt(pos, least, math.MinInt32, false)
		if err != nil {
			return err
		}
		if b == nil {
			// Damage in a segment that is trusted: reading it will say so. Nothing after it can be replayed.
			l.dir.log.Error("damaged batch; producer state may be incomplete", "file", seg.path+logSuffix, "position", pos)
			return nil
		}
		size, next := int64(b.Size()), b.NextOffset()
		if next > from {
			if b.IsControl() {
				if b, err = s.batchAt(pos, least, math.MinInt32, true); err != nil {
					return err
				}
			}
			if b != nil {
				if err := f(b); err != nil {
					return err
				}
			}
		}
		pos, least = pos+size, next
	}
	return nil
}
