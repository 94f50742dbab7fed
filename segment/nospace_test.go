package segment_test

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"millrace/segment"
	"millrace/segment/segmenttest"
)

// blocklessDisk is a disk without a free block while full says so: nothing can be written but what is allocated.
// With lazy it finds that out when it is synced, as file systems may that allocate late.
type blocklessDisk struct {
	*segmenttest.Disk
	full, lazy atomic.Bool
	refused    atomic.Int64 // syncs
}

func (d *blocklessDisk) Fsync(fd int) error {
	if d.lazy.Load() {
		d.refused.Add(1)
		return unix.ENOSPC
	}
	return d.Disk.Fsync(fd)
}

func (d *blocklessDisk) WriteAt(fd int, b []byte, off int64) error {
	if d.full.Load() {
		return unix.ENOSPC
	}
	return d.Disk.WriteAt(fd, b, off)
}

func (d *blocklessDisk) Fallocate(fd int, off, size int64) error {
	if d.full.Load() {
		return unix.ENOSPC
	}
	return d.Disk.Fallocate(fd, off, size)
}

func onBlocklessDisk(t *testing.T) (*harness, *blocklessDisk) {
	h := onOne(t)
	disk := &blocklessDisk{Disk: segmenttest.NewDisk()}
	h.opts.Disk = disk
	h.cfg.FileDeleteDelayMs = 1 << 40
	return h, disk
}

func TestANewSegmentWaitsForSpaceForItsName(t *testing.T) {
	h, disk := onBlocklessDisk(t)
	d := h.open()
	l := h.log(d, "t")
	disk.lazy.Store(true)
	l.append(build(t, 1, 100, h.nowMs()))
	waitFor(t, func() bool { return disk.refused.Load() > 1 }) // tried again
	if err := d.Err(); err != nil {
		t.Fatalf("a full disk takes the dir offline: %v", err)
	}
	if l.durableSeen() > 0 {
		t.Fatal("acknowledged before its segment has a name")
	}
	disk.lazy.Store(false)
	l.settle()
}

func TestDeletedFilesGoAtOnceOnAFullDisk(t *testing.T) {
	h, disk := onBlocklessDisk(t)
	d := h.open()
	victim, user := h.log(d, "victim"), h.log(d, "user")
	victim.append(build(t, 10, 100, h.nowMs()))
	victim.settle()
	disk.full.Store(true)
	if _, err := user.Append(build(t, 1, 100, h.nowMs()), 0); !errors.Is(err, segment.ErrNoSpace) {
		t.Fatalf("append on a full disk: %v", err)
	}
	_ = victim.Delete() // what it cannot write down must not keep its files
	waitFor(t, func() bool {
		_, _ = user.Append(build(t, 1, 100, h.nowMs()), 0) // somebody wants the space
		left, _ := filepath.Glob(filepath.Join(h.path, "victim-0*"))
		return len(left) == 0
	})
}

func TestALogMadeOnAFullDiskIsWrittenLater(t *testing.T) {
	h, disk := onBlocklessDisk(t)
	d := h.open()
	disk.full.Store(true)
	l := h.log(d, "t")
	if _, err := l.Append(build(t, 1, 100, h.nowMs()), 0); !errors.Is(err, segment.ErrNoSpace) {
		t.Fatalf("append on a full disk: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(h.path, "t-0*")); len(left) > 0 {
		t.Errorf("a log that could not be made left %v", left)
	}
	disk.full.Store(false)
	waitFor(t, func() bool {
		_, err := l.Append(build(t, 1, 100, h.nowMs()), 0)
		return err == nil
	})
	l.settle()
}

func TestADirOnAFullDiskClosesThoughASegmentWaitsForItsName(t *testing.T) {
	h, disk := onBlocklessDisk(t)
	d := h.open()
	kept, l := h.log(d, "kept"), h.log(d, "t")
	if err := kept.AssignLeaderEpoch(0); err != nil { // else it is written down later, and meets the full disk
		t.Fatal(err)
	}
	kept.append(build(t, 3, 100, h.nowMs()))
	kept.settle()
	disk.lazy.Store(true)
	l.append(build(t, 1, 100, h.nowMs()))
	waitFor(t, func() bool { return disk.refused.Load() > 0 })
	done := make(chan struct{})
	go func() { _ = d.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it does not close")
	}
	disk.lazy.Store(false)
	d = h.open()
	if n := len(h.log(d, "kept").contents()); n != 1 {
		t.Errorf("%d batches of a log that was written", n)
	}
	l = h.log(d, "t")
	l.append(build(t, 1, 100, h.nowMs()))
	l.settle()
}
