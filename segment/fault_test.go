package segment_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"millrace/segment"
	"millrace/segment/segmenttest"
)

// A failed write is never retried: the dir goes offline, and nothing that was not acknowledged before is later.
func TestFailedWriteTakesTheDirOffline(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		disk := segmenttest.NewDisk()
		h.opts.Disk = disk
		d := h.open()
		l, other := h.log(d, "t"), h.log(d, "other")
		l.append(build(t, 1, 100, h.nowMs()))
		l.settle()
		other.append(build(t, 1, 100, h.nowMs()))
		other.settle()
		disk.TearNext(50)
		l.append(build(t, 1, 100, h.nowMs()))
		if err := l.awaitFailure(); !errors.Is(err, unix.EIO) {
			t.Errorf("failed with %v", err)
		}
		other.awaitFailure()
		for _, l := range []*watched{l, other} {
			if _, err := l.Append(build(t, 1, 100, h.nowMs()), 0); !errors.Is(err, segment.ErrDirOffline) {
				t.Errorf("append: %v", err)
			}
			if l.durableSeen() != 1 || l.DurableOffset() != 1 {
				t.Errorf("acknowledged up to %d", l.durableSeen())
			}
			ranges, err := l.Read(nil, 0, 100, 1, true, true)
			if err != nil {
				t.Errorf("read while offline: %v", err)
			}
			if _, err := bytesOf(ranges); err != nil {
				t.Error(err)
			}
		}
		if d.Err() == nil {
			t.Error("dir says it is well")
		}
		if d.Close() == nil {
			t.Error("close says that all is on the disk")
		}
		if _, err := os.Stat(filepath.Join(h.path, ".kafka_cleanshutdown")); err == nil {
			t.Error("clean-shutdown marker written")
		}
		h.opts.Disk = nil
		l = h.log(h.open(), "t")
		if n := len(l.contents()); n != 1 {
			t.Errorf("after restart %d batches", n)
		}
	})
}

func TestWritesUnderWayAtAFailureAreNotAcknowledged(t *testing.T) {
	h := onOne(t)
	disk := segmenttest.NewDisk()
	h.opts.Disk, h.opts.Commit = disk, "direct"
	d := h.open()
	a, b := h.log(d, "a"), h.log(d, "b")
	for _, l := range []*watched{a, b} {
		l.append(build(t, 1, 100, h.nowMs()))
		l.settle()
	}
	disk.Hold()
	begun := disk.Operations()
	b.append(build(t, 1, 100, h.nowMs()))
	waitFor(t, func() bool { return disk.Operations() == begun+1 })
	disk.FailNext(unix.EIO)
	a.append(build(t, 1, 100, h.nowMs()))
	b.awaitFailure()
	disk.Resume()
	d.Close()
	if b.durableSeen() != 1 {
		t.Errorf("acknowledged up to %d", b.durableSeen())
	}
}

func TestAppendsDuringAWriteShareTheNext(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		disk := segmenttest.NewDisk()
		h.opts.Disk = disk
		l := h.log(h.open(), "t")
		l.append(build(t, 1, 100, h.nowMs()))
		l.settle()
		disk.Hold()
		begun := disk.Operations()
		l.append(build(t, 1, 100, h.nowMs()))
		waitFor(t, func() bool { return disk.Operations() == begun+1 })
		for range 50 {
			l.append(build(t, 1, 100, h.nowMs()))
		}
		disk.Resume()
		l.settle()
		if n := disk.Operations(); n != begun+2 {
			t.Errorf("%d writes for 51 batches", n-begun)
		}
		if n := len(l.contents()); n != 52 {
			t.Errorf("%d batches", n)
		}
	})
}

func TestFullDiskRefusesAppendsAndRecovers(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		disk := segmenttest.NewDisk()
		h.opts.Disk = disk
		h.cfg.SegmentBytes = 1 << 20
		d := h.open()
		l := h.log(d, "t")
		disk.SetFree(0)
		if _, err := l.Append(build(t, 1, 100, h.nowMs()), 0); !errors.Is(err, segment.ErrNoSpace) {
			t.Fatalf("first append: %v", err)
		}
		disk.SetFree(2 << 20)
		big := build(t, 1, 300_000, h.nowMs())
		n := int64(0)
		var err error
		for n < 100 {
			if _, err = l.Append(big, 0); err != nil {
				break
			}
			n++
		}
		if !errors.Is(err, segment.ErrNoSpace) || n < 2 {
			t.Fatalf("after %d appends: %v", n, err)
		}
		l.settle()
		if err := l.AdvanceStartOffset(1); err != nil {
			t.Errorf("delete records: %v", err)
		}
		if got := len(l.contents()); int64(got) < n-2 {
			t.Errorf("%d batches readable of %d", got, n)
		}
		disk.SetFree(-1)
		if info := l.append(big); info.BaseOffset != n {
			t.Errorf("appended at %d, expected %d", info.BaseOffset, n)
		}
		l.settle()
		if d.Err() != nil {
			t.Errorf("dir offline: %v", d.Err())
		}
	})
}

// When all buffers wait for the disk an append is refused, not blocked, and the next one after that passes.
func TestExhaustedBuffersRefuseAppends(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		disk := segmenttest.NewDisk()
		h.opts.Disk, h.opts.SlabBytes = disk, 4<<20
		l := h.log(h.open(), "t")
		l.append(build(t, 1, 100, h.nowMs()))
		l.settle()
		disk.Hold()
		big := build(t, 1, 700_000, h.nowMs())
		var err error
		n := int64(1)
		for ; err == nil && n < 100; n++ {
			_, err = l.Append(big, 0)
		}
		if !errors.Is(err, segment.ErrBusy) || n > 10 {
			t.Fatalf("after %d appends: %v", n, err)
		}
		disk.Resume()
		l.settle()
		if info := l.append(big); info.BaseOffset != n-1 {
			t.Errorf("appended at %d", info.BaseOffset)
		}
		l.settle()
		if got := len(l.contents()); int64(got) != n {
			t.Errorf("%d batches of %d", got, n)
		}
	})
}

func TestDirRefusesStrangers(t *testing.T) {
	h := onOne(t)
	d := h.open()
	if _, err := segment.OpenDir(h.opts); err == nil {
		t.Error("opened twice")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*segment.DirOptions){
		"cluster": func(o *segment.DirOptions) { o.ClusterID = "another" },
		"node":    func(o *segment.DirOptions) { o.NodeID = 2 },
		"engine":  func(o *segment.DirOptions) { o.Engine = "steam" },
		"io":      func(o *segment.DirOptions) { o.IO = "imagined" },
	} {
		o := h.opts
		change(&o)
		if _, err := segment.OpenDir(o); err == nil {
			t.Errorf("foreign %s accepted", name)
		}
	}
	d = h.open()
	l := h.log(d, "t")
	l.append(build(t, 1, 100, h.nowMs()))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.open().OpenLog("t", 0, segment.LogOptions{TopicID: [16]byte{9}, Config: h.cfg}); err == nil {
		t.Error("log of another topic id opened")
	}
}
