package server

import "testing"

// A client that was sent ranges of several places goes on behind each of them: that is in memory when it asks.
func TestWhatAClientAsksNextIsReadMeanwhile(t *testing.T) {
	m := newMemoryFile(patternFile(t, 16<<20), 64, 64)
	s := startServer(t, Options{Handler: m, Loops: 1})
	c := dial(t, s)
	chill(t, m.f)
	const n = 9 << 20 // three ranges of three blocks each, from the beginning on
	c.send(rangeRequest(1, 0, n))
	if _, b, err := c.receive(); err != nil || len(b) != n {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	eventually(t, "the block behind the last range is there", func() bool {
		mem, hold := m.Cached(n + 1<<20)
		if hold != nil {
			hold.Release()
		}
		return mem != nil
	})
	eventually(t, "references and holds are given back", m.idle)
	before := s.Stats().ColdReads
	c.send(rangeRequest(2, n, 1<<20))
	if _, b, err := c.receive(); err != nil || len(b) != 1<<20 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	eventually(t, "references and holds are given back", m.idle)
	if waits := s.Stats().ColdReads - before; waits != 0 {
		t.Errorf("%d waits for the disk", waits)
	}
}
