package segment_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"millrace/segment"
	"millrace/segment/batch"
)

// stoppedWithoutFiles stops a log cleanly and removes the files that opening it would need, unnoticed: the directory has its
// time of last change back.
func stoppedWithoutFiles(t *testing.T, h *harness) (payload batch.Batch) {
	t.Helper()
	d := h.open()
	l := h.log(d, "t")
	if err := l.AssignLeaderEpoch(7); err != nil {
		t.Fatal(err)
	}
	payload = build(t, 3, 100, h.nowMs(), func(b *batch.Builder) { b.ProducerID, b.ProducerEpoch, b.BaseSequence = 5, 0, 0 })
	if _, err := l.Append(payload, 7); err != nil {
		t.Fatal(err)
	}
	l.settle()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(h.path, "t-0")
	fi, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	snapshots, _ := filepath.Glob(filepath.Join(dir, "*.snapshot"))
	remove(t, append(snapshots, filepath.Join(dir, "leader-epoch-checkpoint"), h.logFile("t", 0, ".index"), h.logFile("t", 0, ".timeindex"))...)
	if err := os.Chtimes(dir, fi.ModTime(), fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	return payload
}

func TestAfterACleanStopNoFileOfALogIsNeededToOpenIt(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		payload := stoppedWithoutFiles(t, h)
		d := h.open()
		l := h.log(d, "t")
		if end, epoch := l.EndOffset(), l.LeaderEpoch(); end != 3 || epoch != 7 {
			t.Errorf("the log ends at %d in epoch %d", end, epoch)
		}
		if info, err := l.Append(payload, 7); err != nil || !info.Duplicate || info.BaseOffset != 0 {
			t.Errorf("a retry of the last batch: %+v, %v", info, err)
		}
		if got := l.contents(); len(got) != 1 || !samePayload(got[0], payload) {
			t.Errorf("%d batches", len(got))
		}
		if ts, err := l.OffsetForTimestamp(0); err != nil || ts.Offset != 0 {
			t.Errorf("look-up by time: %+v, %v", ts, err)
		}
		if _, err := l.Append(build(t, 1, 100, h.nowMs()), 7); err != nil {
			t.Fatal(err)
		}
		l.settle()
		// What was left is used up: after a crash the files count.
		h.crash()
		_ = d.Close()
		if l := h.log(h.open(), "t"); l.EndOffset() != 4 {
			t.Errorf("after a crash the log ends at %d", l.EndOffset())
		}
	})
}

func TestWhatACleanStopLeftIsNotBelievedBlindly(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, h *harness){
		"Kafka was here": func(t *testing.T, h *harness) {
			if err := os.WriteFile(filepath.Join(h.path, ".kafka_cleanshutdown"), []byte(`{"version":0,"brokerEpoch":12}`), 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"of another stop": func(t *testing.T, h *harness) {
			path := filepath.Join(h.path, ".kafka_cleanshutdown")
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b = bytes.Replace(b, []byte(`Stopped":"`), []byte(`Stopped":"00`), 1)
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"damaged": func(t *testing.T, h *harness) {
			corruptAt(t, filepath.Join(h.path, ".millrace_stopped"), 40, 41)
		},
		"missing": func(t *testing.T, h *harness) {
			remove(t, filepath.Join(h.path, ".millrace_stopped"))
		},
		"the directory was changed": func(t *testing.T, h *harness) {
			if err := os.WriteFile(filepath.Join(h.path, "t-0", "note"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"the topic id was written": func(t *testing.T, h *harness) {
			path := filepath.Join(h.path, "t-0", "partition.metadata")
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"the segment was cut": func(t *testing.T, h *harness) {
			if err := os.Truncate(h.logFile("t", 0, ".log"), 10); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := inMemory(t)
			stoppedWithoutFiles(t, h)
			change(t, h)
			d := h.open()
			h.log(d, "t")
			// Opened by its files the log has its indexes again.
			if _, err := os.Stat(h.logFile("t", 0, ".index")); err != nil {
				t.Errorf("the log was opened without its files: %v", err)
			}
		})
	}
}

func TestATopicMadeAnewDoesNotResumeItsPredecessor(t *testing.T) {
	h := inMemory(t)
	stoppedWithoutFiles(t, h)
	d := h.open()
	if err := h.log(d, "t").Delete(); err != nil {
		t.Fatal(err)
	}
	if l := h.log(d, "t"); l.EndOffset() != 0 || l.LeaderEpoch() != -1 {
		t.Errorf("a new log ends at %d in epoch %d", l.EndOffset(), l.LeaderEpoch())
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.open().OpenLog("t", 0, segment.LogOptions{TopicID: [16]byte{9}, Config: h.cfg}); err != nil {
		t.Errorf("log of another topic without records: %v", err)
	}
}
