package segment_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"millrace/segment"
	"millrace/segment/segmenttest"
)

// reserveDisk gets the reserve's space back when that is removed; it counts no other removal.
type reserveDisk struct{ *segmenttest.Disk }

func (d reserveDisk) Remove(path string) error {
	err := d.Disk.Remove(path)
	if err == nil && filepath.Base(path) == ".reserve" {
		d.SetFree(4 << 20)
	}
	return err
}

func TestOnAFullDiskTheReserveIsForMetadataAndOffsetsOnly(t *testing.T) {
	h := onOne(t)
	disk := reserveDisk{segmenttest.NewDisk()}
	h.opts.Disk = disk
	h.cfg.SegmentBytes = 1 << 20
	d := h.open()
	user := h.log(d, "t")
	h.cfg.KeepsNodeGoing = true
	offsets := h.log(d, "offsets")
	reserve := filepath.Join(h.path, ".reserve")
	if _, err := os.Stat(reserve); err != nil {
		t.Fatal(err)
	}
	disk.SetFree(0)
	if _, err := user.Append(build(t, 1, 100, h.nowMs()), 0); !errors.Is(err, segment.ErrNoSpace) {
		t.Errorf("user's log: %v", err)
	}
	if _, err := os.Stat(reserve); err != nil {
		t.Errorf("the reserve went to a user's log: %v", err)
	}
	offsets.append(build(t, 1, 100, h.nowMs()))
	offsets.settle()
	if _, err := user.Append(build(t, 1, 100, h.nowMs()), 0); !errors.Is(err, segment.ErrNoSpace) {
		t.Errorf("user's log while the reserve is given up: %v", err)
	}
	disk.SetFree(-1)
	waitFor(t, func() bool {
		_, err := user.Append(build(t, 1, 100, h.nowMs()), 0)
		return err == nil
	})
	if _, err := os.Stat(reserve); err != nil {
		t.Errorf("the reserve was not made again: %v", err)
	}
}
