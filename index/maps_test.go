package index

import (
	"math/rand"
	"sync"
	"testing"
)

func TestMapsAreBounded(t *testing.T) {
	SetMaxMapped(4)
	defer SetMaxMapped(16384)
	var all []*Offset
	for i := 0; i < 20; i++ {
		x := newOffset(t, 0, 1024)
		mustAppend(t, x, 5, 50)
		mustAppend(t, x, 9, 90)
		all = append(all, x)
	}
	if n := Mapped(); n > 4 {
		t.Errorf("%d maps", n)
	}
	for round := 0; round < 3; round++ {
		for _, x := range all {
			wantLookup(t, x, 7, 5, 50)
		}
	}
	if n := Mapped(); n > 4 {
		t.Errorf("%d maps", n)
	}
	for _, x := range all {
		x.Close()
		if err := x.Err(); err != nil {
			t.Error(err)
		}
	}
	if n := Mapped(); n != 0 {
		t.Errorf("%d maps after Close", n)
	}
}

// Readers go on while the index is appended to, unmapped, evicted and sealed.
func TestConcurrentLookups(t *testing.T) {
	SetMaxMapped(1)
	defer SetMaxMapped(16384)
	x, other := newOffset(t, 0, 1<<16), newOffset(t, 0, 1024)
	mustAppend(t, other, 1, 1)
	mustAppend(t, other, 5, 5)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for g := 0; g < 4; g++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewSource(int64(g)))
			for {
				select {
				case <-done:
					return
				default:
				}
				n := int64(x.Entries())
				if n < 2 {
					continue
				}
				k := 1 + r.Int63n(n)
				if o, p := x.Lookup(k*3 + 1); o != k*3 || int64(p) != k*7 {
					t.Errorf("Lookup(%d) = %d, %d", k*3+1, o, p)
					return
				}
			}
		}()
	}
	for i := int64(1); i <= 8000; i++ {
		mustAppend(t, x, i*3, uint32(i*7))
		switch i % 64 {
		case 0:
			x.Release()
		case 32:
			wantLookup(t, other, 3, 1, 1) // evicts
		}
	}
	if err := x.Seal(); err != nil {
		t.Error(err)
	}
	for i := 0; i < 100; i++ {
		x.Release()
		wantLookup(t, other, 3, 1, 1)
	}
	close(done)
	wg.Wait()
	if err := x.Err(); err != nil {
		t.Error(err)
	}
}
