package segment_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"millrace/segment"
	"millrace/segment/batch"
)

func TestAppendedBatchesAreReadBack(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		h.cfg.SegmentBytes = 300_000
		d := h.open()
		l := h.log(d, "t")
		var sent []batch.Batch
		for i := range 300 {
			b := build(t, 1+i%7, 10+i*53%4000, h.nowMs()+int64(i))
			info := l.append(b)
			if i > 0 && info.BaseOffset != sent[i-1].NextOffset() {
				t.Fatalf("batch %d at offset %d, expected %d", i, info.BaseOffset, sent[i-1].NextOffset())
			}
			b.SetBaseOffset(info.BaseOffset)
			sent = append(sent, b)
		}
		l.settle()
		check := func(l *watched) {
			t.Helper()
			got := l.contents()
			if len(got) != len(sent) {
				t.Fatalf("%d batches of %d", len(got), len(sent))
			}
			for i := range got {
				if !samePayload(got[i], sent[i]) || got[i].LeaderEpoch() != 0 {
					t.Fatalf("batch %d differs", i)
				}
			}
		}
		check(l)
		if s := d.Stats(); s.SegmentRolls < 3 {
			t.Errorf("%d rolls", s.SegmentRolls)
		}
		for range 2 {
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			d = h.open()
			l = h.log(d, "t")
			check(l)
			b := build(t, 2, 700, h.nowMs())
			b.SetBaseOffset(l.append(b).BaseOffset)
			sent = append(sent, b)
			l.settle()
			check(l)
		}
	})
}

func TestEachOffsetIsFoundInMemoryAndInFiles(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		h.cfg.SegmentBytes = 100_000
		d := h.open()
		l := h.log(d, "t")
		for i := range 200 {
			l.append(build(t, 1+i%5, 100+i%900, h.nowMs()))
		}
		l.settle()
		check := func(l *watched) {
			t.Helper()
			for o := int64(0); o < l.EndOffset(); o++ {
				ranges, err := l.Read(nil, o, 61, l.EndOffset(), true, true)
				if err != nil {
					t.Fatalf("offset %d: %v", o, err)
				}
				b, err := bytesOf(ranges)
				if err != nil || len(b) < batch.HeaderSize {
					t.Fatalf("offset %d: %d bytes, %v", o, len(b), err)
				}
				first := batch.Batch(b)
				if first.BaseOffset() > o || first.LastOffset() < o {
					t.Fatalf("offset %d: batch %d to %d", o, first.BaseOffset(), first.LastOffset())
				}
				if !first.ValidCRC() {
					t.Fatalf("offset %d: first batch is not whole", o)
				}
			}
		}
		check(l)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d = h.open()
		check(h.log(d, "t"))
		if s := d.Stats(); s.SlabReadBytes != 0 {
			t.Errorf("%d bytes from slabs after a restart", s.SlabReadBytes)
		}
	})
}

func TestABatchLargerThanTheLimitComesWholeOrNotAtAll(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		d := h.open()
		l := h.log(d, "t")
		b := build(t, 3, 700, h.nowMs())
		l.append(b)
		l.append(b)
		l.settle()
		check := func(l *watched) {
			t.Helper()
			for _, c := range []struct {
				maxBytes int
				minOne   bool
				want     int
			}{
				{0, false, 0}, {1, false, 0}, {len(b) - 1, false, 0}, {len(b), false, len(b)}, {len(b) + 1, false, len(b) + 1},
				{0, true, len(b)}, {1, true, len(b)}, {len(b) - 1, true, len(b)}, {len(b) + 1, true, len(b) + 1},
			} {
				ranges, err := l.Read(nil, 0, c.maxBytes, l.EndOffset(), c.minOne, true)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := bytesOf(ranges); err != nil || len(got) != c.want {
					t.Errorf("at most %d bytes, minOne %v: %d bytes, %v; want %d", c.maxBytes, c.minOne, len(got), err, c.want)
				}
			}
		}
		check(l)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		check(h.log(h.open(), "t"))
	})
}

func TestReadEndsBeforeUpTo(t *testing.T) {
	h := onOne(t)
	h.cfg.SegmentBytes = 20_000
	l := h.log(h.open(), "t")
	var ends []int64
	for i := range 60 {
		ends = append(ends, l.append(build(t, 1+i%3, 700, h.nowMs())).LastOffset+1)
	}
	l.settle()
	for _, upTo := range ends {
		ranges, err := l.Read(nil, 0, 1<<20, upTo, true, true)
		if err != nil {
			t.Fatal(err)
		}
		b, err := bytesOf(ranges)
		if err != nil {
			t.Fatal(err)
		}
		last := int64(0)
		for one, err := range batch.All(b) {
			if err != nil {
				t.Fatalf("up to %d: %v", upTo, err)
			}
			last = one.NextOffset()
		}
		if last != upTo {
			t.Fatalf("read to %d, up to %d", last, upTo)
		}
	}
	for _, c := range []struct {
		offset, upTo int64
		err          error
	}{
		{l.EndOffset(), l.EndOffset(), nil},
		{5, 5, nil},
		{l.EndOffset() + 1, l.EndOffset() + 5, segment.ErrOffsetOutOfRange},
		{-1, 5, segment.ErrOffsetOutOfRange},
	} {
		ranges, err := l.Read(nil, c.offset, 100, c.upTo, true, false)
		if len(ranges) > 0 || !errors.Is(err, c.err) {
			t.Errorf("read %d to %d: %d ranges, %v", c.offset, c.upTo, len(ranges), err)
		}
	}
}

// A reference keeps the bytes of a read whatever happens to the log.
func TestRangesOutliveEvictionTruncationAndDeletion(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		h.opts.SlabBytes = 4 << 20
		d := h.open()
		l := h.log(d, "t")
		first := build(t, 1, 100_000, h.nowMs())
		l.append(first)
		l.settle()
		memory, err := l.Read(nil, 0, 1, 1, true, true)
		if err != nil || len(memory) == 0 || memory[0].Mem == nil {
			t.Fatalf("%d ranges, %v", len(memory), err)
		}
		filler := build(t, 1, 500_000, h.nowMs())
		for range 30 {
			for {
				_, err := l.Append(filler, 0)
				if errors.Is(err, segment.ErrBusy) {
					l.settle()
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		l.settle()
		if e := d.Stats().Slabs.Evictions; e == 0 {
			t.Error("nothing was evicted")
		}
		second, err := l.Read(nil, 2, 1, 31, true, true)
		if err != nil || len(second) == 0 || second[0].Mem != nil {
			t.Fatalf("expected a file range: %v", err)
		}
		if err := l.Truncate(1); err != nil {
			t.Fatal(err)
		}
		if err := l.Delete(); err != nil {
			t.Fatal(err)
		}
		if b, err := bytesOf(memory); err != nil || !samePayload(first, b) {
			t.Errorf("memory range changed: %v", err)
		}
		second[0].Ref.Release()
		for _, r := range second[1:] {
			r.Ref.Release()
		}
		if _, err := l.Append(filler, 0); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("append to deleted log: %v", err)
		}
		if _, err := l.Read(nil, 0, 1, 1, true, false); !errors.Is(err, segment.ErrClosed) && !errors.Is(err, segment.ErrOffsetOutOfRange) {
			t.Errorf("read of deleted log: %v", err)
		}
	})
}

func TestManyAppendersShareWrites(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		d := h.open()
		const logs, appenders, each = 5, 4, 50
		var ls []*watched
		for i := range logs {
			ls = append(ls, h.log(d, fmt.Sprintf("t%d", i)))
		}
		b := build(t, 3, 200, h.nowMs())
		var wg sync.WaitGroup
		for _, l := range ls {
			for range appenders {
				wg.Go(func() {
					for range each {
						if _, err := l.Append(b, 0); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
		for _, l := range ls {
			l.settle()
			if n := len(l.contents()); n != appenders*each {
				t.Errorf("%d batches", n)
			}
		}
		s := d.Stats()
		if s.AppendedBatches != logs*appenders*each || s.Writes > s.AppendedBatches {
			t.Errorf("%d batches in %d writes", s.AppendedBatches, s.Writes)
		}
	})
}

func TestBatchesLargerThanASlabAndAWrite(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		h.opts.SlabBytes = 64 << 20
		l := h.log(h.open(), "t")
		var sent []batch.Batch
		for _, size := range []int{100, 3 << 20, 50, 9 << 20, 1<<20 - 70, 4096, 5 << 20} {
			b := build(t, 1, size, h.nowMs())
			l.append(b)
			sent = append(sent, b)
		}
		l.settle()
		for i, b := range l.contents() {
			if !samePayload(b, sent[i]) {
				t.Fatalf("batch %d differs", i)
			}
		}
	})
}

func TestIdempotentRetryIsRecognisedAlsoAfterRestart(t *testing.T) {
	for _, clean := range []bool{true, false} {
		t.Run(fmt.Sprintf("clean=%v", clean), func(t *testing.T) {
			h := onOne(t)
			d := h.open()
			l := h.log(d, "t")
			send := func(l *watched, seq int) (segment.AppendInfo, error) {
				return l.Append(build(t, 2, 10, h.nowMs(), func(b *batch.Builder) {
					b.ProducerID, b.ProducerEpoch, b.BaseSequence = 7, 0, int32(seq)
				}), 0)
			}
			for i := range 8 {
				if _, err := send(l, 2*i); err != nil {
					t.Fatal(err)
				}
			}
			l.settle()
			check := func(l *watched) {
				t.Helper()
				for i := 3; i < 8; i++ {
					info, err := send(l, 2*i)
					if err != nil || !info.Duplicate || info.BaseOffset != int64(2*i) || info.LastOffset != int64(2*i+1) {
						t.Errorf("retry of sequence %d: %+v, %v", 2*i, info, err)
					}
				}
				if _, err := send(l, 20); !errors.Is(err, segment.ErrOutOfOrderSequence) {
					t.Errorf("gap: %v", err)
				}
				if l.EndOffset() != 16 {
					t.Errorf("end offset %d", l.EndOffset())
				}
			}
			check(l)
			if clean {
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				h.crash()
			}
			d = h.open()
			if d.WasClean() != clean {
				t.Errorf("clean shutdown seen: %v", d.WasClean())
			}
			l = h.log(d, "t")
			check(l)
			if p := l.Producers(); len(p) != 1 || p[0].ProducerID != 7 || p[0].LastSequence != 15 {
				t.Errorf("producers %+v", p)
			}
		})
	}
}

func TestReadThatWouldWaitSaysSo(t *testing.T) {
	h := onOne(t)
	d := h.open()
	l := h.log(d, "t")
	for range 20 {
		l.append(build(t, 1, 100_000, h.nowMs()))
	}
	l.settle()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = h.open()
	l = h.log(d, "t")
	// The file is closed and its index not mapped.
	if _, err := l.Read(nil, 3, 1000, l.EndOffset(), true, false); !errors.Is(err, segment.ErrWouldBlock) {
		t.Errorf("cold read: %v", err)
	}
	ranges, err := l.Read(nil, 3, 1000, l.EndOffset(), true, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bytesOf(ranges); err != nil {
		t.Fatal(err)
	}
	ranges, err = l.Read(nil, 3, 1000, l.EndOffset(), true, false)
	if err != nil {
		t.Errorf("warm read: %v", err)
	}
	if _, err := bytesOf(ranges); err != nil {
		t.Fatal(err)
	}
}

func TestAsyncLogReportsAtOnceAndFlushesOnRequest(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		h.cfg.Durability, h.cfg.FlushMessages = segment.Async, 10
		d := h.open()
		l := h.log(d, "t")
		for i := range 9 {
			info := l.append(build(t, 1, 10, h.nowMs()))
			if got := l.durableSeen(); got != info.LastOffset+1 {
				t.Fatalf("after append %d reported %d", i, got)
			}
		}
		if l.DurableOffset() != 0 {
			t.Errorf("on disk up to %d", l.DurableOffset())
		}
		l.append(build(t, 1, 10, h.nowMs()))
		waitFor(t, func() bool { return l.DurableOffset() == 10 })
		l.append(build(t, 1, 10, h.nowMs()))
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if got := h.log(h.open(), "t").EndOffset(); got != 11 {
			t.Errorf("after restart end offset %d", got)
		}
	})
}

func TestAsyncBytesReachTheFileWithoutBeingAskedFor(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		h.cfg.Durability = segment.Async
		d := h.open()
		l := h.log(d, "t")
		for range 20 {
			l.append(build(t, 1, 10, h.nowMs()))
		}
		waitFor(t, func() bool { return d.Stats().SpilledBytes == l.Size() })
		// Later ones as well: the timer runs again.
		l.append(build(t, 1, 10, h.nowMs()))
		waitFor(t, func() bool { return d.Stats().SpilledBytes == l.Size() })
	})
}

// waitFor polls for something that no callback tells; it gives up after a generous time.
func waitFor(t testing.TB, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("did not happen in time")
		}
	}
}
