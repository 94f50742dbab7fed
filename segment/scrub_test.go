package segment_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"millrace/segment"
	"millrace/segment/batch"
)

// scrubbing has the dirs of h scrub all the time.
func scrubbing(h *harness) *harness {
	h.opts.ScrubBytesPerSecond, h.opts.ScrubInterval = 1<<40, time.Millisecond
	return h
}

// sealedLog appends batches until there are three segments, and returns the batches of the first, which is sealed.
func sealedLog(t *testing.T, h *harness, d *segment.Dir) (l *watched, first []batch.Batch) {
	t.Helper()
	h.cfg.SegmentBytes = 64 << 10
	l = h.log(d, "t")
	for d.Stats().SegmentRolls < 2 {
		info := l.append(build(t, 5, 400, h.nowMs()))
		if info.BaseOffset < 0 {
			t.Fatal("no offset")
		}
	}
	l.settle()
	waitFor(t, func() bool { // cut to size: sealed
		fi, err := os.Stat(h.logFile("t", 0, ".log"))
		return err == nil && fi.Size() < 64<<10+1 && fi.Size()%4096 != 0
	})
	content, err := os.ReadFile(h.logFile("t", 0, ".log"))
	if err != nil {
		t.Fatal(err)
	}
	for len(content) > 0 {
		b, n, err := batch.Next(content)
		if err != nil {
			t.Fatal(err)
		}
		first, content = append(first, b), content[n:]
	}
	return l, first
}

// passed waits until a pass has begun and ended.
func passed(t *testing.T, d *segment.Dir) {
	t.Helper()
	before := d.Stats().ScrubPasses
	waitFor(t, func() bool { return d.Stats().ScrubPasses >= before+2 })
}

// readAt is what a reader is given at an offset.
func readAt(t *testing.T, l *watched, offset int64) ([]byte, error) {
	t.Helper()
	ranges, err := l.Read(nil, offset, 1<<20, l.EndOffset(), true, true)
	if err != nil {
		return nil, err
	}
	return bytesOf(ranges)
}

func TestScrubbingFindsDamageAndWhatIsGoodIsServed(t *testing.T) {
	for _, c := range []struct {
		name  string
		batch func(n int) int // of n
		at    int64           // in the batch
	}{
		{"a record", func(n int) int { return n / 2 }, 200},
		{"a length", func(n int) int { return n / 2 }, 9},
		{"a magic byte", func(n int) int { return n / 3 }, 16},
		{"a base offset", func(n int) int { return n / 2 }, 1},
		{"the CRC", func(n int) int { return n / 2 }, 17},
		{"the first batch", func(int) int { return 0 }, 100},
		{"the last batch", func(n int) int { return n - 1 }, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := scrubbing(onOne(t))
			d := h.open()
			l, batches := sealedLog(t, h, d)
			passed(t, d)
			if n := d.Stats().CorruptRanges; n != 0 {
				t.Fatalf("%d damaged ranges in a good log", n)
			}
			n := c.batch(len(batches))
			pos := int64(0)
			for _, b := range batches[:n] {
				pos += int64(b.Size())
			}
			corruptAt(t, h.logFile("t", 0, ".log"), pos+c.at, pos+c.at+1)
			waitFor(t, func() bool { return d.Stats().CorruptRanges > 0 })
			bad := batches[n]
			for i, b := range batches {
				for _, offset := range []int64{b.BaseOffset(), b.LastOffset()} {
					got, err := readAt(t, l, offset)
					if i == n {
						if !errors.Is(err, segment.ErrCorrupt) {
							t.Errorf("offset %d, damaged: %v", offset, err)
						}
						continue
					}
					if err != nil {
						t.Fatalf("offset %d, good, damage at %d to %d: %v", offset, bad.BaseOffset(), bad.LastOffset(), err)
					}
					first, _, err := batch.Next(got)
					if err != nil || first.BaseOffset() != b.BaseOffset() || !first.ValidCRC() {
						t.Errorf("offset %d: batch at %d, %v", offset, first.BaseOffset(), err)
					}
					if i < n && first.BaseOffset()+int64(len(got)) > 0 && containsOffset(t, got, bad.BaseOffset()) {
						t.Errorf("a read from %d goes on into the damage", offset)
					}
				}
			}
			if got, err := readAt(t, l, batches[len(batches)-1].NextOffset()); err != nil || len(got) == 0 {
				t.Errorf("the next segment: %d bytes, %v", len(got), err)
			}
			passed(t, d)
			if n := d.Stats().CorruptRanges; n != 1 {
				t.Errorf("%d damaged ranges after more passes", n)
			}
		})
	}
}

func containsOffset(t *testing.T, b []byte, offset int64) bool {
	t.Helper()
	for len(b) > 0 {
		one, n, err := batch.Next(b)
		if err != nil {
			return false
		}
		if one.BaseOffset() == offset {
			return true
		}
		b = b[n:]
	}
	return false
}

// A copied log has batches as values; they are no place to go on at.
func TestDamageDoesNotEndAtABatchInsideARecord(t *testing.T) {
	h := scrubbing(onOne(t))
	d := h.open()
	h.cfg.SegmentBytes = 16 << 10
	l := h.log(d, "t")
	inner := build(t, 1, 100, h.nowMs(), func(b *batch.Builder) { b.BaseOffset = 2 })
	outer := batch.NewBuilder()
	outer.Add(h.nowMs(), nil, inner)
	outer.Add(h.nowMs(), nil, inner)
	b, err := outer.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	for d.Stats().SegmentRolls < 2 {
		l.append(b)
	}
	l.settle()
	corruptAt(t, h.logFile("t", 0, ".log"), int64(len(b))+70, int64(len(b))+71)
	waitFor(t, func() bool { return d.Stats().CorruptRanges == 1 })
	if _, err := readAt(t, l, 3); !errors.Is(err, segment.ErrCorrupt) {
		t.Errorf("in the damaged batch: %v", err)
	}
	if _, err := readAt(t, l, 4); err != nil {
		t.Errorf("behind it: %v", err)
	}
}

func TestDamageThatALookUpMeetsIsMeasuredAtOnce(t *testing.T) {
	h := scrubbing(onOne(t))
	h.opts.ScrubInterval = time.Hour
	d := h.open()
	_, batches := sealedLog(t, h, d)
	if err := d.Close(); err != nil { // so that nothing is in memory
		t.Fatal(err)
	}
	corruptAt(t, h.logFile("t", 0, ".log"), int64(batches[0].Size())+16, int64(batches[0].Size())+17)
	d = h.open()
	l := h.log(d, "t")
	if _, err := readAt(t, l, batches[1].BaseOffset()); !errors.Is(err, segment.ErrCorrupt) {
		t.Fatalf("damaged header: %v", err)
	}
	waitFor(t, func() bool { return d.Stats().CorruptRanges == 1 })
	if _, err := readAt(t, l, batches[2].BaseOffset()); err != nil {
		t.Errorf("behind it: %v", err)
	}
}

func TestScrubbingKeepsToItsRateAndOutOfThePageCache(t *testing.T) {
	h := onOne(t)
	d := h.open()
	sealedLog(t, h, d)
	io := d.IO()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	path := h.logFile("t", 0, ".log")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	h.opts.ScrubBytesPerSecond, h.opts.ScrubInterval = 256<<10, time.Millisecond
	d = h.open()
	h.log(d, "t")
	begin := time.Now()
	waitFor(t, func() bool { return d.Stats().ScrubPasses >= 1 })
	read := d.Stats().ScrubbedBytes
	if least := time.Duration(float64(read) / float64(256<<10) * 0.9 * float64(time.Second)); time.Since(begin) < least {
		t.Errorf("%d bytes in %v at 256 KiB a second", read, time.Since(begin))
	}
	if !strings.HasPrefix(io, "direct") {
		return
	}
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(fi.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	// The last pages may be read by whoever appends or looks at the end of the log; this is the first segment.
	if cached := pagesInMemory(t, mem); cached > 1 {
		t.Errorf("%d pages of %s are in the page cache", cached, filepath.Base(path))
	}
}

// Scrubbing reads what others append to, truncate and delete, and must not take that for damage.
func TestScrubbingIsNotFooledByChange(t *testing.T) {
	h := scrubbing(onOne(t))
	d := h.open()
	h.cfg.SegmentBytes, h.cfg.RetentionBytes = 32<<10, 128<<10
	l := h.log(d, "t")
	for round := range 60 {
		for range 20 {
			l.append(build(t, 3, 500, h.nowMs()))
		}
		l.settle()
		switch round % 3 {
		case 0:
			l.truncate(max(l.EndOffset()-90, l.StartOffset()))
		case 1:
			if _, err := l.ApplyRetention(); err != nil {
				t.Fatal(err)
			}
		default:
			other := h.log(d, "other")
			other.append(build(t, 3, 9<<10, h.nowMs()))
			other.append(build(t, 3, 500, h.nowMs()))
			other.settle()
			if err := other.Delete(); err != nil {
				t.Fatal(err)
			}
		}
	}
	passed(t, d)
	if n := d.Stats().CorruptRanges; n != 0 {
		t.Errorf("%d damaged ranges in a good log", n)
	}
	if d.Stats().ScrubbedBytes == 0 {
		t.Error("nothing was read")
	}
}

func pagesInMemory(t *testing.T, mem []byte) (n int) {
	t.Helper()
	vec := make([]byte, (len(mem)+4095)/4096)
	if err := mincore(mem, vec); err != nil {
		t.Fatal(err)
	}
	for _, v := range vec {
		n += int(v & 1)
	}
	return n
}

func mincore(mem, vec []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mem[0])), uintptr(len(mem)), uintptr(unsafe.Pointer(&vec[0])))
	if errno != 0 {
		return errno
	}
	return nil
}
