package segment_test

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

// filled makes a log of n segments with 10 batches each, one minute apart, all durable and sealed but for the last.
func filled(t *testing.T, h *harness, d *segment.Dir, n int) *watched {
	l := h.log(d, "t")
	for i := range n * 10 {
		if i%10 == 0 {
			h.advance(time.Minute)
		}
		l.append(build(t, 1, 1000, h.nowMs()))
	}
	l.settle()
	return l
}

func retainUntil(t *testing.T, l *watched, start int64) {
	t.Helper()
	waitFor(t, func() bool {
		if _, err := l.ApplyRetention(); err != nil {
			t.Fatal(err)
		}
		return l.StartOffset() >= start
	})
	for range 3 {
		if n, err := l.ApplyRetention(); n != 0 || err != nil {
			t.Errorf("another pass deleted %d: %v", n, err)
		}
	}
	if l.StartOffset() != start {
		t.Errorf("start offset %d, expected %d", l.StartOffset(), start)
	}
}

func TestRetention(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*segment.LogConfig)
		later  time.Duration
		start  int64
	}{
		{"none", func(c *segment.LogConfig) {}, 1000 * time.Hour, 0},
		{"by time", func(c *segment.LogConfig) { c.RetentionMs = 150_000 }, 0, 20},
		{"by time, all of it", func(c *segment.LogConfig) { c.RetentionMs = 150_000 }, time.Hour, 50},
		{"by size", func(c *segment.LogConfig) { c.RetentionBytes = 25_000 }, 0, 20},
		{"by size, less than a segment", func(c *segment.LogConfig) { c.RetentionBytes = 10 }, 0, 40},
		{"not where only compaction deletes", func(c *segment.LogConfig) { c.RetentionMs, c.DeleteByRetention = 1, false }, time.Hour, 0},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				h := inMemory(t)
				h.cfg.SegmentBytes = 11_000
				c.change(&h.cfg)
				d := h.open()
				l := filled(t, h, d, 5)
				if restart {
					if err := d.Close(); err != nil {
						t.Fatal(err)
					}
					d = h.open()
					l = h.log(d, "t")
				}
				h.advance(c.later)
				retainUntil(t, l, c.start)
				if info := l.append(build(t, 1, 10, h.nowMs())); info.BaseOffset != 50 || info.LogStartOffset != c.start {
					t.Errorf("%+v", info)
				}
				l.settle()
				waitFor(t, func() bool {
					names, _ := filepath.Glob(filepath.Join(h.path, "t-0", "*.deleted"))
					for _, n := range names {
						if !strings.Contains(n, "prepared") {
							return false
						}
					}
					return true
				})
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
				if l := h.log(h.open(), "t"); l.StartOffset() != c.start || l.EndOffset() != 51 {
					t.Errorf("after restart %d to %d", l.StartOffset(), l.EndOffset())
				}
			})
		}
	}
}

func TestTimestampsInTheFutureDoNotKeepSegments(t *testing.T) {
	h := inMemory(t)
	h.cfg.SegmentBytes, h.cfg.RetentionMs = 11_000, 100_000
	h.now = time.Now()
	l := h.log(h.open(), "t")
	for range 20 {
		l.append(build(t, 1, 1000, h.nowMs()+int64(1000*time.Hour/time.Millisecond)))
	}
	l.settle()
	retainUntil(t, l, 0)
	h.advance(time.Hour)
	retainUntil(t, l, 20)
}

func TestDeletedRecordsStayDeleted(t *testing.T) {
	h := inMemory(t)
	h.cfg.SegmentBytes = 11_000
	d := h.open()
	l := filled(t, h, d, 5)
	if err := l.AdvanceStartOffset(51); !errors.Is(err, segment.ErrOffsetOutOfRange) {
		t.Errorf("beyond the end: %v", err)
	}
	if err := l.AdvanceStartOffset(25); err != nil {
		t.Fatal(err)
	}
	if err := l.AdvanceStartOffset(7); err != nil || l.StartOffset() != 25 {
		t.Errorf("backwards: %v, start %d", err, l.StartOffset())
	}
	waitFor(t, func() bool { _, err := os.Stat(h.logFile("t", 10, ".log")); return err != nil })
	if _, err := l.Read(nil, 24, 10, 50, true, true); !errors.Is(err, segment.ErrOffsetOutOfRange) {
		t.Errorf("read of a deleted record: %v", err)
	}
	h.crash()
	d = h.open()
	l = h.log(d, "t")
	if l.StartOffset() != 25 || len(l.contents()) != 25 {
		t.Errorf("after kill: start %d", l.StartOffset())
	}
	if err := l.AdvanceStartOffset(50); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	l = h.log(h.open(), "t")
	if l.StartOffset() != 50 || l.EndOffset() != 50 {
		t.Errorf("%d to %d", l.StartOffset(), l.EndOffset())
	}
	if info := l.append(build(t, 1, 10, 0)); info.BaseOffset != 50 {
		t.Errorf("appended at %d", info.BaseOffset)
	}
	l.settle()
}

func TestTruncate(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		h.cfg.SegmentBytes = 11_000
		d := h.open()
		l := h.log(d, "t")
		for i := range 30 {
			if _, err := l.Append(build(t, 2, 500, h.nowMs(), func(b *batch.Builder) {
				b.ProducerID, b.ProducerEpoch, b.BaseSequence = 5, 0, int32(2*i)
			}), int32(i/10)); err != nil {
				t.Fatal(err)
			}
		}
		l.settle()
		for _, c := range []struct {
			to, end int64
			epoch   int32
		}{{100, 60, 2}, {55, 54, 2}, {40, 40, 1}, {33, 32, 1}, {20, 20, 0}} {
			l.truncate(c.to)
			if l.EndOffset() != c.end || l.DurableOffset() != c.end || l.LeaderEpoch() != c.epoch {
				t.Errorf("to %d: end %d, durable %d, epoch %d", c.to, l.EndOffset(), l.DurableOffset(), l.LeaderEpoch())
			}
			if got := len(l.contents()); int64(got) != c.end/2 {
				t.Errorf("to %d: %d batches", c.to, got)
			}
			if p := l.Producers(); len(p) != 1 || int64(p[0].LastSequence) != c.end-1 {
				t.Errorf("to %d: producers %+v", c.to, p)
			}
		}
		other := build(t, 1, 300, h.nowMs())
		if _, err := l.Append(other, 7); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return l.DurableOffset() == 21 })
		h.crash()
		l = h.log(h.open(), "t")
		got := l.contents()
		if l.EndOffset() != 21 || !samePayload(got[len(got)-1], other) {
			t.Errorf("after kill: end %d", l.EndOffset())
		}
		if epoch, end := l.EndOffsetForEpoch(6); epoch != 0 || end != 20 {
			t.Errorf("epoch 6 ends as %d at %d", epoch, end)
		}
	})
}

func TestDeletedLogCanBeMadeAnew(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		d := h.open()
		for i := range 10 {
			l := h.log(d, "t")
			if l.EndOffset() != 0 {
				t.Fatalf("round %d: end offset %d", i, l.EndOffset())
			}
			for range 3 {
				l.append(build(t, 1, 100+i, h.nowMs()))
			}
			if i%2 == 0 {
				l.settle()
			}
			if err := l.Delete(); err != nil {
				t.Fatal(err)
			}
		}
		waitFor(t, func() bool {
			names, err := filepath.Glob(filepath.Join(h.path, "t-0*"))
			return err == nil && len(names) == 0
		})
		if d.Err() != nil {
			t.Error(d.Err())
		}
	})
}

func TestOrphansAreSetAside(t *testing.T) {
	h := inMemory(t)
	d := h.open()
	for _, name := range []string{"known", "unknown", "other-id"} {
		l := h.log(d, name)
		l.append(build(t, 1, 100, h.nowMs()))
		l.settle()
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	os.Mkdir(filepath.Join(h.path, "no-partition-x"), 0o755)
	d = h.open()
	aside, err := d.Orphans(func(topic string, partition int32, id [16]byte) bool {
		return topic == "known" && partition == 0 && id == topicID
	})
	if err != nil || len(aside) != 2 {
		t.Fatalf("%v, %v", aside, err)
	}
	for _, p := range aside {
		if _, err := os.Stat(filepath.Join(p, "00000000000000000000.log")); err != nil {
			t.Errorf("data of orphan: %v", err)
		}
	}
	if again, err := d.Orphans(func(string, int32, [16]byte) bool { return true }); err != nil || len(again) != 0 {
		t.Errorf("second time: %v, %v", again, err)
	}
	if l := h.log(d, "unknown"); l.EndOffset() != 0 {
		t.Error("orphan came back")
	}
}

func TestLookUpByTime(t *testing.T) {
	h := inMemory(t)
	h.cfg.SegmentBytes, h.cfg.IndexIntervalBytes = 4_000, 300
	d := h.open()
	l := h.log(d, "t")
	base := h.nowMs()
	// Times within a batch rise by 1; batches are 100 apart, but every tenth is late.
	for i := range 100 {
		ts := base + int64(i)*100
		if i%10 == 9 {
			ts -= 550
		}
		l.append(build(t, 3, 50, ts))
	}
	l.settle()
	timeOf := func(o int64) int64 {
		ts := base + o/3*100
		if o/3%10 == 9 {
			ts -= 550
		}
		return ts + o%3
	}
	check := func(l *watched) {
		t.Helper()
		for ts := base - 5; ts < base+10_100; ts += 7 {
			want := segment.TimestampOffset{Timestamp: -1, Offset: -1, LeaderEpoch: -1}
			for o := range int64(300) {
				if timeOf(o) >= ts {
					want = segment.TimestampOffset{Timestamp: timeOf(o), Offset: o}
					break
				}
			}
			if got, err := l.OffsetForTimestamp(ts); err != nil || got != want {
				t.Fatalf("time %d: %+v, expected %+v, %v", ts-base, got, want, err)
			}
		}
		want := segment.TimestampOffset{Timestamp: timeOf(296), Offset: 296}
		if got, err := l.MaxTimestamp(); err != nil || got != want {
			t.Errorf("max timestamp %+v, expected %+v, %v", got, want, err)
		}
	}
	check(l)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	l = h.log(h.open(), "t")
	check(l)
	if err := l.AdvanceStartOffset(200); err != nil {
		t.Fatal(err)
	}
	if got, err := l.OffsetForTimestamp(0); err != nil || got.Offset != 200 {
		t.Errorf("time 0 after deletion: %+v, %v", got, err)
	}
}

func TestLeaderEpochs(t *testing.T) {
	h := inMemory(t)
	d := h.open()
	l := h.log(d, "t")
	if l.LeaderEpoch() != -1 {
		t.Errorf("epoch %d", l.LeaderEpoch())
	}
	if err := l.AssignLeaderEpoch(0); err != nil {
		t.Fatal(err)
	}
	for _, e := range []int32{0, 0, 2, 2, 5} {
		if _, err := l.Append(build(t, 2, 10, 0), e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Append(build(t, 1, 10, 0), 4); err == nil {
		t.Error("older epoch accepted")
	}
	l.settle()
	if err := l.AssignLeaderEpoch(9); err != nil {
		t.Fatal(err)
	}
	check := func(l *watched) {
		t.Helper()
		for _, c := range []struct {
			asked, found int32
			end          int64
		}{{-1, -1, -1}, {0, 0, 4}, {1, 0, 4}, {2, 2, 8}, {4, 2, 8}, {5, 5, 10}, {8, 5, 10}, {9, 9, 10}, {20, 9, 10}} {
			if found, end := l.EndOffsetForEpoch(c.asked); found != c.found || end != c.end {
				t.Errorf("epoch %d: %d ends at %d", c.asked, found, end)
			}
		}
		for o, e := range []int32{0, 0, 0, 0, 2, 2, 2, 2, 5, 5} {
			if got := l.EpochForOffset(int64(o)); got != e {
				t.Errorf("offset %d: epoch %d", o, got)
			}
		}
	}
	check(l)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = h.open()
	check(h.log(d, "t"))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	remove(t, filepath.Join(h.path, "t-0", "leader-epoch-checkpoint"), filepath.Join(h.path, "recovery-point-offset-checkpoint"))
	l = h.log(h.open(), "t")
	if found, end := l.EndOffsetForEpoch(3); found != 2 || end != 8 {
		t.Errorf("from batches: epoch 3 is %d, ends at %d", found, end)
	}
}
