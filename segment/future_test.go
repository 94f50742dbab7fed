package segment_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"millrace/segment"
	"millrace/segment/batch"
)

// copyTo appends to a follower all that a log has and it lacks.
func copyTo(t *testing.T, from *watched, to *segment.Log) {
	t.Helper()
	err := from.ReadBatches(max(to.EndOffset(), from.StartOffset()), from.EndOffset(), func(b batch.Batch) error { return to.AppendAsFollower(b) })
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFollowerKeepsOffsetsEpochsAndBytes(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		d := h.open()
		l, f := h.log(d, "t"), h.log(d, "f")
		for epoch := range int32(3) {
			for i := range int32(4) {
				if _, err := l.Append(build(t, 2+int(i), 300, h.nowMs()), epoch); err != nil {
					t.Fatal(err)
				}
			}
		}
		copyTo(t, l, f.Log)
		f.settle()
		want, got := l.contents(), f.contents()
		if len(want) != 12 || len(got) != len(want) {
			t.Fatalf("%d batches of %d", len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("batch %d differs", i)
			}
		}
		for epoch := range int32(3) {
			we, wo := l.EndOffsetForEpoch(epoch)
			if e, o := f.EndOffsetForEpoch(epoch); e != we || o != wo {
				t.Errorf("epoch %d ends at %d %d, want %d %d", epoch, e, o, we, wo)
			}
		}
		// What it may not take.
		last := want[len(want)-1]
		if err := f.AppendAsFollower(last); !errors.Is(err, segment.ErrOffsetOutOfRange) {
			t.Errorf("the same batch again: %v", err)
		}
		damaged := append(batch.Batch(nil), last...)
		damaged[len(damaged)-1] ^= 1
		if err := f.AppendAsFollower(damaged); !errors.Is(err, batch.ErrCorrupt) {
			t.Errorf("a damaged batch: %v", err)
		}
		if err := f.AppendAsFollower(last[:len(last)-1]); !errors.Is(err, segment.ErrInvalidBatch) {
			t.Errorf("part of a batch: %v", err)
		}
		older := append(batch.Batch(nil), last...)
		older.SetBaseOffset(last.NextOffset() + 7)
		older.SetLeaderEpoch(0)
		if err := f.AppendAsFollower(older); err == nil {
			t.Error("a batch of an epoch that is over was taken")
		}
		older.SetLeaderEpoch(2)
		if err := f.AppendAsFollower(older); err != nil {
			t.Errorf("a batch behind a gap: %v", err)
		}
		if f.EndOffset() != older.NextOffset() {
			t.Errorf("end %d, want %d", f.EndOffset(), older.NextOffset())
		}
	})
}

// A sealed future log is the log: batches, producers, epochs, start offset, also after a crash before or after it got
// the name, and whatever the dir knew of an earlier log of that name.
func TestAFutureLogTakesThePlaceOfTheLog(t *testing.T) {
	for _, crash := range []string{"", "after sealing", "after promotion"} {
		t.Run("crash "+crash, func(t *testing.T) {
			onEach(t, func(t *testing.T, h *harness) {
				h.cfg.SegmentBytes = 20_000
				source := newHarness(t, combination{"auto", "auto", "auto"}, t.TempDir())
				source.cfg = h.cfg
				l := source.log(source.open(), "t")
				for i := range int32(60) {
					l.append(build(t, 2, 400, h.nowMs(), func(w *batch.Builder) { w.ProducerID, w.ProducerEpoch, w.BaseSequence = 9, 0, 2*i }))
				}
				if err := l.AdvanceStartOffset(31); err != nil {
					t.Fatal(err)
				}
				d := h.open()
				old := h.log(d, "t")
				old.append(build(t, 200, 10, h.nowMs()))
				old.settle()
				if err := old.Delete(); err != nil {
					t.Fatal(err)
				}
				long := strings.Repeat("t", 249)
				f, err := d.CreateFuture(long, 0, segment.LogOptions{TopicID: topicID, Config: h.cfg})
				if err != nil {
					t.Fatal(err)
				}
				name := f.Topic()
				copyTo(t, l, f)
				// Known by neither of its batches.
				l.append(build(t, 1, 400, h.nowMs(), func(w *batch.Builder) { w.ProducerID, w.ProducerEpoch, w.BaseSequence = 10, 0, 0 }))
				if err := l.AssignLeaderEpoch(5); err != nil {
					t.Fatal(err)
				}
				copyTo(t, l, f)
				if err := f.Seal(l.Log); err != nil {
					t.Fatal(err)
				}
				if crash == "after sealing" {
					h.crash()
					d = h.open()
					list, err := d.Futures()
					if err != nil || len(list) != 1 || list[0].Name != name || list[0].TopicID != topicID || list[0].Partition != 0 {
						t.Fatalf("futures %v, %v", list, err)
					}
				}
				if err := d.Promote(name, "t", 0); err != nil {
					t.Fatal(err)
				}
				if crash == "after promotion" {
					h.crash()
					d = h.open()
				}
				got := h.log(d, "t")
				if got.StartOffset() != 31 || got.EndOffset() != l.EndOffset() || got.DurableOffset() != l.EndOffset() {
					t.Errorf("offsets %d, %d, %d, want 31 to %d", got.StartOffset(), got.DurableOffset(), got.EndOffset(), l.EndOffset())
				}
				want, have := l.contents(), got.contents()
				if len(want) != len(have) {
					t.Fatalf("%d batches, want %d", len(have), len(want))
				}
				for i := range want {
					if !bytes.Equal(want[i], have[i]) {
						t.Errorf("batch %d differs", i)
					}
				}
				if got.LeaderEpoch() != 5 || len(got.Producers()) != 2 || got.Producers()[0] != l.Producers()[0] || got.Producers()[1] != l.Producers()[1] {
					t.Errorf("epoch %d, producers %v, want %v", got.LeaderEpoch(), got.Producers(), l.Producers())
				}
				if list, err := d.Futures(); err != nil || len(list) != 0 {
					t.Errorf("futures left: %v, %v", list, err)
				}
				if info, err := got.Append(build(t, 1, 100, h.nowMs()), 5); err != nil || info.BaseOffset != l.EndOffset() {
					t.Errorf("appended at %d, %v", info.BaseOffset, err)
				}
			})
		})
	}
}

func TestAFutureLogOfALogWithoutRecordsKeepsItsOffsets(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		source := newHarness(t, combination{"auto", "auto", "auto"}, t.TempDir())
		l := source.log(source.open(), "t")
		l.append(build(t, 70, 10, h.nowMs()))
		l.settle()
		d := h.open()
		f, err := d.CreateFuture("t", 0, segment.LogOptions{TopicID: topicID, Config: h.cfg})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.AdvanceStartOffset(70); err != nil {
			t.Fatal(err)
		}
		if err := f.Seal(l.Log); err != nil {
			t.Fatal(err)
		}
		if err := d.Promote(f.Topic(), "t", 0); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got := h.log(d, "t")
			if got.StartOffset() != 70 || got.EndOffset() != 70 {
				t.Errorf("offsets %d to %d, want 70 to 70", got.StartOffset(), got.EndOffset())
			}
			h.crash()
			d = h.open()
		}
		got := h.log(d, "t")
		if info := got.append(build(t, 1, 100, h.nowMs())); info.BaseOffset != 70 {
			t.Errorf("appended at %d", info.BaseOffset)
		}
	})
}

// snapshotMeeting has the second renaming of a producer snapshot begin before the first is done, if they are not kept apart.
type snapshotMeeting struct {
	segment.RealDisk
	renamings             atomic.Int32
	first, second, landed chan struct{}
}

func (m *snapshotMeeting) Rename(from, to string) error {
	if !strings.HasSuffix(to, ".snapshot") {
		return m.RealDisk.Rename(from, to)
	}
	switch m.renamings.Add(1) {
	case 1:
		defer close(m.landed)
		close(m.first)
		select {
		case <-m.second:
		case <-time.After(100 * time.Millisecond):
		}
	case 2:
		close(m.second)
		<-m.landed
	}
	return m.RealDisk.Rename(from, to)
}

// A checkpoint writes the snapshot that sealing writes as well, at the same end.
func TestSealingWaitsForACheckpoint(t *testing.T) {
	h := onOne(t)
	disk := &snapshotMeeting{first: make(chan struct{}), second: make(chan struct{}), landed: make(chan struct{})}
	source := newHarness(t, combination{"auto", "auto", "auto"}, t.TempDir())
	l := source.log(source.open(), "t")
	l.append(build(t, 1, 10, h.nowMs()))
	l.settle()
	h.opts.Disk, h.opts.CheckpointBytes = disk, 1<<20
	d := h.open()
	f, err := d.CreateFuture("t", 0, segment.LogOptions{TopicID: topicID, Config: h.cfg})
	if err != nil {
		t.Fatal(err)
	}
	copyTo(t, l, f)
	waitFor(t, func() bool { return f.DurableOffset() == 1 })
	l.append(build(t, 1, 2<<20, h.nowMs())) // asks for a checkpoint
	l.settle()
	copyTo(t, l, f)
	<-disk.first
	if err := f.Seal(l.Log); err != nil {
		t.Fatal(err)
	}
}

func TestAnIncompleteFutureLogIsNotSealed(t *testing.T) {
	h := onOne(t)
	d := h.open()
	l := h.log(d, "t")
	l.append(build(t, 3, 10, h.nowMs()))
	f, err := d.CreateFuture("t", 0, segment.LogOptions{TopicID: topicID, Config: h.cfg})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Seal(l.Log); err == nil {
		t.Error("sealed without a record")
	}
	if err := d.Discard(f.Topic()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(h.path, f.Topic())); err == nil {
		t.Error("still there")
	}
}
