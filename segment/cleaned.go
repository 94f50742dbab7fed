package segment

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"millrace/index"
	"millrace/segment/batch"
)

// Suffixes of the files of a segment that compaction makes: while it is written, and from when it takes the place of
// others. They come behind the usual suffix.
const (
	cleanedSuffix = ".cleaned"
	swapSuffix    = ".swap"
)

// cleanedStep is how much disk space a segment being made is given at a time, bytes.
const cleanedStep = 16 << 20

// Cleaned is a segment being made out of a group of others. It is for one goroutine, which ends with Replace or Discard.
type Cleaned struct {
	log   *Log
	group []Sealed
	seg   *segment
	cfg   LogConfig

	fd        int
	buf       []byte // mapped, aligned; bytes [written, written+fill) of the file
	fill      int
	written   int64
	allocated int64
	most      int64 // bytes of the group

	x     *indexes
	txns  *index.Txn
	epoch int32
	named bool // the files have the suffix .swap
}

// NewCleaned begins a segment that is to replace a group of adjacent ones. It writes bufferBytes at a time, rounded up to
// blocks, past the page cache where the dir has direct I/O. ErrNoSpace: the disk is full.
func (l *Log) NewCleaned(group []Sealed, bufferBytes int) (*Cleaned, error) {
	if len(group) == 0 {
		return nil, fmt.Errorf("compact %s: no segments", l.path)
	}
	c := &Cleaned{log: l, group: group, seg: newSegment(l.path, group[0].BaseOffset), cfg: l.Config(), fd: -1, epoch: -1}
	if err := c.open(bufferBytes); err != nil {
		c.Discard()
		return nil, c.explained(err)
	}
	return c, nil
}

func (c *Cleaned) open(bufferBytes int) (err error) {
	l, path := c.log, c.seg.path
	size := int(alignUp(int64(max(bufferBytes, blockSize)), blockSize))
	if c.buf, err = unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE); err != nil {
		return fmt.Errorf("mmap %d bytes: %w", size, err)
	}
	if c.fd, err = l.dir.disk.Open(path+logSuffix+cleanedSuffix, unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC|l.dir.directFlag); err != nil {
		return err
	}
	for _, s := range c.group {
		c.most += s.Size
	}
	entries := c.most/max(int64(c.cfg.IndexIntervalBytes), 1) + 2
	indexBytes := int(min(entries*8, int64(max(c.cfg.SegmentIndexBytes, 8))))
	offsets, err := index.CreateOffset(path+offsetSuffix+cleanedSuffix, c.seg.baseOffset, indexBytes)
	if err != nil {
		return err
	}
	times, err := index.CreateTime(path+timeSuffix+cleanedSuffix, c.seg.baseOffset, timeIndexBytes(indexBytes))
	if err != nil {
		offsets.Close()
		return err
	}
	c.x = &indexes{offsets, times}
	c.seg.indexes.Store(c.x)
	if err := l.dir.disk.Remove(path + txnSuffix + cleanedSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	c.txns, err = index.OpenTxn(path+txnSuffix+cleanedSuffix, c.seg.baseOffset)
	return err
}

// explained makes a full disk ErrNoSpace, and says what was being done.
func (c *Cleaned) explained(err error) error {
	if noSpace(err) {
		c.log.dir.stats.noSpace.Add(1)
		err = fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return fmt.Errorf("write %s: %w", c.seg.path+logSuffix+cleanedSuffix, c.group[0].unlessGone(err))
}

// Size is the bytes written so far.
func (c *Cleaned) Size() int64 { return c.seg.size }

// Append adds a batch as it is; offsets rise.
func (c *Cleaned) Append(b batch.Batch) error {
	seg := c.seg
	if b.BaseOffset() < seg.nextOffset || b.LastOffset() >= c.group[len(c.group)-1].NextOffset {
		return fmt.Errorf("append %s: %w: offsets %d to %d after %d", seg.path, ErrInvalidBatch, b.BaseOffset(), b.LastOffset(), seg.nextOffset)
	}
	if seg.size+int64(len(b)) > math.MaxInt32 {
		return fmt.Errorf("append %s: %w: %d bytes", seg.path, ErrBatchTooLarge, seg.size+int64(len(b)))
	}
	if err := c.write(b); err != nil {
		return c.explained(err)
	}
	if seg.size == 0 {
		seg.firstTimestamp, seg.baseEpoch = b.MaxTimestamp(), b.LeaderEpoch()
	}
	seg.countTimestamp(b)
	seg.addIndexEntry(b.LastOffset(), seg.size, len(b), c.cfg.IndexIntervalBytes)
	seg.waiting = nil // a full index is merely sparser
	seg.size += int64(len(b))
	seg.nextOffset = b.NextOffset()
	c.epoch = b.LeaderEpoch()
	return nil
}

// AppendAborted enters an aborted transaction of which something is left; their last offsets rise.
func (c *Cleaned) AppendAborted(t AbortedTxn) error {
	if err := c.txns.Append(t); err != nil {
		return c.explained(err)
	}
	return nil
}

func (c *Cleaned) write(b []byte) error {
	for len(b) > 0 {
		n := copy(c.buf[c.fill:], b)
		c.fill, b = c.fill+n, b[n:]
		if c.fill == len(c.buf) {
			if err := c.flush(c.fill); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes the first n bytes of the buffer, which are whole blocks, and empties it.
func (c *Cleaned) flush(n int) error {
	if err := c.allocate(c.written + int64(n)); err != nil {
		return fmt.Errorf("allocate at %d: %w", c.allocated, err)
	}
	disk := c.log.dir.disk
	if err := disk.WriteAt(c.fd, c.buf[:n], c.written); err != nil {
		return fmt.Errorf("at %d: %w", c.written, err)
	}
	c.written += int64(n)
	c.fill = 0
	return nil
}

// allocate gives the file space up to need, in steps and seldom more than the group has. It never touches the reserve.
func (c *Cleaned) allocate(need int64) error {
	if need <= c.allocated {
		return nil
	}
	if c.log.dir.reserveGone.Load() {
		return unix.ENOSPC
	}
	to := max(need, min(c.allocated+cleanedStep, alignUp(c.most, blockSize)))
	if err := c.log.dir.disk.Fallocate(c.fd, c.allocated, to-c.allocated); err != nil {
		return err
	}
	c.allocated = to
	return nil
}

// finish writes what is left and makes all files durable. The segment then ends where the last of its group did: so
// segments go on following each other without a gap, and a lost one is noticed.
func (c *Cleaned) finish() error {
	seg, disk := c.seg, c.log.dir.disk
	if end := c.group[len(c.group)-1].NextOffset; seg.nextOffset < end {
		if err := c.Append(batch.Filler(nil, seg.nextOffset, end-1, c.epoch)); err != nil {
			return err
		}
	}
	if c.fill > 0 {
		n := int(alignUp(int64(c.fill), blockSize))
		clear(c.buf[c.fill:n])
		if err := c.flush(n); err != nil {
			return err
		}
	}
	if err := disk.Truncate(c.fd, seg.size); err != nil {
		return fmt.Errorf("truncate to %d: %w", seg.size, err)
	}
	if seg.maxTimestamp >= 0 {
		_ = c.x.times.Append(seg.maxTimestamp, seg.maxTimestampAt) // the slot is kept free for it
	}
	if err := errors.Join(c.x.offsets.Seal(), c.x.times.Seal(), disk.Fsync(c.fd)); err != nil {
		return err
	}
	suffixes := []string{offsetSuffix, timeSuffix}
	if c.txns.Entries() > 0 {
		suffixes = append(suffixes, txnSuffix)
	}
	for _, suffix := range suffixes {
		if err := syncFile(disk, seg.path+suffix+cleanedSuffix); err != nil {
			return err
		}
	}
	return c.keepTime()
}

// keepTime gives the file the time of the last write to the newest segment of the group, by which retention may go.
func (c *Cleaned) keepTime() error {
	fi, err := os.Stat(c.group[len(c.group)-1].seg.path + logSuffix)
	if err != nil {
		return err
	}
	return os.Chtimes(c.seg.path+logSuffix+cleanedSuffix, fi.ModTime(), fi.ModTime())
}

// close gives back what the segment holds in the process.
func (c *Cleaned) close() {
	if c.fd >= 0 {
		_ = unix.Close(c.fd)
		c.fd = -1
	}
	if c.buf != nil {
		_ = unix.Munmap(c.buf)
		c.buf = nil
	}
	if c.x != nil {
		c.seg.indexes.Store(nil)
		_, _ = c.x.offsets.Close(), c.x.times.Close()
		c.x = nil
	}
}

// Discard gives the segment up; the log is as it was. After Replace it does nothing.
func (c *Cleaned) Discard() {
	c.close()
	l := c.log
	if c.named || l.isClosed() { // a closed log's directory may be a successor's; a start removes what is left
		return
	}
	for _, suffix := range []string{logSuffix, offsetSuffix, timeSuffix, txnSuffix} {
		_ = l.dir.disk.Remove(c.seg.path + suffix + cleanedSuffix)
	}
}
