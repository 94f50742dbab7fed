package segment_test

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestAnIdleLogHoldsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		d := h.open()
		l := h.log(d, "t")
		for i := range 2 {
			l.append(build(t, 2, 700, h.nowMs()))
			l.settle()
			h.advance(2 * time.Minute)
			waitFor(t, func() bool { return d.Stats().Rests == int64(i+1) })
			fi, err := os.Stat(h.logFile("t", 0, ".log"))
			if err != nil {
				t.Fatal(err)
			}
			if s := d.Stats(); fi.Size() != l.Size() || s.LivelyLogs != 0 {
				t.Errorf("the file has %d bytes for %d, %d logs are open", fi.Size(), l.Size(), s.LivelyLogs)
			}
			if ts, err := l.OffsetForTimestamp(0); err != nil || ts.Offset != 0 {
				t.Errorf("look-up by time: %+v, %v", ts, err)
			}
			if n := len(l.contents()); n != i+1 {
				t.Errorf("%d batches, %d were appended", n, i+1)
			}
		}
		l.append(build(t, 1, 100, h.nowMs()))
		l.settle()
		h.crash()
		_ = d.Close()
		if l := h.log(h.open(), "t"); l.EndOffset() != 5 || len(l.contents()) != 3 {
			t.Errorf("after a crash the log ends at %d", l.EndOffset())
		}
	})
}

func TestWithFewFilesLogsAreOpenInTurn(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		h.opts.LivelyLogs = 10
		d := h.open()
		var logs []*watched
		for i := range 40 {
			logs = append(logs, h.log(d, fmt.Sprintf("t%d", i)))
		}
		for range 2 {
			for _, l := range logs {
				l.append(build(t, 1, 100, h.nowMs()))
			}
			for _, l := range logs {
				l.settle()
			}
			waitFor(t, func() bool { return d.Stats().LivelyLogs <= 9 })
		}
		for _, l := range logs {
			if n := len(l.contents()); n != 2 {
				t.Errorf("%s has %d batches", l.Topic(), n)
			}
		}
	})
}
