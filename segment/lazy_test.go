package segment_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestALogWithoutRecordsCostsTheDiskNothing(t *testing.T) {
	h := inMemory(t)
	d := h.open()
	l := h.log(d, "t")
	if err := l.AssignLeaderEpoch(3); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(h.path, "t-0")
	absent := func(when string) {
		t.Helper()
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s there is a directory: %v", when, err)
		}
	}
	absent("when opened")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	absent("when closed")
	d = h.open()
	l = h.log(d, "t")
	if err := l.AssignLeaderEpoch(4); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(build(t, 1, 100, h.nowMs()), 4); err != nil {
		t.Fatal(err)
	}
	l.settle()
	h.crash()
	_ = d.Close()
	d = h.open()
	l = h.log(d, "t")
	if end, epoch := l.EndOffset(), l.LeaderEpoch(); end != 1 || epoch != 4 {
		t.Errorf("after a crash the log ends at %d in epoch %d", end, epoch)
	}
	empty := h.log(d, "empty")
	if err := empty.Delete(); err != nil {
		t.Errorf("delete a log that has no directory: %v", err)
	}
	h.log(d, "empty").append(build(t, 1, 100, h.nowMs()))
}
