package crashimages

import (
	"os"
	"path/filepath"
	"testing"

	"millrace/segment"
)

// sample checks many images of a short run.
func sample(t *testing.T, script func(w *world)) {
	t.Helper()
	sampleAfter(t, nil, script)
}

func sampleAfter(t *testing.T, before func(path string), script func(w *world)) {
	t.Helper()
	c := &checker{scenario: t.Name(), seed: 1, dir: tempDir(t), own: script, before: before, seen: map[uint64]bool{}}
	if err := c.run(1000); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d images", c.count.Images)
}

// The recovery point that is on the disk when a truncation begins may lie behind what is left of the log.
func TestCrashInTruncationLeavesNoDamage(t *testing.T) {
	sample(t, func(w *world) {
		w.open()
		l := w.create("a", config(4000))
		for range 4 {
			l.append(1, 1300)
		}
		w.shut()
		w.open()
		w.interesting()
		l.truncate(2)
	})
}

// A topic that is made again under the name of one that is gone begins empty, also after a crash before anything was
// acknowledged in it.
func TestCrashAfterTopicIsMadeAgainFindsNothingOfTheOldOne(t *testing.T) {
	sample(t, func(w *world) {
		w.open()
		l := w.create("a", config(4000))
		for range 2 {
			l.append(1, 1300)
		}
		w.shut()
		w.open()
		w.interesting()
		l.delete()
		l = w.create("a", config(4000))
		l.append(1, 20)
		l.settle()
	})
}

// Leader epochs on the disk may be older than a truncation, and than the batches after it.
func TestCrashAfterTruncationKeepsEpochsOfBatches(t *testing.T) {
	sample(t, func(w *world) {
		w.open()
		l := w.create("a", config(4000))
		l.append(1, 20)
		l.append(1, 20)
		l.settle()
		l.assignEpoch()
		l.append(1, 20)
		l.settle()
		w.interesting()
		l.truncate(1)
		l.append(1, 20)
		l.settle()
	})
}

// An epoch that was assigned before the first batch is kept once the recovery point has passed the batches of it.
func TestCrashKeepsTheFirstEpoch(t *testing.T) {
	sample(t, func(w *world) {
		w.open()
		l := w.create("a", config(4000))
		l.assignEpoch()
		for range 4 {
			l.append(1, 1300)
		}
		l.settle()
		l.truncate(l.EndOffset() - 1) // waits for what is done in the background
	})
}

// Segments of a log that is not flushed reach the disk in any order. It then ends where the first write is missing.
func TestCrashOfAsyncLogIsNoDamage(t *testing.T) {
	sample(t, func(w *world) {
		w.facts.Commit = "direct"
		w.open()
		cfg := config(4000)
		cfg.Durability = segment.Async
		l := w.create("a", cfg)
		for range 10 {
			l.append(1, 1300)
		}
		w.interesting()
		l.retain()
		l.truncate(l.EndOffset() - 1)
	})
}

// A directory that a crash left half made is made whole before anything in it is acknowledged.
func TestCrashAfterCrashBeforeTheFirstRecord(t *testing.T) {
	for _, commit := range commits {
		sampleAfter(t, func(path string) {
			dir := filepath.Join(path, "a-0")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"partition.metadata", "00000000000000000000.log"} {
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}, func(w *world) {
			w.facts.Commit = commit
			w.open()
			l := w.create("a", config(4000))
			l.append(1, 20)
			l.settle()
			l.append(1, 20)
			l.settle()
		})
	}
}
