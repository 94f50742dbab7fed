package segment

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Steps in which a segment file is allocated, so that thousands of small partitions do not eat the disk and a
// busy one seldom asks.
const (
	firstStep = 1 << 20
	lastStep  = 64 << 20
	// leastStep is what a new file gets on a disk that has no firstStep left.
	leastStep = 16 << 10
)

// firstIndexBytes is the first size of an offset index; it grows eightfold when half full.
const firstIndexBytes = 16 << 10

// preparedFile is a segment file made ahead of need, under a temporary name.
type preparedFile struct {
	path      string
	out       *file // for writing
	read      *file
	allocated int64
}

func (p *preparedFile) discard(disk Disk) {
	p.out.Release()
	p.read.Release()
	_ = disk.Remove(p.path)
}

// allocateTo is the size a segment file of the given size should be extended to next so that it holds need bytes.
func allocateTo(allocated, need int64, c *LogConfig) int64 {
	limit := alignUp(int64(c.SegmentBytes), blockSize)
	next := allocated
	for next < need || next == allocated {
		switch {
		case c.Preallocate:
			next = limit
		case next < firstStep:
			next = firstStep
		case next < lastStep:
			next *= 4
		default:
			next += lastStep
		}
		if next >= limit {
			next = limit
			break
		}
	}
	return max(next, alignUp(need, blockSize))
}

// extend makes sure that need bytes of the segment are allocated. Usually the keeper has done it already.
func (l *Log) extend(seg *segment, need int64) error {
	if need = alignUp(need, blockSize); need <= seg.allocated {
		return nil
	}
	to, err := l.dir.allocate(seg.out.fd, seg.allocated, allocateTo(seg.allocated, need, &l.cfg), need, &l.cfg)
	if err != nil {
		return l.allocationFailed(seg.path+logSuffix, seg.allocated, err)
	}
	seg.allocated = to
	return nil
}

// allocationFailed turns a full disk into ErrNoSpace.
func (l *Log) allocationFailed(path string, at int64, err error) error {
	if noSpace(err) {
		l.dir.stats.noSpace.Add(1)
		return fmt.Errorf("%w: allocate %s at %d", ErrNoSpace, path, at)
	}
	return fmt.Errorf("allocate %s at %d: %w", path, at, err)
}

// extendAhead asks the keeper for the next step, or for the next segment's file, before they are needed.
func (l *Log) extendAhead(seg *segment) {
	ahead := min(seg.allocated/2, lastStep/2)
	if seg.size < seg.allocated-ahead {
		return
	}
	if seg.allocated < int64(l.cfg.SegmentBytes) {
		if !seg.extending {
			seg.extending = true
			l.dir.keeper.soon(func() { l.extendStep(seg) })
		}
	} else if l.prepared == nil && !l.preparing {
		l.preparing = true
		l.dir.keeper.soon(l.prepare)
	}
}

// extendStep is extendAhead's work, on the keeper. A full disk is left for Append to find.
func (l *Log) extendStep(seg *segment) {
	l.mu.Lock()
	from, cfg := seg.allocated, l.cfg
	to := allocateTo(from, seg.size, &cfg)
	out := seg.retainOut()
	if seg.rolled || l.closed || l.cutting || to <= from || out == nil {
		seg.extending = false
		l.mu.Unlock()
		if out != nil {
			out.Release()
		}
		return
	}
	l.mu.Unlock()
	to, err := l.dir.allocate(out.fd, from, to, to, &cfg)
	out.Release()
	l.mu.Lock()
	defer l.mu.Unlock()
	seg.extending = false
	if err == nil && !l.cutting && seg.out == out {
		seg.allocated = max(seg.allocated, to)
	}
}

// prepare makes the file of the segment after the active one, on the keeper.
func (l *Log) prepare() {
	l.mu.Lock()
	cfg, path, skip := l.cfg, l.path, l.closed
	l.mu.Unlock()
	var p *preparedFile
	if !skip {
		var err error
		if p, err = l.createFile(filepath.Join(path, preparedLogName), &cfg); err != nil && !errors.Is(err, ErrNoSpace) {
			l.dir.log.Warn("next segment not prepared", "topic", l.topic, "partition", l.partition, "err", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.preparing = false
	if l.closed && p != nil {
		p.discard(l.dir.disk)
		return
	}
	l.prepared = p
}

// createFile makes a segment file with its first step allocated.
func (l *Log) createFile(path string, c *LogConfig) (*preparedFile, error) {
	flags := unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC
	fd, err := l.dir.disk.Open(path, flags|l.dir.directFlag)
	if err != nil {
		if errors.Is(err, unix.ENOSPC) {
			return nil, l.allocationFailed(path, 0, err)
		}
		return nil, err
	}
	to, err := l.dir.allocate(fd, 0, allocateTo(0, 1, c), leastStep, c)
	if err != nil {
		unix.Close(fd)
		_ = l.dir.disk.Remove(path)
		return nil, l.allocationFailed(path, 0, err)
	}
	read, err := openFile(path, l.dir.files.blocks)
	if err != nil {
		unix.Close(fd)
		_ = l.dir.disk.Remove(path)
		return nil, err
	}
	return &preparedFile{path: path, out: newFile(fd), read: read, allocated: to}, nil
}

// newActive starts a segment at the end offset. Its file gets its name, its indexes and a durable directory
// entry by the keeper; the writer waits for that, the appender does not.
func (l *Log) newActive(now int64) (*segment, error) {
	if err := l.makeDirectory(); err != nil {
		return nil, err
	}
	if err := l.settleToAppend(); err != nil {
		return nil, err
	}
	seg := newSegment(l.path, l.end.Load())
	p := l.prepared
	l.prepared = nil
	if p == nil {
		var err error
		if p, err = l.createFile(seg.path+logSuffix, &l.cfg); err != nil {
			return nil, err
		}
	}
	seg.out, seg.allocated = p.out, p.allocated
	seg.handle.Store(p.read)
	seg.timesKnown = true
	seg.createdMs = now
	l.dir.files.add(seg)
	l.segments = append(l.segments, seg)
	l.drawJitter()
	l.dir.naming.add(newcomer{l, seg, p.path})
	l.enliven()
	l.dir.stats.segmentsCreated.Add(1)
	return seg, nil
}

// roll ends the active segment and starts the next one at the end offset.
func (l *Log) roll(now int64) error {
	old := l.active()
	old.rolled = true
	if _, err := l.newActive(now); err != nil {
		old.rolled = false
		return err
	}
	l.tail.close()
	l.tail.partial = nil
	l.sinceSnapshot = 0
	snapshot, at := l.producers.AppendSnapshot(nil), l.end.Load()
	path := filepath.Join(l.path, baseName(at)+snapshotSuffix)
	l.dir.keeper.later(func() { l.writeSnapshot(path, snapshot) })
	l.tail.park()
	l.sealWhenWritten(old)
	l.dir.stats.rolls.Add(1)
	return nil
}

// activate opens the files of the last segment to append to it again, after a start or a rest. Under l.mu.
func (l *Log) activate(seg *segment) error {
	for seg.mending && !l.closed {
		l.idle.Wait()
	}
	if l.closed {
		return ErrClosed
	}
	if err := l.settleToAppend(); err != nil {
		return err
	}
	fd, err := l.dir.disk.Open(seg.path+logSuffix, unix.O_RDWR|l.dir.directFlag)
	if err != nil {
		return err
	}
	out := newFile(fd)
	read, err := seg.open(l.dir.files, true)
	if err != nil {
		out.Release()
		return err
	}
	defer read.Release()
	var partial []byte
	if n := seg.size % l.dir.align; n > 0 {
		partial = make([]byte, n)
		if err := readFull(read.fd, partial, seg.size-n); err != nil {
			out.Release()
			return fmt.Errorf("%s: %w", seg.path, err)
		}
	}
	bytes := firstIndexBytes
	for bytes < maxIndexBytes(&l.cfg) && bytes < int(seg.size/max(int64(l.cfg.IndexIntervalBytes), 1))*16 {
		bytes *= 8
	}
	bytes = min(bytes, maxIndexBytes(&l.cfg))
	err = l.openForAppend(seg, bytes)
	if errors.Is(err, unix.ENOSPC) && l.cfg.KeepsNodeGoing && l.dir.releaseReserve() {
		err = l.openForAppend(seg, bytes)
	}
	if err != nil {
		out.Release()
		if errors.Is(err, unix.ENOSPC) {
			return l.allocationFailed(seg.path, seg.size, err)
		}
		return err
	}
	seg.out = out
	seg.named, seg.resting = true, false
	l.tail.partial = partial
	l.enliven()
	return nil
}
