package slab

import (
	"sync"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

func TestSlabsAreAligned(t *testing.T) {
	p := New(8 << 20)
	defer p.Close()
	for _, c := range []Class{Small, Medium, Large} {
		for range 5 {
			s := p.Get(c)
			if len(s.Bytes()) != c.Bytes() || uintptr(unsafe.Pointer(&s.Bytes()[0]))%Align != 0 {
				t.Errorf("class %d: %d bytes at %p", c, len(s.Bytes()), &s.Bytes()[0])
			}
			s.Release()
		}
	}
}

func TestOldestParkedSlabIsEvictedFirst(t *testing.T) {
	p := New(4 << 20)
	defer p.Close()
	var slabs []*Slab
	var gens []uint32
	for range 4 {
		s := p.Get(Large)
		slabs, gens = append(slabs, s), append(gens, s.Generation())
	}
	for _, s := range slabs {
		p.Park(s)
	}
	if !slabs[0].TryRetain(gens[0]) {
		t.Fatal("parked slab cannot be read")
	}
	// The first is being read, so the second goes.
	got := p.Get(Large)
	if got != slabs[1] {
		t.Error("not the oldest that nobody reads")
	}
	if slabs[1].TryRetain(gens[1]) {
		t.Error("recycled slab passed for the old one")
	}
	if !slabs[2].TryRetain(gens[2]) {
		t.Error("younger slab is gone")
	}
}

func TestGetRefusesBeyondOvercommit(t *testing.T) {
	p := New(4 << 20)
	defer p.Close()
	var held []*Slab
	for {
		s := p.Get(Large)
		if s == nil {
			break
		}
		held = append(held, s)
	}
	if len(held) != 6 {
		t.Errorf("%d MiB for a budget of 4", len(held))
	}
	if s := p.Stats(); s.Refused != 1 || s.InUse != 6<<20 {
		t.Errorf("%+v", s)
	}
	held[0].Release()
	if p.Get(Large) == nil {
		t.Error("refused although there is a free slab")
	}
}

func TestTrimReturnsIdleMemory(t *testing.T) {
	p := New(64 << 20)
	defer p.Close()
	for range 20 {
		p.Park(p.Get(Medium))
	}
	reading := p.Get(Small)
	p.Trim(time.Hour)
	if s := p.Stats(); s.Parked != 20*128<<10 {
		t.Errorf("fresh slabs trimmed: %+v", s)
	}
	p.Trim(0)
	if s := p.Stats(); s.Parked != 0 || s.Mapped != ChunkSize {
		t.Errorf("%+v", s)
	}
	reading.Release()
	p.Trim(0)
	if s := p.Stats(); s.Mapped != 0 {
		t.Errorf("%d bytes mapped", s.Mapped)
	}
}

func TestCloseLeavesWhatIsReadUntilReleased(t *testing.T) {
	p := New(4 << 20)
	s := p.Get(Large)
	gen := s.Generation()
	p.Park(s)
	if !s.TryRetain(gen) {
		t.Fatal("cannot retain")
	}
	p.Close()
	s.Bytes()[0] = 1 // would fault if unmapped
	if p.Get(Small) != nil {
		t.Error("closed pool gives memory")
	}
	s.Release()
	if m := p.Stats().Mapped; m != 0 {
		t.Errorf("%d bytes mapped after the last release", m)
	}
}

func TestDropOfARecycledSlabDoesNothing(t *testing.T) {
	p := New(4 << 20)
	defer p.Close()
	s := p.Get(Large)
	gen := s.Generation()
	p.Park(s)
	p.Drop(s, gen)
	again := p.Get(Large)
	p.Park(again)
	p.Drop(s, gen)
	if p.Stats().Parked != int64(Large.Bytes()) {
		t.Error("another's slab was dropped")
	}
}

// Accounts add up whatever is done.
func TestAccountsAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := New(8 << 20)
		type held struct {
			s   *Slab
			gen uint32
		}
		var owned, parked, read []held
		take := func(list *[]held, label string) held {
			i := rapid.IntRange(0, len(*list)-1).Draw(rt, label)
			h := (*list)[i]
			*list = append((*list)[:i], (*list)[i+1:]...)
			return h
		}
		rt.Repeat(map[string]func(*rapid.T){
			"get": func(rt *rapid.T) {
				if s := p.Get(Class(rapid.IntRange(0, 2).Draw(rt, "class"))); s != nil {
					owned = append(owned, held{s, s.Generation()})
				}
			},
			"park": func(rt *rapid.T) {
				if len(owned) > 0 {
					h := take(&owned, "slab")
					p.Park(h.s)
					parked = append(parked, h)
				}
			},
			"read": func(rt *rapid.T) {
				if len(parked) > 0 {
					h := parked[rapid.IntRange(0, len(parked)-1).Draw(rt, "slab")]
					if h.s.TryRetain(h.gen) {
						h.s.Bytes()[0]++
						read = append(read, h)
					}
				}
			},
			"release": func(rt *rapid.T) {
				if len(read) > 0 {
					take(&read, "slab").s.Release()
				}
			},
			"drop": func(rt *rapid.T) {
				if len(parked) > 0 {
					h := take(&parked, "slab")
					p.Drop(h.s, h.gen)
				}
			},
			"trim": func(*rapid.T) { p.Trim(0) },
			"": func(rt *rapid.T) {
				s := p.Stats()
				if s.InUse < 0 || s.Parked < 0 || s.InUse > s.Mapped || s.Mapped > 10<<20 || s.Parked > s.InUse {
					rt.Fatalf("%+v", s)
				}
			},
		})
		p.Close()
		for _, h := range append(owned, read...) {
			h.s.Release()
		}
		if s := p.Stats(); s.Mapped != 0 || s.InUse != 0 {
			rt.Fatalf("left over: %+v", s)
		}
	})
}

func TestConcurrentReadersSeeTheirGeneration(t *testing.T) {
	p := New(4 << 20)
	defer p.Close()
	type published struct {
		s   *Slab
		gen uint32
		tag byte
	}
	var mu sync.Mutex
	var recent []published
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				var x published
				if len(recent) > 0 {
					x = recent[i%len(recent)]
				}
				mu.Unlock()
				if x.s != nil && x.s.TryRetain(x.gen) {
					if got := x.s.Bytes()[7]; got != x.tag {
						t.Errorf("read %d, expected %d", got, x.tag)
					}
					x.s.Release()
				}
			}
		})
	}
	for i := range 3000 {
		s := p.Get(Class(i % 3))
		if s == nil {
			continue
		}
		s.Bytes()[7] = byte(i)
		mu.Lock()
		recent = append(recent, published{s, s.Generation(), byte(i)})
		if len(recent) > 50 {
			recent = recent[1:]
		}
		mu.Unlock()
		p.Park(s)
	}
	close(stop)
	readers.Wait()
}

func BenchmarkGetAndPark(b *testing.B) {
	p := New(64 << 20)
	defer p.Close()
	b.ReportAllocs()
	for b.Loop() {
		p.Park(p.Get(Large))
	}
}

// Slabs that are being read, however many and however old, do not hide those that are not.
func TestSlabsBeingReadDoNotHideTheOthers(t *testing.T) {
	const held = 200
	p := New(int64((held + 8) * Large.Bytes()))
	defer p.Close()
	park := func(n int) (out []*Slab) {
		for range n {
			s := p.Get(Large)
			if s == nil {
				t.Fatal("no slab")
			}
			out = append(out, s)
		}
		return out
	}
	old, young := park(held), park(8)
	for _, s := range old {
		p.Park(s)
		if !s.TryRetain(s.Generation()) {
			t.Fatal("cannot be retained")
		}
		defer s.Release()
	}
	for _, s := range young {
		p.Park(s)
	}
	for i := range young {
		if s := p.Get(Large); s == nil {
			t.Fatalf("slab %d of 8 that nobody reads is not found", i)
		} else {
			defer s.Release()
		}
	}
	if over := p.Stats().Mapped - p.Stats().Budget; over > 0 {
		t.Errorf("%d bytes over the budget", over)
	}
}

func TestAPoolGrowsWhenReadersMissWhatWasEvicted(t *testing.T) {
	const budget = 64 << 20
	p := New(budget)
	defer p.Close()
	fill := func(bytes int) {
		for range bytes / Large.Bytes() {
			p.Park(p.Get(Large))
		}
	}
	fill(2 * budget)
	modest := p.Stats().Mapped
	if modest != budget/4 {
		t.Errorf("%d bytes mapped while nobody reads, want %d", modest, budget/4)
	}
	for range budget / ChunkSize {
		p.Missed()
	}
	fill(2 * budget)
	if got := p.Stats().Mapped; got != budget {
		t.Errorf("%d bytes mapped after readers missed some, want %d", got, budget)
	}
	// Nobody misses anything any more: after some looks it is modest again.
	for range 10 {
		p.Trim(0)
	}
	fill(2 * budget)
	if got := p.Stats().Mapped; got != modest {
		t.Errorf("%d bytes mapped when nobody missed any for long, want %d", got, modest)
	}
}

func TestWritersGetTheWholeBudgetWithoutReaders(t *testing.T) {
	const budget = 64 << 20
	p := New(budget)
	defer p.Close()
	for i := range budget / Large.Bytes() {
		if p.Get(Large) == nil {
			t.Fatalf("refused with %d of %d bytes in use", i*Large.Bytes(), budget)
		}
	}
}

func TestASmallSlabDoesNotCostTheTailOfAPoolThatIsToShrink(t *testing.T) {
	const budget = 64 << 20
	p := New(budget)
	defer p.Close()
	for range budget / ChunkSize {
		p.Missed()
	}
	for range budget / Large.Bytes() {
		p.Park(p.Get(Large))
	}
	for range 10 { // nobody misses anything
		p.Trim(time.Hour)
	}
	s := p.Get(Small)
	defer s.Release()
	if kept := p.Stats().Parked; kept < budget-ChunkSize {
		t.Errorf("one slab of %d bytes took %d of what was parked", Small.Bytes(), budget-kept)
	}
}
