package segment

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"millrace/segment/batch"
)

// muchToRead is from how many bytes on a segment is recovered by one of the recovery threads, bytes.
const muchToRead = 1 << 20

// segmentRecovery finds the end of one segment and rebuilds what is missing of its indexes.
type segmentRecovery struct {
	log  *Log
	seg  *segment
	rp   int64 // everything below this offset was on the disk: missing or damaged means corrupt
	next int64 // base offset of the next segment if that, or one behind it, has batches; else -1
	read int64 // bytes looked at
	// loose: above the recovery point nothing was promised, and writes of any age may be missing. The log then ends where
	// the first one is.
	loose bool

	scan  *scanner
	file  *file
	x     *indexes // nil if there is no space for them
	epoch int32
}

func (r *segmentRecovery) run(fileSize int64) (err error) {
	if r.scan, r.file, err = r.log.scanFile(r.seg); err != nil {
		return err
	}
	defer r.file.Release()
	defer r.scan.close()
	pos, least, err := r.openIndexes(fileSize)
	if err != nil {
		return err
	}
	begin := pos
	if fileSize-pos > muchToRead {
		r.log.dir.recovering <- struct{}{}
		defer func() { <-r.log.dir.recovering }()
	}
	pos, least, err = r.walk(pos, least, fileSize)
	if err != nil {
		return err
	}
	r.read = pos - begin
	seg := r.seg
	seg.size, seg.nextOffset = pos, least
	seg.timesKnown = true
	seg.createdMs = r.log.dir.nowMs()
	if err := r.cut(fileSize); err != nil {
		return err
	}
	if r.x == nil {
		if r.followed() {
			seg.waiting = nil // the first look-up that finds space rebuilds them
		}
		return nil
	}
	if seg.maxTimestamp >= 0 && r.followed() {
		if err := r.x.times.Append(seg.maxTimestamp, seg.maxTimestampAt); err != nil {
			r.log.dir.log.Warn("last entry of time index not written", "file", seg.path, "err", err)
		}
	}
	if err := r.x.offsets.Seal(); err != nil {
		return err
	}
	if err := r.x.times.Seal(); err != nil {
		return err
	}
	seg.indexes.Store(r.x)
	return nil
}

// cut makes the file end where the log ends, on the disk, before anything is appended again.
func (r *segmentRecovery) cut(fileSize int64) error {
	end := r.seg.size
	if r.seg.endsBad() {
		end = fileSize // damage at the end is kept
	}
	if end == fileSize && r.seg.nextOffset <= r.rp {
		return nil // nothing new, nothing changed
	}
	if end < fileSize {
		if err := r.log.dir.disk.Truncate(r.file.fd, end); err != nil {
			return fmt.Errorf("truncate to %d: %w", end, err)
		}
	}
	if r.log.opening {
		r.seg.unsynced = true // see settle.go
		return nil
	}
	if err := r.log.dir.disk.Fsync(r.file.fd); err != nil {
		return fmt.Errorf("fsync: %w", err)
	}
	return nil
}

// openIndexes opens the indexes as far as they can be trusted and says from which position and offset on the log has to
// be read.
func (r *segmentRecovery) openIndexes(fileSize int64) (pos, least int64, err error) {
	seg := r.seg
	bytes := maxIndexBytes(&r.log.cfg)
	if entries := fileSize/max(int64(r.log.cfg.IndexIntervalBytes), 1) + 2; entries*8 < int64(bytes) {
		bytes = int(entries * 8)
	}
	first, err := r.scan.batchAt(0, seg.baseOffset, math.MinInt32, false)
	if err != nil {
		return 0, 0, err
	}
	if first != nil {
		seg.firstTimestamp, seg.baseEpoch = first.MaxTimestamp(), first.LeaderEpoch()
	}
	if x, err := reopenIndexes(seg.path, seg.baseOffset, bytes); err == nil {
		if pos, least, ok := r.trusted(x); ok {
			r.x = x
			return pos, least, nil
		}
		if x.offsets.Entries() == 0 && x.times.Entries() == 0 {
			r.x = x // of a small log: there is nothing in them to be distrusted
			return 0, seg.baseOffset, nil
		}
		x.offsets.Release()
		x.times.Release()
	}
	r.x, err = createIndexes(seg.path, seg.baseOffset, bytes)
	if errors.Is(err, unix.ENOSPC) {
		// A full disk must not keep the log from being read: that is what an operator starts it for.
		r.log.dir.log.Warn("no space for an index; reads scan until it is rebuilt", "file", seg.path, "err", err)
	} else if err != nil {
		return 0, 0, err
	}
	return 0, seg.baseOffset, nil
}

// trusted finds the last entry below the recovery point, checks it against the log and drops those after it.
func (r *segmentRecovery) trusted(x *indexes) (pos, least int64, ok bool) {
	seg := r.seg
	entry, at := x.offsets.Lookup(r.rp - 1)
	if at == 0 || r.rp <= seg.baseOffset || x.times.Entries() == 0 && seg.firstTimestamp >= 0 {
		return 0, 0, false
	}
	b, err := r.scan.batchAt(int64(at), seg.baseOffset, math.MinInt32, false)
	if err != nil || b == nil || b.LastOffset() != entry {
		return 0, 0, false
	}
	r.epoch = b.LeaderEpoch()
	least = b.BaseOffset()
	x.offsets.Truncate(entry + 1)
	x.times.Truncate(entry + 1)
	if ts, offset, found := x.times.Last(); found {
		seg.maxTimestamp, seg.maxTimestampAt = ts, offset
	}
	return int64(at), least, true
}

// walk accepts batches from pos on and returns where the log ends.
func (r *segmentRecovery) walk(pos, least, fileSize int64) (end, next int64, err error) {
	if r.x == nil || r.x.offsets.Entries() == 0 {
		r.epoch = math.MinInt32
	}
	for pos < fileSize {
		b, err := r.scan.batchAt(pos, least, r.epoch, false)
		if err != nil {
			return 0, 0, err
		}
		if b != nil && b.LastOffset() >= r.rp {
			if b, err = r.scan.batchAt(pos, least, r.epoch, true); err != nil {
				return 0, 0, err
			}
		}
		if b != nil {
			pos, least = r.accept(b, pos)
			continue
		}
		to, offset, found, err := r.damage(pos, least, fileSize)
		if err != nil {
			return 0, 0, err
		}
		if !found {
			return pos, least, nil
		}
		r.log.dir.log.Error("log is damaged; the range is kept and answers an error", "file", r.seg.path+logSuffix,
			"from", pos, "to", to, "fromOffset", least, "toOffset", offset)
		r.seg.bad = append(r.seg.bad, badRange{pos, to, least, offset})
		r.log.dir.stats.corruptRanges.Add(1)
		pos, least = to, offset
	}
	if least < r.lost() && !(r.next >= 0 && r.next <= r.log.gapsBelow) {
		// The file is whole as far as it goes and too short.
		r.log.dir.log.Error("log is shorter than it was", "file", r.seg.path+logSuffix, "position", pos, "offset", least, "was", r.lost())
		r.seg.bad = append(r.seg.bad, badRange{pos, pos + 1, least, r.lost()})
		r.log.dir.stats.corruptRanges.Add(1)
		return pos + 1, r.lost(), nil
	}
	return pos, least, nil
}

// lost is the offset that this segment must reach.
func (r *segmentRecovery) lost() int64 {
	if r.next >= 0 && !r.loose {
		return r.next
	}
	return r.rp
}

// followed says that the log goes on in a later segment. Valid when the end of this one is known.
func (r *segmentRecovery) followed() bool {
	return r.next >= 0 && (!r.loose || r.seg.nextOffset >= r.next)
}

// damage decides about a position where no valid batch begins. found: it was acknowledged and is damaged up
// to position to, where offset goes on. Else the log ends here.
//
// A write is at most maxWrite long unless it is one batch, only one is under way, and its blocks may reach the disk in
// any order. So a valid batch within that distance may belong to the same write, never acknowledged; one further
// away was written after this was done.
func (r *segmentRecovery) damage(pos, least, fileSize int64) (to, offset int64, found bool, err error) {
	at, later, zeros, err := r.scan.next(pos+1, least, r.epoch)
	if err != nil {
		return 0, 0, false, err
	}
	if later {
		b, err := r.scan.batchAt(at, least, r.epoch, false)
		if err != nil {
			return 0, 0, false, err
		}
		if least < r.lost() || at-pos > maxWrite+blockSize && !r.loose {
			return at, b.BaseOffset(), true, nil
		}
		r.log.dir.log.Warn("torn write cut", "file", r.seg.path+logSuffix, "position", pos, "offset", least)
		return 0, 0, false, nil
	}
	if least < r.lost() {
		return fileSize, r.lost(), true, nil
	}
	if !zeros {
		r.log.dir.log.Warn("torn write cut", "file", r.seg.path+logSuffix, "position", pos, "offset", least)
	}
	return 0, 0, false, nil
}

// accept takes in a batch and returns where the next one begins.
func (r *segmentRecovery) accept(b batch.Batch, pos int64) (next, least int64) {
	seg := r.seg
	r.epoch = b.LeaderEpoch()
	last := b.LastOffset()
	seg.countTimestamp(b)
	seg.indexes.Store(r.x)
	seg.addIndexEntry(last, pos, b.Size(), r.log.cfg.IndexIntervalBytes)
	// The epochs on the disk may be older than the batches, also where a truncation took some of them back.
	if e := b.LeaderEpoch(); last >= r.log.start.Load() && e > r.log.epochs.at(last) {
		r.log.epochs.assign(e, b.BaseOffset())
	}
	return pos + int64(b.Size()), last + 1
}

// rebuildIndexes makes the indexes of a sealed segment new from its log. Blocking; seg.openMu is held.
func (l *Log) rebuildIndexes(seg *segment) (*indexes, error) {
	scan, f, err := l.scanFile(seg)
	if err != nil {
		return nil, err
	}
	defer f.Release()
	defer scan.close()
	l.mu.Lock()
	cfg := l.cfg
	l.mu.Unlock()
	x, err := createIndexes(seg.path, seg.baseOffset, int(seg.size/max(int64(cfg.IndexIntervalBytes), 1)+2)*8)
	if err != nil {
		return nil, err
	}
	copyOf := newSegment("", seg.baseOffset)
	copyOf.indexes.Store(x)
	pos, least := int64(0), seg.baseOffset
	for pos < seg.size {
		if bad, ok := seg.badAt(pos); ok && pos >= bad.from {
			pos, least = bad.to, bad.toOffset
			continue
		}
		b, err := scan.batchAt(pos, least, math.MinInt32, false)
		if err != nil {
			return nil, err
		}
		if b == nil {
			break
		}
		copyOf.countTimestamp(b)
		copyOf.addIndexEntry(b.LastOffset(), pos, b.Size(), cfg.IndexIntervalBytes)
		pos, least = pos+int64(b.Size()), b.NextOffset()
	}
	if copyOf.maxTimestamp >= 0 {
		_ = x.times.Append(copyOf.maxTimestamp, copyOf.maxTimestampAt)
	}
	if err := x.offsets.Seal(); err != nil {
		return nil, err
	}
	return x, x.times.Seal()
}
