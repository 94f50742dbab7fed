package segment_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"millrace/segment"
	"millrace/segment/batch"
)

// sealedSegments makes a log of several segments, stops cleanly and returns where they begin and where the log ends.
func sealedSegments(t *testing.T, h *harness) (bases []int64, end int64) {
	t.Helper()
	h.cfg.SegmentBytes, h.cfg.IndexIntervalBytes = 4_000, 300
	d := h.open()
	l := h.log(d, "t")
	for range 60 {
		l.append(build(t, 3, 100, h.nowMs()))
	}
	l.settle()
	end = l.EndOffset()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(h.path, "t-0", "*.log"))
	if err != nil || len(names) < 4 {
		t.Fatalf("segments %q, %v", names, err)
	}
	for _, name := range names {
		base, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(name), ".log"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		bases = append(bases, base)
	}
	return bases, end
}

// readOn reads from an offset on as a client does and returns how far it came. Each batch must be the next.
func (w *watched) readOn(next int64) (int64, error) {
	w.t.Helper()
	for next < w.EndOffset() {
		ranges, err := w.Read(nil, next, 1<<20, w.EndOffset(), true, true)
		if err != nil {
			return next, err
		}
		b, err := bytesOf(ranges)
		if err != nil {
			w.t.Fatal(err)
		}
		for len(b) > 0 {
			one := batch.Batch(b)
			if one.BaseOffset() != next {
				w.t.Fatalf("batch at %d where %d is due", one.BaseOffset(), next)
			}
			next, b = one.NextOffset(), b[one.Size():]
		}
	}
	return next, nil
}

func TestWhatALostFileHeldIsNotSkipped(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"removed": os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"cut behind its first batch": func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.Truncate(path, int64(batch.Batch(b).Size()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := inMemory(t)
			bases, end := sealedSegments(t, h)
			if err := lose(h.logFile("t", bases[1], ".log")); err != nil {
				t.Fatal(err)
			}
			l := h.log(h.open(), "t")
			if l.EndOffset() != end {
				t.Errorf("the log ends at %d, it was %d", l.EndOffset(), end)
			}
			next, err := l.readOn(0)
			if !errors.Is(err, segment.ErrCorrupt) || next < bases[1] || next >= bases[2] {
				t.Errorf("read up to %d, lost from %d to %d: %v", next, bases[1], bases[2], err)
			}
			if next, err := l.readOn(bases[2]); err != nil || next != end {
				t.Errorf("behind the gap read up to %d of %d: %v", next, end, err)
			}
		})
	}
}

func TestAnEmptyFileAmidTheLogHidesNothing(t *testing.T) {
	h := inMemory(t)
	bases, end := sealedSegments(t, h)
	for _, name := range []string{fmt.Sprintf("%020d", bases[1]+1), "7", "9223372036854775807"} {
		if err := os.WriteFile(filepath.Join(h.path, "t-0", name+".log"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l := h.log(h.open(), "t")
	if next, err := l.readOn(0); err != nil || next != end {
		t.Errorf("read up to %d of %d: %v", next, end, err)
	}
}

func TestOrphansWithTheLongestNamesAreSetAside(t *testing.T) {
	h := inMemory(t)
	d := h.open()
	names := []string{strings.Repeat("x", 249), strings.Repeat("x", 248) + "y", "short"}
	for _, name := range names {
		l := h.log(d, name)
		l.append(build(t, 1, 100, h.nowMs()))
		l.settle()
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	aside, err := h.open().Orphans(func(string, int32, [16]byte) bool { return false })
	if err != nil || len(aside) != len(names) {
		t.Fatalf("%d of %d set aside: %v", len(aside), len(names), err)
	}
	for _, path := range aside {
		if !strings.Contains(path, "-0.orphan-") {
			t.Errorf("%s does not say which partition it was", path)
		}
		if _, err := os.Stat(filepath.Join(path, "00000000000000000000.log")); err != nil {
			t.Error(err)
		}
	}
}

func TestADirectoryThatDoesNotSayItsTopicIdIsAskedForWithZeros(t *testing.T) {
	h := inMemory(t)
	d := h.open()
	for _, name := range []string{"damaged", "missing", "whole"} {
		h.log(d, name).append(build(t, 1, 100, h.nowMs()))
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	file := func(topic string) string { return filepath.Join(h.path, topic+"-0", "partition.metadata") }
	if err := os.WriteFile(file("damaged"), []byte("version: 0\ntopic_jd: AQIDAAAAAAAAAAAAAAAAAA"), 0o644); err != nil {
		t.Fatal(err)
	}
	remove(t, file("missing"))
	asked := map[string][16]byte{}
	if aside, err := h.open().Orphans(func(topic string, _ int32, id [16]byte) bool {
		asked[topic] = id
		return true
	}); err != nil || len(aside) != 0 {
		t.Fatalf("%v, %v", aside, err)
	}
	if none := ([16]byte{}); asked["damaged"] != none || asked["missing"] != none || asked["whole"] != topicID {
		t.Errorf("asked for %v", asked)
	}
}

func TestLeaderEpochsNewerThanTheBatchesAreNotBelieved(t *testing.T) {
	for name, unclean := range map[string]bool{"stopped": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			h := inMemory(t)
			d := h.open()
			l := h.log(d, "t")
			for range 3 {
				l.append(build(t, 1, 100, h.nowMs()))
			}
			l.settle()
			if unclean {
				h.crash()
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(h.path, "t-0", "leader-epoch-checkpoint")
			if err := os.WriteFile(path, []byte("0\n1\n4 0\n"), 0o644); err != nil { // 0 0 with one bit flipped
				t.Fatal(err)
			}
			l = h.log(h.open(), "t")
			if e := l.LeaderEpoch(); e != 0 {
				t.Errorf("leader epoch %d", e)
			}
			if info := l.append(build(t, 1, 100, h.nowMs())); info.BaseOffset != 3 {
				t.Errorf("appended at %d", info.BaseOffset)
			}
			l.settle()
		})
	}
}
