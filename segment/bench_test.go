package segment_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"millrace/segment"
)

// benchLog opens a log and a function that waits until it is durable up to an offset.
func benchLog(b *testing.B, engine string) (*segment.Dir, *segment.Log, func(int64)) {
	h := newHarness(b, combination{engine, "auto", "auto"}, b.TempDir())
	h.opts.SlabBytes = 64 << 20
	d := h.open()
	var durable atomic.Int64
	wake := make(chan struct{}, 1)
	l, err := d.OpenLog("t", 0, segment.LogOptions{Config: h.cfg, OnDurable: func(o int64) {
		durable.Store(o)
		select {
		case wake <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		b.Fatal(err)
	}
	return d, l, func(o int64) {
		for durable.Load() < o {
			<-wake
		}
	}
}

func processCPU() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAppend appends with a window of batches that are not durable yet: a number of producers waiting.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct{ size, window int }{{1 << 10, 1}, {1 << 10, 4096}, {1 << 20, 16}} {
		for _, engine := range []string{"auto", "pwritev2"} {
			b.Run(fmt.Sprintf("%dKiB/window=%d/%s", c.size>>10, c.window, engine), func(b *testing.B) {
				_, l, await := benchLog(b, engine)
				one := build(b, 1, c.size-80, 0)
				b.SetBytes(int64(len(one)))
				b.ReportAllocs()
				cpu := processCPU()
				for i := int64(0); b.Loop(); i++ {
					await(i - int64(c.window) + 1)
					for {
						_, err := l.Append(one, 0)
						if err == nil {
							break
						}
						if !errors.Is(err, segment.ErrBusy) {
							b.Fatal(err)
						}
						await(l.DurableOffset() + 1)
					}
				}
				await(l.EndOffset())
				b.ReportMetric((processCPU()-cpu).Seconds()*1e9/float64(b.N*len(one)), "cpu-s/GB")
			})
		}
	}
}

func benchRead(b *testing.B, open func(d *segment.Dir, h *harness) *segment.Log, h *harness, d *segment.Dir) {
	l := open(d, h)
	ranges := make([]segment.Range, 0, 64)
	end := l.EndOffset()
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		var err error
		ranges, err = l.Read(ranges[:0], i*7919%end, 64<<10, end, true, true)
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range ranges {
			r.Ref.Release()
		}
	}
}

func readable1KiB(b *testing.B, h *harness, d *segment.Dir) *segment.Log {
	l, err := d.OpenLog("t", 0, segment.LogOptions{Config: h.cfg})
	if err != nil {
		b.Fatal(err)
	}
	one := build(b, 1, 1000, 0)
	for l.EndOffset() < 10_000 {
		if _, err := l.Append(one, 0); err != nil {
			b.Fatal(err)
		}
	}
	return l
}

func BenchmarkReadTail(b *testing.B) {
	h := newHarness(b, combination{"auto", "auto", "auto"}, b.TempDir())
	h.opts.SlabBytes = 64 << 20
	d := h.open()
	benchRead(b, func(d *segment.Dir, h *harness) *segment.Log { return readable1KiB(b, h, d) }, h, d)
}

func BenchmarkReadFile(b *testing.B) {
	h := newHarness(b, combination{"auto", "auto", "auto"}, b.TempDir())
	h.opts.SlabBytes = 64 << 20
	d := h.open()
	readable1KiB(b, h, d)
	if err := d.Close(); err != nil {
		b.Fatal(err)
	}
	d = h.open()
	benchRead(b, func(d *segment.Dir, h *harness) *segment.Log {
		l, err := d.OpenLog("t", 0, segment.LogOptions{Config: h.cfg})
		if err != nil {
			b.Fatal(err)
		}
		return l
	}, h, d)
}
