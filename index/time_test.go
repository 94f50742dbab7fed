package index

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func newTimeIndex(t testing.TB, base int64, maxBytes int) *Time {
	t.Helper()
	x, err := CreateTime(filepath.Join(t.TempDir(), "00.timeindex"), base, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func TestTimeLookup(t *testing.T) {
	x := newTimeIndex(t, 100, 120)
	for _, e := range [][2]int64{{1000, 101}, {1000, 102}, {900, 103}, {2000, 110}, {3000, 110}, {5000, 150}} {
		if err := x.Append(e[0], e[1]); err != nil {
			t.Fatal(err)
		}
	}
	if x.Entries() != 4 {
		t.Fatalf("%d entries: one that is not later must be ignored", x.Entries())
	}
	check := func() {
		t.Helper()
		for _, c := range [][3]int64{{0, -1, 100}, {999, -1, 100}, {1000, 1000, 101}, {1999, 1000, 101},
			{3500, 3000, 110}, {5000, 5000, 150}, {1 << 60, 5000, 150}} {
			if ts, o := x.Lookup(c[0]); ts != c[1] || o != c[2] {
				t.Errorf("Lookup(%d) = %d, %d; want %d, %d", c[0], ts, o, c[1], c[2])
			}
		}
	}
	check()
	if err := x.Append(6000, 149); err == nil {
		t.Error("falling offset passed")
	}
	if err := x.Seal(); err != nil {
		t.Fatal(err)
	}
	check()
	b, _ := os.ReadFile(x.Path())
	if want := "\x00\x00\x00\x00\x00\x00\x03\xe8\x00\x00\x00\x01"; len(b) != 48 || string(b[:12]) != want {
		t.Errorf("file is %x", b)
	}
	y, err := OpenTime(x.Path(), 100)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	if ts, o, ok := y.Last(); ts != 5000 || o != 150 || !ok {
		t.Errorf("Last = %d, %d, %v", ts, o, ok)
	}
}

func TestTimeKeepsTheLastSlotForSealing(t *testing.T) {
	x := newTimeIndex(t, 0, 36)
	for i := int64(1); i <= 3; i++ {
		if got := x.Full(); got != (i == 3) {
			t.Errorf("Full before entry %d: %v", i, got)
		}
		if err := x.Append(i, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Append(4, 4); err != ErrFull {
		t.Errorf("entry too many: %v", err)
	}
	x.Truncate(2)
	if ts, o, ok := x.Last(); ts != 1 || o != 1 || !ok {
		t.Errorf("Last = %d, %d, %v", ts, o, ok)
	}
	if err := x.Append(9, 2); err != nil {
		t.Error(err)
	}
}

func TestOpenTimeChecksTheFile(t *testing.T) {
	good := "\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x01" + "\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x02"
	for name, c := range map[string]struct {
		content string
		entries int
	}{
		"good":            {good, 2},
		"zero tail":       {good + string(make([]byte, 1200)), 2},
		"torn":            {good[:20], -1},
		"time repeats":    {good + good[12:], -1},
		"offset falls":    {good + "\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x01", -1},
		"negative time":   {"\xff" + good[1:], -1},
		"entry in a hole": {good + string(make([]byte, 12)) + "\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x09", -1},
	} {
		path := filepath.Join(t.TempDir(), "00.timeindex")
		if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		x, err := OpenTime(path, 0)
		switch {
		case c.entries < 0:
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case x.Entries() != c.entries:
			t.Errorf("%s: %d entries", name, x.Entries())
		}
	}
}

// Readers see whole entries also while Truncate and Append change them.
func TestConcurrentTimeLookups(t *testing.T) {
	x := newTimeIndex(t, 0, 12*1000)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for at := int64(0); ; at = (at + 37) % 40000 {
				select {
				case <-done:
					return
				default:
				}
				if ts, o := x.Lookup(at); ts > at || ts != -1 && ts%1000 != o%1000 {
					t.Errorf("Lookup(%d) = %d, %d", at, ts, o)
					return
				}
			}
		}()
	}
	for round := int64(0); round < 20; round++ {
		// The same slots get other times for other offsets in each round.
		for i := int64(1); i <= 900; i++ {
			if err := x.Append(1000*(i/25)+i+round, i+round); err != nil {
				t.Fatal(err)
			}
		}
		x.Truncate(0)
	}
	close(done)
	wg.Wait()
	if err := x.Err(); err != nil {
		t.Error(err)
	}
}
