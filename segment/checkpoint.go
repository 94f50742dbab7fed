package segment

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// What is appended since the last checkpoint is what a restart after kill -9 has to read again, so it is bounded, in
// bytes: for each log, and for all logs of a dir together. To that comes what is written while a checkpoint is taken.
const (
	defaultCheckpointBytes = 64 << 20
	// snapshotBytes is how many bytes of a log a start has to look through for its producers, at most, besides those
	// behind the recovery point: small enough to be quick, large enough that ten thousand logs do not write a file each for
	// every checkpoint.
	snapshotBytes = 1 << 20
)

// checkpointDue counts n appended bytes and says whether the logs of the dir need a checkpoint.
func (d *Dir) checkpointDue(n int) bool {
	sum := d.uncheckpointed.Add(int64(n))
	return sum >= 2*d.opts.CheckpointBytes && d.uncheckpointed.CompareAndSwap(sum, 0)
}

// checkpoint is a recovery point being made: everything below offset goes to the segment files and the disk, and the
// producer state as it was there is written, before the offset is.
type checkpoint struct {
	log      *Log
	offset   int64
	snapshot []byte // nil: not this time
	path     string // where it goes
	obsolete string // the one before, to be removed
}

// checkpointRound is one round. It says whether the journal's files that were full, or ended, are free again.
func (d *Dir) checkpointRound(cut bool) bool {
	generation := d.journal.Cut(cut)
	recyclable := true
	var points []*checkpoint
	for _, l := range d.all() {
		c, ok := l.beginCheckpoint()
		recyclable = recyclable && ok
		if c != nil {
			points = append(points, c)
		}
	}
	written := points[:0]
	for _, c := range points {
		if c.log.awaitWritten(c) {
			written = append(written, c)
		} else {
			recyclable = false
		}
	}
	points = written
	d.keeper.drain() // segments that were rolled are sealed: recovery points must not pass others
	if d.offline() != nil {
		return false // what failed may be what is relied on below; asking again would not tell
	}
	for _, c := range points {
		if c.snapshot != nil && !c.log.pointSnapshot(c) {
			c.snapshot = nil // the next start looks through more; that is all
		}
	}
	if err := d.flushWritten(points); err != nil {
		d.fail(err)
		return false
	}
	if d.offline() != nil {
		return false
	}
	for _, c := range points {
		if c.log.epochsFixed() {
			c.log.endCheckpoint(c)
		}
	}
	err := d.recoveryPoints.write()
	if errors.Is(err, unix.ENOSPC) && d.releaseReserve() {
		err = d.recoveryPoints.write()
	}
	if err != nil {
		d.log.Warn("recovery points not written; the next start reads more", "err", err)
	}
	for _, c := range points {
		if c.obsolete != "" {
			_ = d.disk.Remove(c.obsolete)
		}
	}
	d.stats.rounds.Add(1)
	if !recyclable || generation == 0 || d.offline() != nil {
		return recyclable && d.offline() == nil
	}
	if err := d.journal.Recycle(generation); err != nil {
		d.fail(err)
		return false
	}
	return true
}

// beginCheckpoint has what is appended so far written. c is nil if there is nothing to gain. Not ok: the log has something
// in the journal alone, and is being changed.
func (l *Log) beginCheckpoint() (c *checkpoint, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, true
	}
	if l.cutting {
		return nil, l.journaled < l.dir.journal.Live() || l.firstUnflushed() == nil
	}
	end := l.end.Load()
	if l.unsettled || l.firstUnflushed() == nil && end <= l.recoveryPoint {
		return nil, true
	}
	c = &checkpoint{log: l, offset: end}
	if unborn := l.first(func(s *segment) bool { return !s.named }); unborn != nil {
		// It waits for its name, on a full disk for long, and nothing of it is committed.
		if unborn.baseOffset <= l.recoveryPoint {
			return nil, true
		}
		c.offset = unborn.baseOffset
	} else if l.sinceSnapshot >= snapshotBytes {
		c.snapshot = l.producers.AppendSnapshot(nil)
		c.path = filepath.Join(l.path, baseName(end)+snapshotSuffix)
		l.sinceSnapshot = 0
	}
	l.pending = c
	l.sinceCheckpoint = 0
	l.submit()
	return c, true
}

// pointSnapshot writes the snapshot of a checkpoint, unless the log has ended or was cut meanwhile. Whoever does either waits for
// it: the file may be one that closing writes as well, and its name that of a log made anew.
func (l *Log) pointSnapshot(c *checkpoint) bool {
	l.mu.Lock()
	if l.closed || l.cutting || l.pending != c {
		l.mu.Unlock()
		return false
	}
	l.pointing = true
	l.mu.Unlock()
	err := replaceFile(l.dir.disk, c.path, c.snapshot, false)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pointing = false
	l.idle.Broadcast()
	return err == nil
}

// awaitWritten waits until everything below the checkpoint is in segment files, which the writer sees to. False: that is
// not going to be.
func (l *Log) awaitWritten(c *checkpoint) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if l.closed {
			return true
		}
		if l.pending != c || l.dir.offline() != nil {
			return false
		}
		if seg := l.firstUnwritten(); seg == nil || seg.writtenOffset >= c.offset {
			return true
		}
		l.idle.Wait()
	}
}

// unflushed is a segment file with bytes that are written and maybe not on the disk.
type unflushed struct {
	log    *Log
	seg    *segment
	out    *file
	pos    int64
	offset int64
}

// flushWritten flushes the segment files that need it, and with them the snapshots.
func (d *Dir) flushWritten(points []*checkpoint) error {
	var files []unflushed
	var snapshots []*checkpoint
	for _, c := range points {
		files = c.log.unflushedFiles(files)
		if c.snapshot != nil {
			snapshots = append(snapshots, c)
		}
	}
	err := d.flushAll(len(files)+len(snapshots), func(i int) error {
		if i < len(files) {
			return d.disk.Fsync(files[i].out.fd)
		}
		return snapshots[i-len(files)].flushSnapshot(d.disk)
	})
	for _, f := range files {
		f.out.Release()
		if err == nil {
			f.flushed()
		}
	}
	return err
}

// flushSnapshot flushes the snapshot that was written. A log that was deleted meanwhile took it along.
func (c *checkpoint) flushSnapshot(disk Disk) error {
	err := syncFile(disk, c.path)
	if err == nil {
		err = syncDir(disk, filepath.Dir(c.path))
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// unflushedFiles appends the log's files that have to be flushed, with a reference to each.
func (l *Log) unflushedFiles(files []unflushed) []unflushed {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.segments) - 1; i >= 0 && !l.segments[i].sealed; i-- {
		s := l.segments[i]
		if l.closed || s.flushed >= s.written {
			continue
		}
		if out := s.retainOut(); out != nil {
			files = append(files, unflushed{l, s, out, s.written, s.writtenOffset})
		}
	}
	return files
}

// flushed notes that a file was flushed.
func (f *unflushed) flushed() {
	l := f.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || f.seg.dropped {
		return
	}
	f.seg.flushed = max(f.seg.flushed, f.pos)
	if oldest := l.firstUnflushed(); l.cfg.Durability == Async && (oldest == nil || oldest == f.seg) {
		l.durable.Store(max(l.durable.Load(), f.offset))
	}
	l.idle.Broadcast()
}

// endCheckpoint advances the recovery point, whose data is on the disk.
func (l *Log) endCheckpoint(c *checkpoint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending != c || l.closed || l.cutting {
		return
	}
	l.pending = nil
	l.advanceRecoveryPoint(c.offset)
	if c.snapshot == nil {
		return
	}
	c.obsolete = l.snapshotAt
	l.snapshotAt = c.path
	for _, s := range l.segments {
		if c.obsolete == s.path+snapshotSuffix {
			c.obsolete = ""
		}
	}
	if c.obsolete == c.path {
		c.obsolete = ""
	}
}

// writeSnapshot writes a producer snapshot durably. Without one the next start reads more; that is all.
func (l *Log) writeSnapshot(path string, snapshot []byte) bool {
	err := writeFileDurable(l.dir.disk, path, snapshot)
	if err != nil && !l.isClosed() {
		l.dir.log.Warn("producer snapshot not written", "file", path, "err", err)
	}
	return err == nil
}

// epochsFixed is fixEpochs; without the epochs the recovery point stays where it is.
func (l *Log) epochsFixed() bool {
	err := l.fixEpochs()
	if err != nil && !l.isClosed() {
		l.dir.log.Warn("leader epochs not written", "dir", l.path, "err", err)
	}
	return err == nil
}

func (l *Log) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *Log) isClosing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed || l.closing
}

// advanceRecoveryPoint notes that everything below offset is on the disk and need not be read at the next start.
// Under l.mu. The file is written at the end of the round, or when the keeper is done with what it has.
func (l *Log) advanceRecoveryPoint(offset int64) {
	if offset > l.recoveryPoint {
		l.recoveryPoint = offset
		l.dir.recoveryPoints.set(l.topic, l.partition, offset)
	}
}
