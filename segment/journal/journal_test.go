package journal_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"millrace/segment/journal"
)

// files is a plain file system.
type files struct{}

func (files) Open(path string, flags int) (int, error) { return unix.Open(path, flags, 0o644) }
func (files) Fallocate(fd int, off, size int64) error  { return unix.Fallocate(fd, 0, off, size) }
func (files) Fsync(fd int) error                       { return unix.Fsync(fd) }
func (files) Remove(path string) error                 { return os.Remove(path) }
func (files) WriteAt(fd int, b []byte, off int64) (err error) {
	_, err = unix.Pwrite(fd, b, off)
	return err
}

// tester writes turns to a journal in a directory of its own.
type tester struct {
	dir string
	j   *journal.Journal
	t   *journal.Turn
}

func newTester(t testing.TB, dir string, limit int64) *tester {
	turn, err := journal.NewTurn(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(turn.Free)
	return &tester{dir, journal.New(files{}, dir, limit, false), turn}
}

// write places what the turn holds.
func (x *tester) write(t testing.TB) journal.Place {
	t.Helper()
	if room := x.j.Claim(); room < int64(x.t.Size()) {
		t.Fatalf("room for %d bytes, %d needed", room, x.t.Size())
	}
	p := x.j.Place(x.t)
	if _, err := unix.Pwrite(p.Fd, p.Bytes, p.Offset); err != nil {
		t.Fatal(err)
	}
	x.j.Done()
	x.t.Reset()
	return p
}

// add puts an entry in the turn and returns it as Scan should give it back.
func (x *tester) add(name string, n int) journal.Entry {
	e := journal.Entry{Name: name, TopicID: [16]byte{byte(n)}, Segment: int64(n), Position: int64(2 * n), End: int64(3*n + 1)}
	data := x.t.Add(&e, n)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	e.Data = bytes.Clone(data)
	return e
}

func (x *tester) scan(t interface {
	Helper()
	Fatal(args ...any)
}) journal.Scanned {
	t.Helper()
	s, err := journal.Scan(x.dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func equal(a, b []journal.Entry) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if fmt.Sprint(a[i]) != fmt.Sprint(b[i]) {
			return false
		}
	}
	return true
}

// Whatever is written comes back, in order, until it is recycled; what was recycled never does.
func TestEntriesComeBackUntilTheyAreRecycled(t *testing.T) {
	root := t.TempDir()
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		dir := filepath.Join(root, fmt.Sprint(runs))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		x := newTester(t, dir, 64<<10)
		defer x.j.Close(false)
		type written struct {
			generation uint64
			entry      journal.Entry
		}
		var want []written
		rt.Repeat(map[string]func(*rapid.T){
			"turn": func(rt *rapid.T) {
				var added []journal.Entry
				room := x.j.Room()
				for range rapid.IntRange(1, 5).Draw(rt, "entries") {
					n := rapid.IntRange(0, 9000).Draw(rt, "bytes")
					if x.t.Fits("topic-0", n, room) {
						added = append(added, x.add("topic-0", n))
					}
				}
				if len(added) == 0 {
					return // no room
				}
				p := x.write(t)
				for _, e := range added {
					want = append(want, written{p.Generation, e})
				}
			},
			"prepare": func(rt *rapid.T) {
				if err := x.j.Prepare(); err != nil {
					rt.Fatal(err)
				}
			},
			"recycle": func(rt *rapid.T) {
				g := x.j.Cut(rapid.Bool().Draw(rt, "everything"))
				if err := x.j.Recycle(g); err != nil {
					rt.Fatal(err)
				}
				for len(want) > 0 && want[0].generation <= g {
					want = want[1:]
				}
				if x.j.Live() <= g {
					rt.Fatalf("recycled up to %d, live from %d", g, x.j.Live())
				}
			},
			"": func(rt *rapid.T) {
				s := x.scan(rt)
				var entries []journal.Entry
				for _, w := range want {
					entries = append(entries, w.entry)
				}
				if !equal(s.Entries, entries) || s.Missing != 0 {
					rt.Fatalf("%d entries, %d turns missing; %d were written", len(s.Entries), s.Missing, len(entries))
				}
			},
		})
	})
}

// A turn is there whole or not at all, wherever it is cut or changed.
func TestTornTurns(t *testing.T) {
	dir := t.TempDir()
	x := newTester(t, dir, 64<<10)
	if err := x.j.Prepare(); err != nil {
		t.Fatal(err)
	}
	first := x.add("topic-0", 100)
	x.write(t)
	x.add("topic-1", 5000)
	x.add("topic-2", 700)
	torn := x.write(t)
	path := filepath.Join(dir, "00000001")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for off := 0; off < len(torn.Bytes); off += 512 {
		content := bytes.Clone(whole)
		clear(content[int(torn.Offset)+off:])
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		// Behind the last entry there is padding, which may be missing.
		if s := x.scan(t); off < 5900 && !equal(s.Entries, []journal.Entry{first}) || s.Missing != 0 {
			t.Errorf("cut at %d: %d entries", off, len(s.Entries))
		}
	}
}

// A damaged turn before others is told, and what is behind it is still found.
func TestDamageBeforeAnotherTurnIsTold(t *testing.T) {
	dir := t.TempDir()
	x := newTester(t, dir, 64<<10)
	if err := x.j.Prepare(); err != nil {
		t.Fatal(err)
	}
	a := x.add("topic-0", 100)
	x.write(t)
	x.add("topic-0", 5000)
	p := x.write(t)
	c := x.add("topic-0", 300)
	x.write(t)
	if _, err := unix.Pwrite(p.Fd, []byte("damage"), p.Offset+2000); err != nil {
		t.Fatal(err)
	}
	s := x.scan(t)
	if !equal(s.Entries, []journal.Entry{a, c}) || s.Missing != 1 {
		t.Errorf("%d entries, %d turns missing", len(s.Entries), s.Missing)
	}
}

func TestScanOfNothing(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Join(dir, "missing")} {
		if s, err := journal.Scan(d); err != nil || len(s.Entries) != 0 {
			t.Errorf("%v, %v", s, err)
		}
	}
}

func FuzzScan(f *testing.F) {
	dir := f.TempDir()
	x := newTester(f, dir, 64<<10)
	if err := x.j.Prepare(); err != nil {
		f.Fatal(err)
	}
	x.add("topic-0", 100)
	x.add("topic-1", 0)
	x.write(f)
	x.add("topic-0", 5000)
	x.write(f)
	seed, err := os.ReadFile(filepath.Join(dir, "00000001"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed[:16<<10])
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "00000001"), content, 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := journal.Scan(dir)
		if err != nil {
			return
		}
		for _, e := range s.Entries {
			if len(e.Data) > len(content) || e.Position < 0 || e.Segment < 0 {
				t.Errorf("entry %+v", e)
			}
		}
	})
}

// Records that look like a turn, in the rest of a file, are not taken for one.
func TestRecordsThatLookLikeATurn(t *testing.T) {
	dir := t.TempDir()
	x := newTester(t, dir, 64<<10)
	if err := x.j.Prepare(); err != nil {
		t.Fatal(err)
	}
	forger := newTester(t, t.TempDir(), 64<<10)
	if err := forger.j.Prepare(); err != nil {
		t.Fatal(err)
	}
	a := x.add("topic-0", 100)
	p := x.write(t)
	for range 5 { // a higher sequence, the same generation
		forger.add("victim-0", 1000)
		forged := forger.write(t)
		if _, err := unix.Pwrite(p.Fd, forged.Bytes, p.Offset+journal.Block); err != nil {
			t.Fatal(err)
		}
	}
	if s := x.scan(t); !equal(s.Entries, []journal.Entry{a}) {
		t.Errorf("%d entries", len(s.Entries))
	}
}
