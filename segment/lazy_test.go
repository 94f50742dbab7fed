package segment_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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

func TestWhatWasRecoveredIsSettledOnce(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		d := h.open()
		for _, name := range []string{"a", "b"} {
			l := h.log(d, name)
			l.append(build(t, 1, 100, h.nowMs()))
			l.settle()
		}
		h.crash()
		_ = d.Close()
		d = h.open()
		a, b := h.log(d, "a"), h.log(d, "b")
		a.append(build(t, 1, 100, h.nowMs())) // before it was settled
		a.settle()
		if err := d.SettleRecovered(); err != nil {
			t.Fatal(err)
		}
		b.append(build(t, 1, 100, h.nowMs()))
		b.settle()
		h.crash()
		_ = d.Close()
		d = h.open()
		for _, name := range []string{"a", "b"} {
			if l := h.log(d, name); l.EndOffset() != 2 || len(l.contents()) != 2 {
				t.Errorf("%s ends at %d", name, l.EndOffset())
			}
		}
		if err := d.SettleRecovered(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool {
			points, err := os.ReadFile(filepath.Join(h.path, "recovery-point-offset-checkpoint"))
			return err == nil && strings.Contains(string(points), "a 0 2\n") && strings.Contains(string(points), "b 0 2\n")
		})
	})
}
