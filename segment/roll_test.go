package segment_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"millrace/segment"
	"millrace/segment/batch"
)

func TestSegmentsRollBySizeTimeAndOffsets(t *testing.T) {
	segments := func(h *harness) int {
		names, err := filepath.Glob(filepath.Join(h.path, "t-0", "*.log"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	t.Run("size", func(t *testing.T) {
		h := onOne(t)
		h.cfg.SegmentBytes = 10_000
		d := h.open()
		l := h.log(d, "t")
		for range 10 {
			l.append(build(t, 1, 4900, h.nowMs()))
		}
		l.settle()
		d.Close()
		if n := segments(h); n != 5 {
			t.Errorf("%d segments", n)
		}
		if _, err := os.Stat(h.logFile("t", 2, ".log")); err != nil {
			t.Error(err)
		}
	})
	t.Run("batch timestamps", func(t *testing.T) {
		h := onOne(t)
		h.cfg.SegmentMs = 1000
		d := h.open()
		l := h.log(d, "t")
		for i := range 6 {
			l.append(build(t, 1, 10, h.nowMs()+int64(i)*400))
		}
		l.settle()
		d.Close()
		if n := segments(h); n != 2 {
			t.Errorf("%d segments", n)
		}
	})
	t.Run("index full", func(t *testing.T) {
		h := onOne(t)
		h.cfg.SegmentIndexBytes, h.cfg.IndexIntervalBytes = 80, 1
		d := h.open()
		l := h.log(d, "t")
		for range 60 {
			l.append(build(t, 1, 10, h.nowMs()))
			l.settle()
		}
		d.Close()
		if n := segments(h); n < 5 {
			t.Errorf("%d segments", n)
		}
	})
}

func TestBatchThatFitsNoSegmentIsRefused(t *testing.T) {
	h := onOne(t)
	h.cfg.SegmentBytes = 1000
	l := h.log(h.open(), "t")
	if _, err := l.Append(build(t, 1, 2000, 0), 0); !errors.Is(err, segment.ErrBatchTooLarge) {
		t.Errorf("%v", err)
	}
	for _, b := range []batch.Batch{nil, make([]byte, 61), build(t, 1, 10, 0)[:70]} {
		if _, err := l.Append(b, 0); !errors.Is(err, segment.ErrInvalidBatch) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
	if l.EndOffset() != 0 {
		t.Errorf("end offset %d", l.EndOffset())
	}
}
