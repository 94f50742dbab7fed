package segment_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"millrace/segment"
	"millrace/segment/segmenttest"
)

// onJournal opens a dir whose commits go to the journal wherever they can.
func onJournal(t *testing.T) *harness {
	return newHarness(t, combination{"auto", "auto", "journal"}, t.TempDir())
}

// Logs that have something to write at the same time share one durable write.
func TestLogsShareATurnOfTheJournal(t *testing.T) {
	h := onJournal(t)
	disk := segmenttest.NewDisk()
	h.opts.Disk = disk
	d := h.open()
	var logs []*watched
	for i := range 40 {
		l := h.log(d, fmt.Sprintf("t%d", i))
		l.append(build(t, 1, 100, h.nowMs()))
		l.settle()
		logs = append(logs, l)
	}
	disk.Hold()
	before, begun := d.Stats(), disk.Operations()
	logs[0].append(build(t, 1, 100, h.nowMs()))
	waitFor(t, func() bool { return disk.Operations() == begun+1 })
	for _, l := range logs[1:] {
		l.append(build(t, 1, 100, h.nowMs()))
	}
	disk.Resume()
	for _, l := range logs {
		l.settle()
	}
	after := d.Stats()
	if turns, n := after.JournalTurns-before.JournalTurns, after.JournalLogs-before.JournalLogs; turns != 2 || n != 40 {
		t.Errorf("%d turns for %d logs", turns, n)
	}
	if n := after.DirectCommits - before.DirectCommits; n != 0 {
		t.Errorf("%d commits went to segments", n)
	}
}

// What only the journal has survives a crash, also one during the start after it, whose replay is repeated.
func TestJournalIsReplayed(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		h.opts.Commit = "journal"
		d := h.open()
		var logs []*watched
		for i := range 5 {
			l := h.log(d, fmt.Sprintf("t%d", i))
			for range 20 {
				l.append(build(t, 3, 500, h.nowMs()))
			}
			l.settle()
			logs = append(logs, l)
		}
		want := logs[0].contents()
		h.crash()
		for range 2 {
			d := h.open()
			for i := range logs {
				got := h.log(d, fmt.Sprintf("t%d", i)).contents()
				if len(got) != len(want) {
					t.Fatalf("t%d: %d batches, expected %d", i, len(got), len(want))
				}
			}
			h.crash()
		}
	})
}

// A log in the journal is truncated: what was cut does not come back from there.
func TestTruncatedIsNotReplayed(t *testing.T) {
	h := onJournal(t)
	d := h.open()
	l, other := h.log(d, "t"), h.log(d, "other")
	for range 10 {
		l.append(build(t, 1, 100, h.nowMs()))
		other.append(build(t, 1, 100, h.nowMs()))
	}
	l.settle()
	other.settle()
	l.truncate(4)
	l.append(build(t, 1, 777, h.nowMs()))
	l.settle()
	h.crash()
	d = h.open()
	got := h.log(d, "t").contents()
	if len(got) != 5 || got[4].Size() < 777 {
		t.Errorf("%d batches", len(got))
	}
	if n := len(h.log(d, "other").contents()); n != 10 {
		t.Errorf("other log: %d batches", n)
	}
}

// A log is deleted and made again under the same name and topic id, as when a partition moves away and back.
func TestDeletedIsNotReplayed(t *testing.T) {
	h := onJournal(t)
	d := h.open()
	l := h.log(d, "t")
	for range 10 {
		l.append(build(t, 1, 100, h.nowMs()))
	}
	l.settle()
	if err := l.Delete(); err != nil {
		t.Fatal(err)
	}
	l = h.log(d, "t")
	l.append(build(t, 1, 100, h.nowMs()))
	l.settle()
	h.crash()
	if n := len(h.log(h.open(), "t").contents()); n != 1 {
		t.Errorf("%d batches", n)
	}
}

// The journal's files are used again and again, and recovery reads no more than they hold.
func TestJournalFilesAreRecycled(t *testing.T) {
	h := onJournal(t)
	h.opts.JournalBytes = 64 << 10
	d := h.open()
	a, b := h.log(d, "a"), h.log(d, "b")
	for range 1000 {
		a.append(build(t, 1, 3000, h.nowMs()))
		b.append(build(t, 1, 1000, h.nowMs()))
		a.settle()
		b.settle()
	}
	if n := d.Stats().Checkpoints; n < 10 {
		t.Errorf("%d checkpoints", n)
	}
	size := int64(0)
	files, err := filepath.Glob(filepath.Join(h.path, ".journal", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if fi, err := os.Stat(f); err == nil {
			size += fi.Size()
		}
	}
	if size > 4*64<<10 {
		t.Errorf("journal of %d bytes in %d files", size, len(files))
	}
	h.crash()
	d = h.open()
	if x, y := len(h.log(d, "a").contents()), len(h.log(d, "b").contents()); x != 1000 || y != 1000 {
		t.Errorf("%d and %d batches", x, y)
	}
	if n := d.Stats().ReplayedBytes; n > 4*64<<10 {
		t.Errorf("%d bytes replayed", n)
	}
}

// A turn that fails is acknowledged to none of its logs.
func TestFailedTurnTakesTheDirOffline(t *testing.T) {
	h := onJournal(t)
	disk := segmenttest.NewDisk()
	h.opts.Disk = disk
	d := h.open()
	a, b := h.log(d, "a"), h.log(d, "b")
	for _, l := range []*watched{a, b} {
		l.append(build(t, 1, 100, h.nowMs()))
		l.settle()
	}
	disk.TearNext(600)
	a.append(build(t, 1, 3000, h.nowMs()))
	a.awaitFailure()
	b.awaitFailure()
	if a.durableSeen() != 1 || b.durableSeen() != 1 {
		t.Errorf("acknowledged up to %d and %d", a.durableSeen(), b.durableSeen())
	}
	h.crash()
	h.opts.Disk = nil
	d = h.open()
	if x, y := len(h.log(d, "a").contents()), len(h.log(d, "b").contents()); x != 1 || y != 1 {
		t.Errorf("%d and %d batches", x, y)
	}
}

// Without space for a journal, commits go to the segments.
func TestNoSpaceForTheJournal(t *testing.T) {
	h := onJournal(t)
	disk := segmenttest.NewDisk()
	disk.SetFree(-1)
	h.opts.Disk = full{disk}
	d := h.open()
	l := h.log(d, "t")
	l.append(build(t, 1, 100, h.nowMs()))
	l.settle()
	if s := d.Stats(); s.DirectCommits != 1 || s.JournalTurns != 0 {
		t.Errorf("%d commits to the segment, %d turns", s.DirectCommits, s.JournalTurns)
	}
}

// full has no space for files of the size of the journal's.
type full struct{ *segmenttest.Disk }

func (f full) Fallocate(fd int, off, size int64) error {
	if size == 256<<10 {
		return unix.ENOSPC
	}
	return f.Disk.Fallocate(fd, off, size)
}

// After a clean stop there is nothing in the journal.
func TestCleanStopLeavesNoJournal(t *testing.T) {
	h := onJournal(t)
	d := h.open()
	l := h.log(d, "t")
	l.append(build(t, 1, 100, h.nowMs()))
	l.settle()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(filepath.Join(h.path, ".journal")); len(files) > 0 {
		t.Errorf("%d files", len(files))
	}
	d = h.open()
	if n := len(h.log(d, "t").contents()); n != 1 || d.Stats().ReplayedBytes != 0 {
		t.Errorf("%d batches, %d bytes replayed", n, d.Stats().ReplayedBytes)
	}
}

var _ segment.Disk = full{}

// A directory that no longer says whose it is keeps what it was acknowledged, and keeps nobody else from starting.
func TestReplayToADirectoryWithoutATopicID(t *testing.T) {
	h := onJournal(t)
	d := h.open()
	l, other := h.log(d, "t"), h.log(d, "other")
	for _, x := range []*watched{l, other} {
		x.append(build(t, 1, 100, h.nowMs()))
		x.settle()
	}
	h.crash()
	meta := filepath.Join(h.path, "t-0", "partition.metadata")
	good, err := os.ReadFile(meta)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(meta, []byte("version: 0\ntopic_id: ?"), 0o644); err != nil {
		t.Fatal(err)
	}
	d = h.open()
	if n := len(h.log(d, "other").contents()); n != 1 {
		t.Errorf("other log: %d batches", n)
	}
	if _, err := h.tryLog(d, "t"); err == nil {
		t.Error("opened")
	}
	if err := os.WriteFile(meta, good, 0o644); err != nil {
		t.Fatal(err)
	}
	if n := len(h.log(d, "t").contents()); n != 1 {
		t.Errorf("%d batches", n)
	}
}

// What failed while a checkpoint is taken may be what it relies on: no recovery point passes it, and the journal keeps
// what was acknowledged.
func TestNoRecoveryPointPassesWhatCouldNotBeWritten(t *testing.T) {
	h := onJournal(t)
	disk := segmenttest.NewDisk()
	h.opts.Disk = disk
	h.opts.CheckpointBytes = 4 << 10
	d := h.open()
	a := h.log(d, "a")
	a.append(build(t, 1, 1000, h.nowMs()))
	a.settle()
	disk.FailNext(nil, unix.EIO) // the turn passes, the spill that the checkpoint asks for does not
	a.append(build(t, 1, 8000, h.nowMs()))
	a.awaitFailure()
	d.Close()
	seen := a.durableSeen()
	h.crash()
	h.opts.Disk = nil
	if n := h.log(h.open(), "a").contents(); int64(len(n)) < seen {
		t.Errorf("%d batches of %d that were acknowledged", len(n), seen)
	}
}

// A topic is switched between policies while it is written: nothing hangs, nobody waits in vain.
func TestDurabilityChangesUnderWay(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		h.cfg.FlushMessages, h.cfg.FlushMs = 3, 1
		d := h.open()
		l := h.log(d, "t")
		for i := range 200 {
			l.append(build(t, 1, 500, h.nowMs()))
			if i%7 == 0 {
				cfg := h.cfg
				if i%2 == 0 {
					cfg.Durability = segment.Async
				}
				l.SetConfig(cfg)
			}
		}
		l.SetConfig(h.cfg)
		l.append(build(t, 1, 500, h.nowMs()))
		l.settle()
		waitFor(t, func() bool { return l.DurableOffset() == l.EndOffset() })
		h.crash()
		if n := len(h.log(h.open(), "t").contents()); n != 201 {
			t.Errorf("%d batches", n)
		}
	})
}
