package index

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

func newOffset(t testing.TB, base int64, maxBytes int) *Offset {
	t.Helper()
	x, err := CreateOffset(filepath.Join(t.TempDir(), "00.index"), base, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func mustAppend(t testing.TB, x *Offset, offset int64, pos uint32) {
	t.Helper()
	if err := x.Append(offset, pos); err != nil {
		t.Fatal(err)
	}
}

func wantLookup(t testing.TB, x *Offset, offset, wantOffset int64, wantPos uint32) {
	t.Helper()
	if o, p := x.Lookup(offset); o != wantOffset || p != wantPos {
		t.Errorf("Lookup(%d) = %d, %d; want %d, %d", offset, o, p, wantOffset, wantPos)
	}
}

func TestLookupFindsLargestEntryAtOrBelow(t *testing.T) {
	x := newOffset(t, 100, 1024)
	wantLookup(t, x, 500, 100, 0)
	mustAppend(t, x, 110, 4096)
	mustAppend(t, x, 120, 8192)
	mustAppend(t, x, 140, 12288)
	check := func() {
		t.Helper()
		wantLookup(t, x, 50, 100, 0)
		wantLookup(t, x, 109, 100, 0)
		wantLookup(t, x, 110, 110, 4096)
		wantLookup(t, x, 139, 120, 8192)
		wantLookup(t, x, 140, 140, 12288)
		wantLookup(t, x, math.MaxInt64, 140, 12288)
	}
	check()
	x.Release()
	check()
	if err := x.Seal(); err != nil {
		t.Fatal(err)
	}
	check()
	if err := x.Append(150, 16384); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Append to a sealed index: %v", err)
	}
	x.Close()
	wantLookup(t, x, 140, 100, 0)
	if err := x.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestFileHasKafkasBytes(t *testing.T) {
	x := newOffset(t, 1000, 64)
	mustAppend(t, x, 1001, 0x0102)
	mustAppend(t, x, 1000+0x030405, 0x0607)
	if err := x.Seal(); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(x.Path())
	want := "\x00\x00\x00\x01\x00\x00\x01\x02\x00\x03\x04\x05\x00\x00\x06\x07"
	if string(got) != want {
		t.Errorf("file is %x, want %x", got, want)
	}
}

func TestAppendRefusesWhatDoesNotRise(t *testing.T) {
	x := newOffset(t, 0, 16)
	mustAppend(t, x, 0, 0) // says nothing, left out
	if x.Entries() != 0 {
		t.Fatalf("%d entries", x.Entries())
	}
	mustAppend(t, x, 5, 50)
	for _, e := range []struct {
		offset int64
		pos    uint32
	}{{5, 60}, {4, 60}, {6, 50}, {-1, 70}} {
		if err := x.Append(e.offset, e.pos); err == nil {
			t.Errorf("Append(%d, %d) passed", e.offset, e.pos)
		}
	}
	if err := x.Append(math.MaxInt32+1, 60); err != ErrFull {
		t.Errorf("far offset: %v", err)
	}
	mustAppend(t, x, 6, 60)
	if !x.Full() || x.Append(7, 70) != ErrFull {
		t.Error("not full")
	}
}

func TestSmallestIndexHoldsTwoEntries(t *testing.T) {
	x := newOffset(t, 0, 4) // the smallest segment.index.bytes
	mustAppend(t, x, 1, 10)
	mustAppend(t, x, 2, 20)
	if !x.Full() {
		t.Error("not full")
	}
}

func TestTruncateDropsEntries(t *testing.T) {
	x := newOffset(t, 0, 1024)
	for i := int64(1); i <= 10; i++ {
		mustAppend(t, x, i*10, uint32(i))
	}
	x.Truncate(50)
	if o, p, ok := x.Last(); o != 40 || p != 4 || !ok {
		t.Errorf("Last = %d, %d, %v", o, p, ok)
	}
	mustAppend(t, x, 45, 5)
	x.Truncate(1000)
	wantLookup(t, x, 99, 45, 5)
	x.Truncate(0)
	if _, _, ok := x.Last(); ok || x.Entries() != 0 {
		t.Error("not empty")
	}
	mustAppend(t, x, 3, 1)
	wantLookup(t, x, 10, 3, 1)
}

func TestOpenChecksTheFile(t *testing.T) {
	entry := func(v ...uint32) (b []byte) {
		for _, n := range v {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		return b
	}
	for _, c := range []struct {
		name    string
		content []byte
		entries int // -1: corrupt
	}{
		{"empty", nil, 0},
		{"two entries", entry(1, 10, 2, 20), 2},
		{"zero tail, as left by kill -9", append(entry(1, 10, 2, 20), make([]byte, 4096)...), 2},
		{"all zero", make([]byte, 4096), 0},
		{"torn size", entry(1, 10, 2), -1},
		{"offset falls", entry(2, 10, 1, 20), -1},
		{"offset repeats", entry(2, 10, 2, 20), -1},
		{"position falls", entry(1, 20, 2, 10), -1},
		{"hole", append(append(entry(1, 10), make([]byte, 8)...), entry(3, 30)...), -1},
		{"offset beyond 2^31", entry(1<<31, 10), -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "00.index")
			if err := os.WriteFile(path, c.content, 0o644); err != nil {
				t.Fatal(err)
			}
			x, err := OpenOffset(path, 0)
			if c.entries < 0 {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatalf("error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			if fi, _ := os.Stat(path); x.Entries() != c.entries || fi.Size() != int64(c.entries*8) {
				t.Errorf("%d entries, %d bytes", x.Entries(), fi.Size())
			}
		})
	}
}

func TestReopenGoesOnWhereItEnded(t *testing.T) {
	x := newOffset(t, 7, 64)
	mustAppend(t, x, 8, 1)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	y, err := ReopenOffset(x.Path(), 7, 64)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	mustAppend(t, y, 9, 2)
	wantLookup(t, y, 8, 8, 1)
	wantLookup(t, y, 9, 9, 2)
	if fi, _ := os.Stat(x.Path()); fi.Size() != 64 {
		t.Errorf("file of %d bytes", fi.Size())
	}
}

// A file that was cut under the map makes the access fault; that must be an error.
func TestFaultIsAnError(t *testing.T) {
	x := newOffset(t, 0, 1<<20)
	for i := int64(1); i <= 10000; i++ {
		mustAppend(t, x, i, uint32(i))
	}
	if err := os.Truncate(x.Path(), 0); err != nil {
		t.Fatal(err)
	}
	wantLookup(t, x, 5000, 0, 0)
	if x.Err() == nil {
		t.Error("no error kept")
	}
	if err := x.Append(10001, 10001); err == nil {
		t.Error("Append into a page that is gone passed")
	}
	x.Truncate(50)
	if x.Entries() != 0 {
		t.Errorf("%d entries", x.Entries())
	}
}

func TestFileWithAnotherInodeIsLeftAlone(t *testing.T) {
	x := newOffset(t, 0, 64)
	mustAppend(t, x, 1, 1)
	if err := os.Rename(x.Path(), x.Path()+".aside"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(x.Path(), []byte("somebody else's"), 0o644); err != nil {
		t.Fatal(err)
	}
	x.Release()
	if err := x.Append(2, 2); err == nil {
		t.Error("mapped another file")
	}
	if err := x.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if b, _ := os.ReadFile(x.Path()); string(b) != "somebody else's" {
		t.Errorf("file is %q", b)
	}
}

// The index answers as a plain slice does, whatever is done to it.
func TestOffsetMatchesModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		type entry struct {
			offset int64
			pos    uint32
		}
		var model []entry
		base := rapid.Int64Range(0, 1<<40).Draw(t, "base")
		x, err := CreateOffset(filepath.Join(dir, "x.index"), base, 256)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { x.Close() }()
		last := func() entry {
			if len(model) == 0 {
				return entry{base, 0}
			}
			return model[len(model)-1]
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				e := entry{last().offset + rapid.Int64Range(1, 1000).Draw(t, "do"), last().pos + rapid.Uint32Range(1, 5000).Draw(t, "dp")}
				err := x.Append(e.offset, e.pos)
				if len(model) == 32 {
					if err != ErrFull {
						t.Fatalf("full: %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				model = append(model, e)
			},
			"truncate": func(t *rapid.T) {
				o := base + rapid.Int64Range(0, 20000).Draw(t, "to")
				x.Truncate(o)
				for len(model) > 0 && last().offset >= o {
					model = model[:len(model)-1]
				}
			},
			"release": func(*rapid.T) { x.Release() },
			"reopen": func(t *rapid.T) {
				if err := x.Close(); err != nil {
					t.Fatal(err)
				}
				if x, err = ReopenOffset(x.Path(), base, 256); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				o := base + rapid.Int64Range(-5, 20000).Draw(t, "at")
				want := entry{base, 0}
				for _, e := range model {
					if e.offset <= o {
						want = e
					}
				}
				if eo, ep := x.Lookup(o); eo != want.offset || ep != want.pos {
					t.Fatalf("Lookup(%d) = %d, %d; want %v", o, eo, ep, want)
				}
				if x.Entries() != len(model) || x.Err() != nil {
					t.Fatalf("%d entries, want %d; %v", x.Entries(), len(model), x.Err())
				}
			},
		})
	})
}
