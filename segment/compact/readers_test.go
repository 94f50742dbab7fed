package compact

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"millrace/segment"
	"millrace/segment/batch"
)

// Readers that go through the log again and again while it is compacted under them meet no error, see offsets rise, and
// reach the end with the newest value of each key. So do look-ups by time.
func TestReadersDoNotNoticeCompaction(t *testing.T) {
	onBothModes(t, func(t *testing.T, h *harness) {
		h.cfg.SegmentBytes, h.cfg.FileDeleteDelayMs = 2000, 0
		h.log.SetConfig(h.cfg)
		const keys = 20
		newest := make([]int, keys)
		for round := range 4 {
			for i := range 60 {
				k := rand.IntN(keys)
				newest[k] = round*60 + i
				h.say(fmt.Sprintf("k%d=%d%s", k, newest[k], strings.Repeat("x", 50)))
			}
			h.roll(h.parse(fmt.Sprintf("k0=%d", round*1000)))
			newest[0] = round * 1000
			if round == 0 {
				continue
			}
			var stop atomic.Bool
			var readers sync.WaitGroup
			for reader := range 3 {
				readers.Go(func() {
					for !stop.Load() {
						if err := readThrough(h.log, newest, reader == 0); err != nil {
							t.Errorf("round %d: %v", round, err)
							return
						}
					}
				})
			}
			readers.Go(func() {
				for !stop.Load() {
					if _, err := h.log.OffsetForTimestamp(rand.Int64N(h.nowMs() + 10)); err != nil {
						t.Errorf("look-up by time: %v", err)
						return
					}
					if at, err := h.log.MaxTimestamp(); err != nil || at.Offset < 0 {
						t.Errorf("largest timestamp %+v: %v", at, err)
						return
					}
				}
			})
			for range 4 {
				h.advance(1e9)
				h.compact()
			}
			stop.Store(true)
			readers.Wait()
		}
	})
}

// readThrough reads the whole log in small pieces and compares what it ends with. patient: it waits for the disk.
func readThrough(l *segment.Log, newest []int, patient bool) error {
	got := make([]string, len(newest))
	offset, end := l.StartOffset(), l.EndOffset()
	for offset < end {
		ranges, err := l.Read(nil, offset, 700, end, true, patient)
		if err == segment.ErrWouldBlock {
			ranges, err = l.Read(nil, offset, 700, end, true, true)
		}
		if err != nil {
			return fmt.Errorf("read %d: %w", offset, err)
		}
		b, err := bytesOf(ranges)
		if err != nil {
			return fmt.Errorf("read file at %d: %w", offset, err)
		}
		before := offset
		for len(b) >= batch.HeaderSize {
			one := batch.Batch(b)
			if one.Size() > len(b) {
				break
			}
			one = one[:one.Size()]
			if one.LastOffset() < offset || !one.ValidCRC() {
				return fmt.Errorf("batch at %d where %d is due", one.BaseOffset(), offset)
			}
			err := batch.ForEach(one, 1<<20, func(r *batch.Record) error {
				var k int
				_, err := fmt.Sscanf(string(r.Key), "k%d", &k)
				got[k] = strings.TrimRight(string(r.Value), "x")
				return err
			})
			if err != nil {
				return err
			}
			offset, b = one.NextOffset(), b[one.Size():]
		}
		if offset == before {
			return fmt.Errorf("no batch for offset %d", offset)
		}
	}
	for k, v := range newest {
		if v > 0 && got[k] != fmt.Sprint(v) {
			return fmt.Errorf("key %d is %q, want %d", k, got[k], v)
		}
	}
	return nil
}

// bytesOf reads ranges as a client is sent them.
func bytesOf(ranges []segment.Range) (out []byte, err error) {
	for _, r := range ranges {
		if r.Mem != nil {
			out = append(out, r.Mem...)
		} else if err == nil {
			b := make([]byte, r.Len)
			var n int
			if n, err = unix.Pread(r.Fd, b, r.Off); err == nil && n < r.Len {
				err = io.ErrUnexpectedEOF
			}
			out = append(out, b...)
		}
		r.Ref.Release()
	}
	return out, err
}
