package segment_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"millrace/segment"
)

// coldFile is what those who send a range ask of its Ref.
type coldFile interface {
	Retain()
	Cached(off int64) ([]byte, segment.Hold)
	Load(off int64, need int, ahead bool) ([]byte, segment.Hold)
}

// What has left memory, and the page cache, is found and read past it, while the log is being written; with buffered
// writes it is not, and everything is where it was.
func TestColdRangesCanBeReadPastThePageCache(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		d := h.open()
		l := h.log(d, "t")
		big := build(t, 1, 300_000, h.nowMs())
		for range 3 * h.opts.SlabBytes / 300_000 { // three times the slabs: the front is in the file only
			if _, err := l.Append(big, 0); err != nil {
				t.Fatal(err)
			}
			l.settle()
		}
		path := filepath.Join(h.path, "t-0", "00000000000000000000.log")
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		chillFile(t, path)
		direct := 0
		for offset := int64(0); offset < 40; offset += 3 {
			ranges, err := l.Read(nil, offset, 1<<20, l.EndOffset(), true, true)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range ranges {
				if f, ok := r.Ref.(coldFile); ok {
					if mem, hold := f.Load(r.Off, r.Len, false); hold != nil {
						mem = mem[:min(len(mem), r.Len)]
						if !bytes.Equal(mem, content[r.Off:][:len(mem)]) {
							t.Fatalf("%d bytes at %d are not the file's", len(mem), r.Off)
						}
						direct += len(mem)
						hold.Release()
					}
				} else if r.Mem == nil {
					t.Fatal("a range of a file whose Ref cannot be asked")
				}
				r.Ref.Release()
			}
			if _, err := l.Append(big, 0); err != nil {
				t.Fatal(err)
			}
		}
		if is := direct > 0; is != (d.IO() == "direct") {
			t.Errorf("%d bytes past the page cache with %s writes", direct, d.IO())
		}
	})
}

// A log that was cut and written anew does not show what was there before.
func TestColdRangesFollowATruncation(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		d := h.open()
		l := h.log(d, "t")
		read := func(at int64) (out []byte) {
			ranges, err := l.Read(nil, at, 1<<20, at+1, true, true)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range ranges {
				b := r.Mem
				if f, ok := r.Ref.(coldFile); ok && b == nil {
					mem, hold := f.Load(r.Off, r.Len, false)
					if hold != nil {
						b = bytes.Clone(mem[:min(len(mem), r.Len)])
						hold.Release()
					}
				}
				out = append(out, b...)
				r.Ref.Release()
			}
			return out
		}
		fill := func(size int) {
			b := build(t, 1, size, h.nowMs())
			for range 3 * h.opts.SlabBytes / int64(size) {
				if _, err := l.Append(b, 0); err != nil {
					t.Fatal(err)
				}
				l.settle()
			}
			chillFile(t, filepath.Join(h.path, "t-0", "00000000000000000000.log"))
		}
		fill(300_000)
		_ = read(1)
		l.truncate(1)
		fill(200_000)
		if got := read(1); d.IO() == "direct" && (len(got) < 200_000 || len(got) > 250_000 || got[100_000] != build(t, 1, 200_000, h.nowMs())[100_000]) {
			t.Errorf("%d bytes, not those of the batch that was written last", len(got))
		}
	})
}

// chillFile takes a file out of the page cache.
func chillFile(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
}
