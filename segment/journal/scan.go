package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

var errEntry = errors.New("journal entry with impossible sizes")

// Scanned is what Scan found.
type Scanned struct {
	// Entries are in the order they were written.
	Entries []Entry
	Turns   int
	Bytes   int64 // in entries
	// Missing is how many turns between others are not there: damage, since a turn is written after the one before it.
	Missing uint64
}

// Scan reads all journal files in dir. No files, or no dir, is an empty journal. It holds all of it in memory, which is
// bounded by what the files' sizes add up to.
func Scan(dir string) (s Scanned, err error) {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	var files [][]turn
	for _, e := range names {
		content, err := readUsed(filepath.Join(dir, e.Name()))
		if err != nil {
			return s, err
		}
		if turns := parseTurns(content); len(turns) > 0 {
			files = append(files, turns)
		}
	}
	slices.SortFunc(files, func(a, b []turn) int { return cmp.Compare(a[0].generation, b[0].generation) })
	return join(files)
}

// join puts the turns of files in the order they were written together.
func join(files [][]turn) (s Scanned, err error) {
	last := uint64(0)
	for i := range files {
		for k := range files[i] {
			t := &files[i][k]
			if last != 0 && t.sequence > last+1 {
				s.Missing += t.sequence - last - 1
			} else if last == 0 && t.behindDamage {
				s.Missing++
			}
			last = t.sequence
			s.Turns++
			if s.Entries, err = t.appendTo(s.Entries); err != nil {
				return s, fmt.Errorf("journal turn %d: %w", t.sequence, err)
			}
		}
	}
	for i := range s.Entries {
		s.Bytes += int64(len(s.Entries[i].Data))
	}
	return s, nil
}

// ReadFile reads one journal file.
func ReadFile(path string) (s Scanned, err error) {
	content, err := readUsed(path)
	if err != nil {
		return s, err
	}
	return join([][]turn{parseTurns(content)})
}

// readUsed reads a file, or nothing if it does not begin with a turn.
func readUsed(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var head [turnHeader]byte
	if n, err := f.ReadAt(head[:], 0); n < len(head) || string(head[:8]) != magic {
		if err != nil && n == len(head) {
			return nil, err
		}
		return nil, nil
	}
	return os.ReadFile(path)
}

// parseTurns reads the turns of a file: those of the use that the first header speaks of, in the order of their sequences.
// A turn that is not whole ends them, unless another follows: then it is damage, and what follows counts.
func parseTurns(b []byte) (turns []turn) {
	u, ok := useOf(b)
	if !ok {
		return nil
	}
	damaged := false
	for last := uint64(0); len(b) > 0; {
		t, ok := parseTurn(b)
		if ok && t.use == u && t.sequence > last {
			t.behindDamage = damaged && last == 0
			turns = append(turns, t)
			last = t.sequence
		} else {
			t.size, damaged = Block, true
		}
		b = b[min(t.size, int64(len(b))):]
	}
	return turns
}

// Discard removes all journal files in dir, on the disk. What they hold is no longer needed.
func Discard(disk Files, dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := disk.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return syncDir(disk, dir)
}
