package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"millrace/segment"
	"millrace/segment/batch"
)

// A tail torn at any byte of the last three batches, cut off there, zero from there on or garbage from there on: what
// is whole stays, the rest goes, and appending goes on.
func TestTornTailAtEachByteIsCut(t *testing.T) {
	h := inMemory(t)
	d := h.open()
	l := h.log(d, "whole")
	var ends []int64 // position behind each batch
	pos := int64(0)
	for i := range 6 {
		b := build(t, 1+i%2, 3+i, h.nowMs())
		l.append(b)
		pos += int64(len(b))
		ends = append(ends, pos)
	}
	l.settle()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(h.logFile("whole", 0, ".log"))
	if err != nil {
		t.Fatal(err)
	}
	meta, err := os.ReadFile(filepath.Join(h.path, "whole-0", "partition.metadata"))
	if err != nil {
		t.Fatal(err)
	}
	noise := rand.New(rand.NewPCG(1, 2))
	ways := []struct {
		name  string
		image func(cut int64) []byte
	}{
		{"short", func(cut int64) []byte { return content[:cut] }},
		{"zeros", func(cut int64) []byte { return append(append([]byte(nil), content[:cut]...), make([]byte, 20_000)...) }},
		{"garbage", func(cut int64) []byte {
			b := append(append([]byte(nil), content[:cut]...), make([]byte, 300)...)
			for i := cut; i < int64(len(b)); i++ {
				b[i] = byte(noise.Uint32())
			}
			return b
		}},
	}
	remove(t, filepath.Join(h.path, ".kafka_cleanshutdown"))
	for cut := ends[2]; cut <= ends[5]; cut++ {
		for _, way := range ways {
			name := fmt.Sprintf("%s%d", way.name, cut)
			dir := filepath.Join(h.path, name+"-0")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			os.WriteFile(filepath.Join(dir, "partition.metadata"), meta, 0o644)
			os.WriteFile(filepath.Join(dir, "00000000000000000000.log"), way.image(cut), 0o644)
		}
	}
	d = h.open()
	for cut := ends[2]; cut <= ends[5]; cut++ {
		for _, way := range ways {
			// Zeros behind the cut may happen to be what was there.
			image, err := os.ReadFile(h.logFile(fmt.Sprintf("%s%d", way.name, cut), 0, ".log"))
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			for want < len(ends) && int64(len(image)) >= ends[want] && bytes.Equal(image[:ends[want]], content[:ends[want]]) {
				want++
			}
			l := h.log(d, fmt.Sprintf("%s%d", way.name, cut))
			if got := len(l.contents()); got != want {
				t.Fatalf("%s at %d: %d batches, expected %d", way.name, cut, got, want)
			}
			next := l.EndOffset()
			if info := l.append(build(t, 1, 5, h.nowMs())); info.BaseOffset != next {
				t.Fatalf("%s at %d: appended at %d, expected %d", way.name, cut, info.BaseOffset, next)
			}
			l.settle()
			if got := len(l.contents()); got != want+1 {
				t.Fatalf("%s at %d: %d batches after append", way.name, cut, got)
			}
			if err := l.Delete(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Blocks of one write may reach the disk in any order: an earlier one may be missing while a later one is there.
func TestReorderedBlocksOfTheLastWriteAreCut(t *testing.T) {
	h := onOne(t)
	d := h.open()
	l := h.log(d, "t")
	for range 3 {
		l.append(build(t, 1, 1000, h.nowMs()))
	}
	l.settle()
	for range 20 {
		l.append(build(t, 1, 1000, h.nowMs()))
	}
	l.settle()
	h.crash()
	corruptAt(t, h.logFile("t", 0, ".log"), 8192, 12288)
	l = h.log(h.open(), "t")
	if n := len(l.contents()); n != 7 {
		t.Errorf("%d batches", n)
	}
}

// Damage of what was acknowledged is never turned into a shorter log.
func TestDamageBelowTheRecoveryPointIsReported(t *testing.T) {
	for _, unclean := range []bool{false, true} {
		t.Run(fmt.Sprintf("unclean=%v", unclean), func(t *testing.T) {
			h := onOne(t)
			d := h.open()
			l := h.log(d, "t")
			var at []int64
			pos := int64(0)
			for range 50 {
				b := build(t, 1, 1000, h.nowMs())
				l.append(b)
				at = append(at, pos)
				pos += int64(len(b))
			}
			l.settle()
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if unclean {
				remove(t, filepath.Join(h.path, ".kafka_cleanshutdown"), h.logFile("t", 0, ".index"))
			}
			corruptAt(t, h.logFile("t", 0, ".log"), at[20], at[21]+100) // headers of two batches
			d = h.open()
			l = h.log(d, "t")
			if l.EndOffset() != 50 {
				t.Fatalf("end offset %d", l.EndOffset())
			}
			if n, err := readable(l, 0, 50); n != 20 || err != nil && !errors.Is(err, segment.ErrCorrupt) {
				t.Errorf("from the start: %d batches, %v", n, err)
			}
			for _, o := range []int64{20, 21} {
				if _, err := l.Read(nil, o, 100, 50, true, true); !errors.Is(err, segment.ErrCorrupt) || !strings.Contains(err.Error(), ".log") {
					t.Errorf("damaged offset %d: %v", o, err)
				}
			}
			if n, err := readable(l, 30, 50); unclean && (n != 20 || err != nil) {
				t.Errorf("behind the damage: %d batches, %v", n, err)
			}
			if info := l.append(build(t, 1, 10, h.nowMs())); info.BaseOffset != 50 {
				t.Errorf("appended at %d", info.BaseOffset)
			}
			l.settle()
		})
	}
}

func TestFileShorterThanTheRecoveryPointIsReported(t *testing.T) {
	h := onOne(t)
	d := h.open()
	l := h.log(d, "t")
	for range 10 {
		l.append(build(t, 1, 1000, h.nowMs()))
	}
	l.settle()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(h.logFile("t", 0, ".log"), 5400); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		d = h.open()
		l = h.log(d, "t")
		if l.EndOffset() != 10 {
			t.Fatalf("end offset %d", l.EndOffset())
		}
		if _, err := l.Read(nil, 7, 100, 10, true, true); !errors.Is(err, segment.ErrCorrupt) {
			t.Errorf("lost offset: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	d = h.open()
	l = h.log(d, "t")
	if info := l.append(build(t, 1, 10, h.nowMs())); info.BaseOffset != 10 {
		t.Errorf("appended at %d", info.BaseOffset)
	}
	l.settle()
	if n, err := readable(l, 10, 11); n != 1 || err != nil {
		t.Errorf("new batch: %d, %v", n, err)
	}
}

// readable counts the batches that can be read before an error.
func readable(l *watched, from, to int64) (n int, err error) {
	err = l.ReadBatches(from, to, func(batch.Batch) error { n++; return nil })
	return n, err
}

func TestLeftOversOfACrashDoNotDisturb(t *testing.T) {
	cases := map[string]func(t *testing.T, h *harness){
		"empty segment": func(t *testing.T, h *harness) {
			os.WriteFile(h.logFile("t", 10, ".log"), nil, 0o644)
		},
		"preallocated segment": func(t *testing.T, h *harness) {
			os.WriteFile(h.logFile("t", 10, ".log"), make([]byte, 1<<20), 0o644)
			os.WriteFile(h.logFile("t", 10, ".index"), make([]byte, 16384), 0o644)
			os.WriteFile(h.logFile("t", 10, ".timeindex"), make([]byte, 24588), 0o644)
		},
		"index without segment": func(t *testing.T, h *harness) {
			os.WriteFile(h.logFile("t", 10, ".index"), make([]byte, 16384), 0o644)
		},
		"prepared and deleted files": func(t *testing.T, h *harness) {
			os.WriteFile(filepath.Join(h.path, "t-0", "prepared.log.deleted"), make([]byte, 1<<20), 0o644)
			os.WriteFile(h.logFile("t", 0, ".log.deleted"), []byte("x"), 0o644)
			os.WriteFile(h.logFile("t", 4, ".snapshot.tmp"), []byte("x"), 0o644)
		},
		"damaged snapshot": func(t *testing.T, h *harness) {
			os.WriteFile(h.logFile("t", 10, ".snapshot"), []byte("damaged"), 0o644)
		},
		"damaged checkpoints": func(t *testing.T, h *harness) {
			os.WriteFile(filepath.Join(h.path, "recovery-point-offset-checkpoint"), []byte("0\n5\nt 0 x"), 0o644)
			os.WriteFile(filepath.Join(h.path, "t-0", "leader-epoch-checkpoint"), []byte("nonsense"), 0o644)
		},
		"gap before an empty segment": func(t *testing.T, h *harness) {
			os.WriteFile(h.logFile("t", 25, ".log"), make([]byte, 4096), 0o644)
		},
	}
	for name, prepare := range cases {
		t.Run(name, func(t *testing.T) {
			h := inMemory(t)
			d := h.open()
			l := h.log(d, "t")
			for range 10 {
				l.append(build(t, 1, 100, h.nowMs()))
			}
			l.settle()
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			remove(t, filepath.Join(h.path, ".kafka_cleanshutdown"))
			prepare(t, h)
			for range 2 {
				d := h.open()
				l := h.log(d, "t")
				n := len(l.contents())
				if info := l.append(build(t, 1, 10, h.nowMs())); info.BaseOffset != int64(n) || n < 10 {
					t.Fatalf("%d batches, appended at %d", n, info.BaseOffset)
				}
				l.settle()
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// After kill -9 only what lies past the recovery point is read.
func TestRecoveryReadsOnlyTheTail(t *testing.T) {
	h := onOne(t)
	h.cfg.SegmentBytes = 4 << 20
	d := h.open()
	l := h.log(d, "t")
	big := build(t, 1, 100_000, h.nowMs())
	for i := range 120 {
		if _, err := l.Append(big, 0); errors.Is(err, segment.ErrBusy) {
			l.settle()
			l.append(big)
		} else if err != nil {
			t.Fatal(i, err)
		}
	}
	l.settle()
	waitFor(t, func() bool {
		b, err := os.ReadFile(filepath.Join(h.path, "recovery-point-offset-checkpoint"))
		return err == nil && strings.Contains(string(b), "t 0 82")
	})
	h.crash()
	d = h.open()
	l = h.log(d, "t")
	if n := len(l.contents()); n != 120 {
		t.Fatalf("%d batches", n)
	}
	if s := d.Stats(); s.RecoveredBytes > 5<<20 {
		t.Errorf("%d bytes read", s.RecoveredBytes)
	}
}

// Many logs, none of which has enough to checkpoint for itself: together they have.
func TestRecoveryOfManyLogsReadsABoundedPart(t *testing.T) {
	h := onOne(t)
	d := h.open()
	const logs = 8
	var all []*watched
	for i := range logs {
		all = append(all, h.log(d, fmt.Sprintf("t%d", i)))
	}
	big := build(t, 1, 1_000_000, h.nowMs())
	for range 25 { // 200 MB
		for _, l := range all {
			l.append(big)
			l.settle()
		}
	}
	waitFor(t, func() bool {
		b, err := os.ReadFile(filepath.Join(h.path, "recovery-point-offset-checkpoint"))
		for i := range logs {
			if err != nil || !strings.Contains(string(b), fmt.Sprintf("t%d 0 1", i)) { // 10 to 19
				return false
			}
		}
		return true
	})
	h.crash()
	d = h.open()
	for i := range logs {
		if n := len(h.log(d, fmt.Sprintf("t%d", i)).contents()); n != 25 {
			t.Fatalf("log %d has %d batches", i, n)
		}
	}
	if s := d.Stats(); s.RecoveredBytes > 150<<20 {
		t.Errorf("%d bytes read", s.RecoveredBytes)
	}
}

func TestLogsAreOpenedInParallel(t *testing.T) {
	h := inMemory(t)
	d := h.open()
	for i := range 20 {
		l := h.log(d, fmt.Sprintf("t%d", i))
		l.append(build(t, 1, 100, h.nowMs()))
		l.settle()
	}
	h.crash()
	d = h.open()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			l, err := h.tryLog(d, fmt.Sprintf("t%d", i))
			if err != nil || l.EndOffset() != 1 {
				t.Errorf("log %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if _, err := h.tryLog(d, "t1"); err == nil {
		t.Error("a log was opened twice")
	}
}

// Retention has deleted batches of a producer, a crash comes before the snapshot that tells of them, and what was left is
// truncated: what an older snapshot says must not make the producer's next batch one out of order.
func TestASnapshotFromBeforeDeletedBatchesIsNotUsed(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		h.cfg.SegmentBytes = 2000
		of := func(sequence int32) func(*batch.Builder) {
			return func(b *batch.Builder) { b.ProducerID, b.ProducerEpoch, b.BaseSequence = 5, 0, sequence }
		}
		d := h.open()
		l := h.log(d, "t")
		for i := range int32(20) {
			l.append(build(t, 1, 400, h.nowMs(), of(i)))
		}
		l.settle()
		var snapshots []string
		var old []byte
		waitFor(t, func() bool {
			snapshots, _ = filepath.Glob(filepath.Join(filepath.Dir(h.logFile("t", 0, "")), "*.snapshot"))
			if len(snapshots) > 0 {
				old, _ = os.ReadFile(snapshots[0])
			}
			return len(old) > 0
		})
		name := filepath.Base(snapshots[0])
		c := h.cfg
		c.DeleteByRetention, c.RetentionBytes = true, 0
		l.SetConfig(c)
		waitFor(t, func() bool {
			if _, err := l.ApplyRetention(); err != nil {
				t.Fatal(err)
			}
			return l.StartOffset() >= 16
		})
		h.crash()
		dir := filepath.Dir(h.logFile("t", 0, ""))
		left, _ := filepath.Glob(filepath.Join(dir, "*.snapshot"))
		remove(t, left...)
		if err := os.WriteFile(filepath.Join(dir, name), old, 0o644); err != nil {
			t.Fatal(err)
		}
		d.Close()

		l = h.log(h.open(), "t")
		next := int32(l.StartOffset())
		l.truncate(l.StartOffset())
		if p := l.Producers(); len(p) != 0 && p[0].LastSequence != next-1 {
			t.Errorf("%+v, and batches up to %d were acknowledged", p, next-1)
		}
		l.append(build(t, 1, 400, h.nowMs(), of(next)))
	})
}
