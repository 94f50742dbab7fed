package compact

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"millrace/segment"
)

// start runs a cleaner over the dir's logs, on the harness's clock.
func (h *harness) start() *Cleaner {
	h.use.BackoffMs = 1
	c := Start(Options{Logs: h.dir.Logs, Config: func() Config { return h.use }, Now: h.opts.Now, Logger: quiet})
	h.t.Cleanup(c.Close)
	return c
}

// await waits until the cleaner's counters are as wanted.
func await(t *testing.T, c *Cleaner, what string, ok func(Stats) bool) Stats {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s := c.Stats()
		if ok(s) {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %+v", what, s)
		}
	}
}

func TestALogThatCannotBeCleanedHoldsNoOtherUp(t *testing.T) {
	h := newHarness(t, "buffered", t.TempDir())
	h.open()
	h.say("a=1", "a=2")
	h.roll(h.parse("z=1"))
	bad := h.log
	path := filepath.Join(h.opts.Path, "t-0", h.files(".log")[0])
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := append([]byte(nil), whole...)
	broken[70] ^= 1
	if err := os.WriteFile(path, broken, 0o644); err != nil {
		t.Fatal(err)
	}
	good, err := h.dir.OpenLog("good", 0, segment.LogOptions{TopicID: [16]byte{2}, Config: h.cfg, OnDurable: func(int64) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.changed.Broadcast()
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := h.start()
	await(t, c, "the damaged log is uncleanable", func(s Stats) bool { return s.Uncleanable == 1 && s.Failures == 1 })
	h.log = good
	h.say("a=1", "a=2")
	h.roll(h.parse("z=1"))
	await(t, c, "the other one is cleaned", func(s Stats) bool { return s.Runs == 1 && s.Uncleanable == 1 })
	h.want("1:a=2 2:z=1")
	h.log = bad
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	h.advance(2 * time.Minute)
	s := await(t, c, "the repaired log is cleaned", func(s Stats) bool { return s.Runs == 2 && s.Uncleanable == 0 })
	h.want("1:a=2 2:z=1")
	if s.Failures != 1 || s.ReadBytes == 0 || s.WrittenBytes == 0 || s.LastRun.IsZero() {
		t.Errorf("%+v", s)
	}
}

func TestWhatIsDue(t *testing.T) {
	h := newHarness(t, "buffered", t.TempDir())
	h.cfg.MinDirtyRatio = 0.5
	h.cfg.MaxCompactionLagMs = 3_600_000
	h.open()
	h.say("a=1", "a=2", "b-")
	h.roll(h.parse("z=1"))
	c := h.start()
	await(t, c, "all of it is dirty", func(s Stats) bool { return s.Runs == 1 })
	h.want("1:a=2 2:b- 3:z=1")
	h.roll(h.parse("z=2")) // 3 is dirty now, less than half
	s := await(t, c, "the ratio is seen", func(s Stats) bool { return s.MaxDirtyRatio > 0 })
	if s.MaxDirtyRatio > 0.5 || s.Runs != 1 {
		t.Errorf("%+v", s)
	}
	h.advance(2 * time.Hour)
	await(t, c, "the oldest dirty record is too old", func(s Stats) bool { return s.Runs == 2 && s.MaxDirtyRatio == 0 })
	h.advance(day)
	await(t, c, "a tombstone's horizon is past", func(s Stats) bool { return s.Runs == 3 })
	h.want("1:a=2 3:z=1 4:z=2")
}

func TestTheWholeLogIsCompactedThoughTheMapIsSmall(t *testing.T) {
	h := newHarness(t, "buffered", t.TempDir())
	h.cfg.MinDirtyRatio = 0.5
	h.use.DedupeBufferBytes = 3 * entryBytes
	h.open()
	h.say("a=1", "b=1", "c=1", "d=1", "e=1", "a=2", "b=2", "c=2", "d=2", "e=2")
	h.roll(h.parse("z=1"))
	c := h.start()
	await(t, c, "passes go on below the ratio", func(s Stats) bool { return s.Runs > 2 && s.MaxDirtyRatio == 0 })
	h.want("5:a=2 6:b=2 7:c=2 8:d=2 9:e=2 10:z=1")
}

func TestClosingEndsAPass(t *testing.T) {
	h := newHarness(t, "buffered", t.TempDir())
	h.open()
	h.say("a=1", "a=2")
	h.roll(h.parse("z=1"))
	h.use.MaxBytesPerSecond = 1 // minutes
	c := h.start()
	await(t, c, "a pass is under way", func(s Stats) bool { return s.Active == 1 })
	began := time.Now()
	c.Close()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("closing took %v", took)
	}
	h.want("0:a=1 1:a=2 2:z=1")
	if s := c.Stats(); s.Failures != 0 || s.Uncleanable != 0 {
		t.Errorf("%+v", s)
	}
}

func TestBytesAreThrottled(t *testing.T) {
	h := newHarness(t, "buffered", t.TempDir())
	h.open()
	for range 40 {
		h.say("a=1", "b=2")
	}
	h.roll(h.parse("z=1"))
	size := h.log.Cleanable(1 << 60).Segments[0].Size // read twice
	h.use.MaxBytesPerSecond = float64(size) * 4
	began := time.Now()
	h.compact()
	if took := time.Since(began); took < 400*time.Millisecond {
		t.Errorf("%d bytes took %v at %.0f a second", 2*size, took, h.use.MaxBytesPerSecond)
	}
}

// Retention, deletion and truncation may come while a pass is under way.
func TestLogsChangeUnderAPass(t *testing.T) {
	h := newHarness(t, "buffered", t.TempDir())
	h.cfg.SegmentBytes, h.cfg.FileDeleteDelayMs = 400, 0
	h.open()
	c := h.start()
	var end atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; !end.Load(); i++ {
			cfg := h.cfg
			cfg.DeleteByRetention, cfg.RetentionBytes = true, 2000
			h.log.SetConfig(cfg)
			if _, err := h.log.ApplyRetention(); err != nil {
				t.Errorf("retention: %v", err)
			}
			if i%50 == 0 {
				if err := h.log.Truncate(max(h.log.EndOffset()-5, h.log.StartOffset())); err != nil {
					t.Errorf("truncate: %v", err)
				}
			}
		}
	}()
	for i := range 600 {
		h.say([]string{"a=1", "b=1", "c=1 a-", "d=2"}[i%4])
	}
	end.Store(true)
	<-done
	if err := h.log.Delete(); err != nil {
		t.Errorf("delete: %v", err)
	}
	c.Close()
	if s := c.Stats(); s.Failures != 0 || h.dir.Err() != nil {
		t.Errorf("%+v, dir %v", s, h.dir.Err())
	}
}
