package segment_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A recovery point may lie exactly where a segment begins whose predecessor is rolled and not yet cut to size: the
// log was idle when the point was taken, and the next append rolled. The zeros behind the predecessor's last batch
// must not be taken for a part of it.
func TestRecoveryPointAtTheEndOfAnUnsealedSegment(t *testing.T) {
	h := onOne(t)
	d := h.open()
	l := h.log(d, "t")
	for range 10 {
		l.append(build(t, 1, 1000, h.nowMs()))
	}
	l.settle()
	if err := d.Close(); err != nil { // leaves the recovery point at 10
		t.Fatal(err)
	}
	h.cfg.SegmentBytes = 10_000
	d = h.open()
	l = h.log(d, "t")
	l.append(build(t, 1, 1000, h.nowMs()))
	l.settle()
	h.crash()
	first := h.logFile("t", 0, ".log")
	fi, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(first, fi.Size()+64<<10); err != nil { // as it is before it is sealed
		t.Fatal(err)
	}
	l = h.log(h.open(), "t")
	if n := len(l.contents()); n != 11 || l.EndOffset() != 11 {
		t.Fatalf("%d batches up to offset %d, want 11", n, l.EndOffset())
	}
}

// The first append after a start may roll at once. The segment that was the active one is then sealed like any
// other, so that retention can take it and all that come after it.
func TestSegmentRolledByTheFirstAppendAfterAStartIsSealed(t *testing.T) {
	h := onOne(t)
	d := h.open()
	l := h.log(d, "t")
	l.append(build(t, 1, 1000, h.nowMs()))
	l.settle()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	h.cfg.SegmentBytes, h.cfg.RetentionBytes = 2000, 2000
	d = h.open()
	l = h.log(d, "t")
	for range 5 {
		l.append(build(t, 1, 1000, h.nowMs()))
	}
	l.settle()
	waitFor(t, func() bool {
		if _, err := l.ApplyRetention(); err != nil {
			t.Fatal(err)
		}
		return l.StartOffset() > 0
	})
}

// A topic that is made again under the name of one that is gone begins at offset 0, also if the process is killed
// before anything but its first records was written.
func TestRecoveryPointOfADeletedLogIsForgotten(t *testing.T) {
	h := onOne(t)
	d := h.open()
	l := h.log(d, "t")
	for range 10 {
		l.append(build(t, 1, 1000, h.nowMs()))
	}
	l.settle()
	if err := l.AdvanceStartOffset(8); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = h.open()
	if err := os.Rename(filepath.Join(h.path, "t-0"), filepath.Join(h.path, "gone")); err != nil { // what setting an orphan aside does
		t.Fatal(err)
	}
	l = h.log(d, "t")
	l.append(build(t, 1, 1000, h.nowMs()))
	// At the first moment at which the batch counts as written, the crash image must be right.
	l.settle()
	h.crash()
	l = h.log(h.open(), "t")
	if l.StartOffset() != 0 || l.EndOffset() != 1 || len(l.contents()) != 1 {
		t.Fatalf("offsets %d to %d, want 0 to 1", l.StartOffset(), l.EndOffset())
	}
}

// Segments that were to be sealed when a truncation began are sealed after it.
func TestTruncationDoesNotKeepSegmentsFromBeingSealed(t *testing.T) {
	h := onOne(t)
	h.cfg.SegmentBytes, h.cfg.RetentionBytes = 2000, 2000
	l := h.log(h.open(), "t")
	const n = 30
	for range n {
		l.append(build(t, 1, 1000, h.nowMs()))
	}
	l.settle()
	l.truncate(n - 1)
	waitFor(t, func() bool {
		if _, err := l.ApplyRetention(); err != nil {
			t.Fatal(err)
		}
		return l.StartOffset() >= n-3
	})
}

// A segment that ends damaged is not appended to again, so retention may take the last one there is. The log is then
// empty: what can be read begins at its end.
func TestRetentionMayTakeTheLastSegment(t *testing.T) {
	h := onOne(t)
	d := h.open()
	l := h.log(d, "t")
	for range 10 {
		l.append(build(t, 1, 1000, h.nowMs()))
	}
	l.settle()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(h.logFile("t", 0, ".log"), 5400); err != nil {
		t.Fatal(err)
	}
	h.cfg.RetentionMs = 1000
	h.advance(time.Hour)
	d = h.open()
	l = h.log(d, "t")
	if n, err := l.ApplyRetention(); n != 1 || err != nil {
		t.Fatalf("deleted %d segments: %v", n, err)
	}
	for range 2 {
		if l.StartOffset() != 10 || l.EndOffset() != 10 {
			t.Fatalf("offsets %d to %d, want 10 to 10", l.StartOffset(), l.EndOffset())
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d = h.open()
		l = h.log(d, "t")
	}
	l.append(build(t, 1, 10, h.nowMs()))
	l.settle()
	if n := len(l.contents()); n != 1 {
		t.Errorf("%d batches, want 1", n)
	}
}
