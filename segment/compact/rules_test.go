package compact

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"millrace/segment"
	"millrace/segment/batch"
)

func TestTheNewestRecordOfAKeyStays(t *testing.T) {
	onBothModes(t, func(t *testing.T, h *harness) {
		h.say("a=1", "b=1", "a=2 c=1 a=3", "b=2")
		h.roll(h.parse("c=2"))
		h.say("a=9")
		h.compact()
		// What is in the active segment counts for nothing yet.
		h.want("[2-4 3:c=1 4:a=3] 5:b=2 6:c=2 7:a=9")
		h.roll(h.parse("d=1"))
		h.compact()
		h.want("5:b=2 6:c=2 7:a=9 8:d=1")
		if h.log.EndOffset() != 9 || h.append(h.parse("e=1")).BaseOffset != 9 {
			t.Error("offsets are renumbered")
		}
	})
}

func TestSegmentsFollowEachOtherThoughAllOfOneIsGone(t *testing.T) {
	onBothModes(t, func(t *testing.T, h *harness) {
		h.cfg.SegmentBytes = 400 // groups of one or two
		h.log.SetConfig(h.cfg)
		h.say("a=1 b=1", "a=2 b=2")
		h.roll(h.parse("a=3 b=3"))
		h.say("a=4 b=4")
		h.roll(h.parse("a=5 b=5"))
		h.say("a=6 b=6")
		h.roll(h.parse("z=1"))
		h.compact()
		h.want("[6-7] [10-11 10:a=6 11:b=6] 12:z=1")
		h.close()
		h.open()
		h.want("[6-7] [10-11 10:a=6 11:b=6] 12:z=1")
		h.compact()
		h.want("[10-11 10:a=6 11:b=6] 12:z=1")
		if n := len(h.files(".log")); n != 2 {
			t.Errorf("%d segments, small ones become one", n)
		}
	})
}

func TestTombstonesStayUntilTheirHorizonThenGo(t *testing.T) {
	onBothModes(t, func(t *testing.T, h *harness) {
		h.say("a=1", "b=1", "c=1 d=", "a-", "c- b=2")
		h.roll(h.parse("z=1"))
		h.compact()
		// An empty value is not null.
		h.want("[2-3 3:d=] 4:a- [5-6 5:c- 6:b=2] 7:z=1")
		horizon := h.nowMs() + day.Milliseconds()
		if c := h.log.Cleanable(8); c.HorizonMs != horizon {
			t.Errorf("horizon %d, want %d", c.HorizonMs, horizon)
		}
		for _, b := range h.batches()[1:3] {
			if !b.HasDeleteHorizon() || b.BaseTimestamp() != horizon {
				t.Errorf("batch at %d: horizon %v %d", b.BaseOffset(), b.HasDeleteHorizon(), b.BaseTimestamp())
			}
		}
		h.advance(day - time.Second)
		h.compact()
		h.want("[2-3 3:d=] 4:a- [5-6 5:c- 6:b=2] 7:z=1")
		h.close() // the horizon is remembered
		h.open()
		h.advance(2 * time.Second)
		if c := h.log.Cleanable(8); c.HorizonMs != horizon {
			t.Errorf("horizon %d after a restart, want %d", c.HorizonMs, horizon)
		}
		h.compact()
		h.want("[2-3 3:d=] [5-6 6:b=2] 7:z=1")
		if c := h.log.Cleanable(8); c.HorizonMs != segment.NoHorizon {
			t.Errorf("horizon %d is left", c.HorizonMs)
		}
	})
}

func TestTimesAndHeadersSurvive(t *testing.T) {
	h := newHarness(t, "buffered", t.TempDir())
	h.open()
	w := batch.NewBuilder()
	w.Codec = batch.Zstd
	w.Add(5000, []byte("a"), nil, batch.Header{Key: "h", Value: nil})
	w.Add(7000, []byte("b"), []byte("v"), batch.Header{Key: "", Value: []byte{}})
	w.Add(6000, []byte("c"), []byte("v"))
	b, err := w.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	h.append(b)
	h.roll(h.parse("c=2"))
	h.roll(h.parse("z=1"))
	h.compact()
	got := h.batches()[0]
	if got.Codec() != batch.Zstd || got.MaxTimestamp() != 7000 || !got.HasDeleteHorizon() {
		t.Errorf("codec %s, max timestamp %d", got.Codec(), got.MaxTimestamp())
	}
	want := []struct {
		ts      int64
		headers []batch.Header
	}{{5000, []batch.Header{{Key: "h"}}}, {7000, []batch.Header{{Key: "", Value: []byte{}}}}}
	i := 0
	err = batch.ForEach(got, 1<<20, func(r *batch.Record) error {
		headers, err := r.Headers(nil)
		if ts := got.BaseTimestamp() + r.TimestampDelta; ts != want[i].ts || len(headers) != 1 ||
			headers[0].Key != want[i].headers[0].Key || (headers[0].Value == nil) != (want[i].headers[0].Value == nil) {
			t.Errorf("record %d: time %d, headers %+v", i, ts, headers)
		}
		i++
		return err
	})
	if err != nil || i != 2 {
		t.Errorf("%d records, %v", i, err)
	}
	if at, err := h.log.OffsetForTimestamp(6500); err != nil || at.Offset != 1 {
		t.Errorf("offset for a time %+v, %v", at, err)
	}
}

func TestRecordsWithoutKeyGo(t *testing.T) {
	h := newHarness(t, "buffered", t.TempDir())
	h.open()
	h.say("-=1", "a=1 -=2", "=empty")
	h.roll(h.parse("z=1"))
	h.compact()
	h.want("[1-2 1:a=1] 3:=empty 4:z=1")
}

func TestAbortedDataGoesAndMarkersFollow(t *testing.T) {
	onBothModes(t, func(t *testing.T, h *harness) {
		h.say("a=0", "b=0")
		h.append(h.parse("a=1", as(1, 0, true)))
		h.append(h.parse("b=1", as(2, 0, true)))
		h.append(h.marker(1, false)) // 4
		h.append(h.marker(2, true))  // 5
		h.append(h.parse("c=1", as(1, 1, true)))
		h.append(h.marker(1, true)) // 7
		h.say("b=2", "c=2")
		h.roll(h.parse("z=1"))
		h.compact()
		// Of producer 1 the batch with the last sequence stays, and of producer 2; their markers with them.
		h.want("0:a=0 [3-3] 4:abort 5:commit [6-6] 7:commit 8:b=2 9:c=2 10:z=1")
		h.compact()
		h.advance(2 * day)
		h.compact()
		h.want("0:a=0 [3-3] 5:commit [6-6] 7:commit 8:b=2 9:c=2 10:z=1")
		// Once the producers have gone on, nothing holds the old ones.
		h.append(h.parse("x=1", as(1, 2, true)))
		h.append(h.marker(1, true))
		h.append(h.parse("y=1", as(2, 1, true)))
		h.append(h.marker(2, false))
		h.roll(h.parse("z=2"))
		h.compact()
		h.want("0:a=0 5:commit 7:commit 8:b=2 9:c=2 10:z=1 11:x=1 12:commit [13-13] 14:abort 15:z=2")
		h.advance(2 * day)
		h.compact()
		h.want("0:a=0 8:b=2 9:c=2 10:z=1 11:x=1 12:commit [13-13] 14:abort 15:z=2")
		h.close()
		h.open()
		if dup := h.append(h.parse("y=1", as(2, 1, true))); !dup.Duplicate {
			t.Errorf("a retry after compaction and restart is appended at %d", dup.BaseOffset)
		}
	})
}

func TestAnOpenTransactionHoldsCompactionUp(t *testing.T) {
	h := newHarness(t, "buffered", t.TempDir())
	h.open()
	h.say("a=1", "a=2")
	h.append(h.parse("b=1", as(1, 0, true)))
	h.roll(h.parse("a=3"))
	h.compact() // nothing below the transaction's segment
	h.want("0:a=1 1:a=2 2:b=1 3:a=3")
	h.append(h.marker(1, true))
	h.roll(h.parse("z=1"))
	h.compact()
	h.want("2:b=1 3:a=3 4:commit 5:z=1")
}

func TestSequencesSurviveWithoutASnapshot(t *testing.T) {
	onBothModes(t, func(t *testing.T, h *harness) {
		for i := range int32(4) {
			h.append(h.parse("a=1", as(9, i, false)))
		}
		h.say("a=2")
		h.roll(h.parse("z=1"))
		h.compact()
		h.want("[3-3] 4:a=2 5:z=1")
		h.close()
		for _, name := range h.files(".snapshot") {
			if err := os.Remove(filepath.Join(h.opts.Path, "t-0", name)); err != nil {
				t.Fatal(err)
			}
		}
		h.open()
		if _, err := h.log.Append(h.parse("a=9", as(9, 6, false)), 0); !errors.Is(err, segment.ErrOutOfOrderSequence) {
			t.Errorf("sequence 6 after 3: %v", err)
		}
		if info := h.append(h.parse("a=9", as(9, 4, false))); info.Duplicate || info.BaseOffset != 6 {
			t.Errorf("sequence 4 after 3: %+v", info)
		}
	})
}

func TestYoungSegmentsWait(t *testing.T) {
	h := newHarness(t, "buffered", t.TempDir())
	h.cfg.MinCompactionLagMs = 60_000
	h.open()
	h.say("a=1", "a=2")
	h.roll(h.parse("a=3"))
	h.advance(50 * time.Second)
	h.say("a=4")
	h.roll(h.parse("z=1"))
	h.compact()
	h.want("0:a=1 1:a=2 2:a=3 3:a=4 4:z=1")
	h.advance(20 * time.Second)
	h.compact()
	h.want("1:a=2 2:a=3 3:a=4 4:z=1")
	h.advance(50 * time.Second)
	h.compact()
	h.want("3:a=4 4:z=1")
}

func TestALogLargerThanTheMapConverges(t *testing.T) {
	onBothModes(t, func(t *testing.T, h *harness) {
		h.use.DedupeBufferBytes = 5 * entryBytes // four keys at a time
		for _, v := range []string{"1", "2", "3"} {
			h.say(strings.ReplaceAll("a=V b=V c=V d=V e=V f=V g=V", "V", v), strings.ReplaceAll("h=V i=V", "V", v))
		}
		h.roll(h.parse("z=1"))
		passes := 0
		for more := true; more; passes++ {
			var err error
			if more, err = h.pass(); err != nil {
				t.Fatal(err)
			}
		}
		h.want("[18-24 18:a=3 19:b=3 20:c=3 21:d=3 22:e=3 23:f=3 24:g=3] [25-26 25:h=3 26:i=3] 27:z=1")
		if passes < 3 || passes > 8 {
			t.Errorf("%d passes", passes)
		}
	})
}

func TestDamageIsNotRewritten(t *testing.T) {
	h := newHarness(t, "buffered", t.TempDir())
	h.open()
	h.say("a=1", "a=2")
	h.roll(h.parse("z=1"))
	path := filepath.Join(h.opts.Path, "t-0", h.files(".log")[0])
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before[70] ^= 1
	if err := os.WriteFile(path, before, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := h.pass(); !errors.Is(err, segment.ErrCorrupt) {
		t.Errorf("pass: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the segment was changed (%v)", err)
	}
}

func TestAbortedDataIsNotBroughtToLifeByALostIndex(t *testing.T) {
	h := newHarness(t, "buffered", t.TempDir())
	h.open()
	h.say("a=0")
	h.append(h.parse("a=1", as(1, 0, true)))
	h.append(h.marker(1, false))
	h.roll(h.parse("z=1"))
	for _, name := range h.files(".txnindex") {
		if err := os.Remove(filepath.Join(h.opts.Path, "t-0", name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.pass(); !errors.Is(err, segment.ErrCorrupt) {
		t.Errorf("pass: %v", err)
	}
	h.want("0:a=0 1:a=1 2:abort 3:z=1")
}

// A lost segment is noticed in a compacted log, too.
func TestALostSegmentOfACompactedLogIsNotSkipped(t *testing.T) {
	h := newHarness(t, "buffered", t.TempDir())
	h.cfg.SegmentBytes = 200
	h.open()
	h.say("a=1 b=1 c=1", "a=2")
	h.roll(h.parse("d=1 e=1 f=1"))
	h.say("d=2")
	h.roll(h.parse("g=1 h=1 i=1"))
	h.say("g=2")
	h.roll(h.parse("z=1"))
	h.compact()
	h.want("[0-2 1:b=1 2:c=1] 3:a=2 [4-6 5:e=1 6:f=1] 7:d=2 [8-10 9:h=1 10:i=1] 11:g=2 12:z=1")
	h.close()
	if err := os.Remove(filepath.Join(h.opts.Path, "t-0", h.files(".log")[1])); err != nil {
		t.Fatal(err)
	}
	h.open()
	err := h.log.ReadBatches(0, h.log.EndOffset(), func(batch.Batch) error { return nil })
	if !errors.Is(err, segment.ErrCorrupt) {
		t.Errorf("read over the gap: %v", err)
	}
	if _, err := h.pass(); !errors.Is(err, segment.ErrCorrupt) {
		t.Errorf("compacted over the gap: %v", err)
	}
}
