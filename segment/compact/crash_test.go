package compact

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"millrace/segment"
)

// tracingDisk calls before with the number of each operation that changes names or makes something durable.
type tracingDisk struct {
	segment.RealDisk
	mu     sync.Mutex
	n      int
	before func(n int)
	err    func(op, path string) error // nil: none fails
}

func (d *tracingDisk) step(op, path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n++
	if d.before != nil {
		d.before(d.n)
	}
	if d.err != nil {
		return d.err(op, path)
	}
	return nil
}

func (d *tracingDisk) Rename(from, to string) error {
	if err := d.step("rename", from); err != nil {
		return err
	}
	return d.RealDisk.Rename(from, to)
}

func (d *tracingDisk) Remove(path string) error {
	if err := d.step("remove", path); err != nil {
		return err
	}
	return d.RealDisk.Remove(path)
}

func (d *tracingDisk) Fsync(fd int) error {
	if err := d.step("fsync", ""); err != nil {
		return err
	}
	return d.RealDisk.Fsync(fd)
}

func (d *tracingDisk) Fallocate(fd int, off, size int64) error {
	if err := d.step("allocate", ""); err != nil {
		return err
	}
	return d.RealDisk.Fallocate(fd, off, size)
}

// A process that is killed between any two steps of a pass, and again between any two steps of the recovery after it,
// leaves a log with nothing missing and nothing brought back.
func TestKilledAtEachStepOfASwap(t *testing.T) {
	root := memoryDir(t)
	h := newHarness(t, "auto", filepath.Join(root, "log"))
	disk := &tracingDisk{}
	h.opts.Disk = disk
	h.cfg.SegmentBytes = 400
	h.open()
	for i, v := range []string{"1", "2", "3"} {
		h.say("a="+v+" b="+v, "k"+v+"=1")
		h.append(h.parse("a=lost", as(int64(1), int32(i), true)))
		h.append(h.marker(1, false))
		h.roll(h.parse("c="+v, as(2, int32(i), false)))
	}
	h.say("e=1")
	h.roll(h.parse("z=1"))
	want := survivors(t, h)
	images := 0
	disk.before = func(n int) {
		images++
		image(t, h.opts.Path, filepath.Join(root, fmt.Sprint(images)))
	}
	h.compact()
	disk.before = nil
	if got := survivors(t, h); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("without a kill:\ngot  %v\nwant %v", got, want)
	}
	if images < 30 {
		t.Fatalf("%d steps", images)
	}
	for i := range images {
		reopenAtEachStep(t, filepath.Join(root, fmt.Sprint(i+1)), want)
	}
}

// memoryDir is a directory in memory if the machine has a file system there.
func memoryDir(t *testing.T) string {
	if dir, err := os.MkdirTemp("/dev/shm", "compact"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	return t.TempDir()
}

// reopenAtEachStep opens an image, and images of each step of that.
func reopenAtEachStep(t *testing.T, path string, want []string) {
	t.Helper()
	again := 0
	check := func(path string, before func(n int)) {
		h := newHarness(t, "auto", path)
		h.cfg.SegmentBytes = 400
		disk := &tracingDisk{before: before}
		h.opts.Disk = disk
		h.open()
		disk.mu.Lock()
		disk.before = nil
		disk.mu.Unlock()
		if got := survivors(t, h); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s:\ngot  %v\nwant %v", path, got, want)
		}
		for _, suffix := range []string{cleaned, swapped} {
			if left := h.files(suffix); len(left) > 0 {
				t.Errorf("%s: %v is left", path, left)
			}
		}
		h.compact()
		if got := survivors(t, h); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s, compacted again:\ngot  %v\nwant %v", path, got, want)
		}
		h.close()
		os.RemoveAll(path)
	}
	swaps, err := filepath.Glob(filepath.Join(path, "t-0", "*"+swapped))
	if err != nil {
		t.Fatal(err)
	}
	check(path, func(int) {
		if len(swaps) > 0 { // else recovery is what it always is
			again++
			image(t, path, fmt.Sprintf("%s.%d", path, again))
		}
	})
	for i := range again {
		check(fmt.Sprintf("%s.%d", path, i+1), nil)
	}
}

const (
	cleaned = ".cleaned"
	swapped = ".swap"
)

// survivors are the records a reader of committed data ends up with, by key, in order of their offsets.
func survivors(t *testing.T, h *harness) (out []string) {
	t.Helper()
	last := map[string]int{}
	for _, r := range committed(t, h.batches()) {
		if i, ok := last[r.key]; ok {
			out[i] = ""
		}
		last[r.key] = len(out)
		out = append(out, fmt.Sprintf("%d:%s=%s", r.offset, r.key, r.value))
	}
	kept := out[:0]
	for _, s := range out {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return append(kept, fmt.Sprintf("end %d", h.log.EndOffset()))
}

// A full disk, or a rename that fails, at any step: the pass is given up or the dir goes offline, and nothing is lost.
func TestFailuresLeaveTheLogAsItIs(t *testing.T) {
	for _, c := range []struct {
		name string
		op   string
		err  error
		want error
	}{
		{"full disk", "allocate", unix.ENOSPC, segment.ErrNoSpace},
		{"flush of the new segment", "fsync", unix.ENOSPC, segment.ErrNoSpace},
		{"rename", "rename", unix.EIO, unix.EIO},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, "direct", t.TempDir())
			disk := &tracingDisk{}
			h.opts.Disk = disk
			h.open()
			h.say("a=1", "a=2", "b=1")
			h.roll(h.parse("z=1"))
			if err := h.log.BeginCompaction(0); err != nil { // the checkpoint is written
				t.Fatal(err)
			}
			want := h.listing()
			disk.mu.Lock()
			disk.err = func(op, _ string) error {
				if op == c.op {
					return c.err
				}
				return nil
			}
			disk.mu.Unlock()
			if _, err := h.pass(); !errors.Is(err, c.want) {
				t.Errorf("pass: %v", err)
			}
			disk.mu.Lock()
			disk.err = nil
			disk.mu.Unlock()
			h.want(want)
			for _, suffix := range []string{cleaned, swapped} {
				if left := h.files(suffix); len(left) > 0 {
					t.Errorf("%v is left", left)
				}
			}
			if h.dir.Err() != nil {
				t.Errorf("dir offline: %v", h.dir.Err())
			}
			h.compact()
			h.want("1:a=2 2:b=1 3:z=1")
		})
	}
}
