package slab

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// evictScan bounds how many parked slabs that are being read one Get steps over.
const evictScan = 512

// Stats is a snapshot of a pool, bytes unless the name says otherwise.
type Stats struct {
	Budget    int64
	Mapped    int64 // mapped from the system
	InUse     int64 // owned by logs or parked
	Parked    int64 // of these: written, may be evicted
	Evictions int64 // count since start
	Refused   int64 // Gets that returned nil
}

// Pool hands out slabs under one budget.
type Pool struct {
	budget int64
	limit  int64 // budget and over-commit
	modest int64 // what want begins with

	// crowded says that readers hold so much that writers could go without.
	crowded atomic.Bool

	mu        sync.Mutex
	free      [classes]list // carved, unused
	oldest    list          // parked, oldest first
	want      int64         // up to here a new chunk comes before evicting
	missed    bool          // since the last Trim
	mapped    int64
	inUse     int64
	parked    int64
	evictions int64
	refused   int64
	closed    bool
}

// chunk is one mapping, carved into slabs of one class.
type chunk struct {
	mem   []byte
	slabs []*Slab
	used  int // slabs of it that are not free
}

// New makes a pool. Nothing is mapped until the first Get.
func New(budget int64) *Pool {
	budget = max(budget, 2*ChunkSize)
	modest := min(budget, max(budget/4, modestBytes))
	return &Pool{budget: budget, limit: budget + max(budget/4, ChunkSize), modest: modest, want: modest}
}

// modestBytes is from how much memory on a pool evicts before it takes more. Fresh memory has to be cleared, under a
// hypervisor twice, which costs more than the append: producing the first 2 GB to 16 partitions took 1.37 CPU s/GB
// and 355 MB/s with 256 MB at once, 1.04 and 395 with 64.
const modestBytes = 16 << 20

// Missed says that a reader came for what was evicted not long ago: more memory would have served it.
func (p *Pool) Missed() {
	p.mu.Lock()
	p.missed = true
	p.want = min(p.want+ChunkSize, p.budget)
	p.mu.Unlock()
}

// Get returns a slab with one reference, which is the caller's. Its bytes are not zeroed. Nil: the
// budget is used up by slabs being written or read.
func (p *Pool) Get(c Class) *Slab { return p.get(c, p.limit) }

// GetUrgent is Get for those without whom the memory would not become free: for them there is some more.
func (p *Pool) GetUrgent(c Class) *Slab { return p.get(c, p.limit+urgent) }

// urgent is the memory beyond the limit, bytes.
const urgent = 4 * ChunkSize

func (p *Pool) get(c Class, limit int64) *Slab {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	for {
		if s := p.free[c].first(); s != nil {
			return p.take(s)
		}
		if p.mapped+ChunkSize <= p.want && p.mapChunk(c) {
			continue
		}
		if p.reclaim(c) {
			if p.free[c].first() == nil && p.mapped+ChunkSize <= p.budget {
				p.mapChunk(c) // in the place of the one that was returned, or more would be evicted to get down to want
			}
			continue
		}
		if p.mapped+ChunkSize <= p.budget && p.mapChunk(c) {
			continue
		}
		p.crowded.Store(true)
		if p.mapped+ChunkSize <= limit && p.mapChunk(c) {
			continue
		}
		p.refused++
		return nil
	}
}

// Crowded says that memory is short because of readers: what is in a file as well is
// better read from there, since a slow reader holds what it was handed.
func (p *Pool) Crowded() bool { return p.crowded.Load() }

// Roomy says that slabs being written hold little of the budget: a log may take larger ones. Where logs are many, a
// large slab each would not fit.
func (p *Pool) Roomy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inUse-p.parked < p.budget/4
}

// Tight says that slabs being written hold more than half of the budget: a log should give up one that is written rather
// than keep it for what comes next.
func (p *Pool) Tight() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inUse-p.parked > p.budget/2
}

// take makes a free slab an owned one.
func (p *Pool) take(s *Slab) *Slab {
	p.free[s.class].remove(s)
	s.chunk.used++
	p.inUse += int64(len(s.mem))
	s.state.Add(1)
	return s
}

// reclaim evicts the oldest parked slabs until one of class c is free, or a chunk has become whole and was
// returned. It says whether it made progress.
func (p *Pool) reclaim(c Class) bool {
	now := time.Now().UnixNano()
	s := p.oldest.first()
	for i := 0; i < evictScan && s != nil; {
		next := s.next
		if !s.evict() {
			// Out of the way of the next look: those behind it may be free of readers.
			p.oldest.remove(s)
			p.oldest.push(s)
			s.parkedAtNs = now
			i++
			s = next
			continue
		}
		p.unpark(s)
		p.evictions++
		p.put(s)
		if s.class == c {
			return true
		}
		if s.chunk.used == 0 {
			p.unmap(s.chunk)
			return true
		}
		s = next
	}
	// Free pieces of other classes may make up a whole chunk.
	for k := range p.free {
		if Class(k) == c {
			continue
		}
		for f := p.free[k].first(); f != nil; f = f.next {
			if f.chunk.used == 0 {
				p.unmap(f.chunk)
				return true
			}
		}
	}
	return false
}

// put makes an unreferenced slab free. Its generation has been changed already.
func (p *Pool) put(s *Slab) {
	p.inUse -= int64(len(s.mem))
	s.chunk.used--
	p.free[s.class].pushFront(s) // the warmest is taken first
	if p.closed && s.chunk.used == 0 {
		p.unmap(s.chunk)
	}
}

// recycle is the end of the last reference that was not the pool's.
func (p *Pool) recycle(s *Slab) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := s.state.Load()
	s.state.Store((v>>32 + 1) << 32)
	p.put(s)
}

// Park gives the caller's reference to the pool: the slab is filled and written, it stays readable until its
// memory is wanted.
func (p *Pool) Park(s *Slab) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.parked {
		panic("slab: parked twice")
	}
	if p.closed {
		p.dropLocked(s)
		return
	}
	s.parked = true
	s.parkedAtNs = time.Now().UnixNano()
	p.oldest.push(s)
	p.parked += int64(len(s.mem))
}

// Drop takes a parked slab out of the hot tail because its data is gone (truncated, deleted). Nothing
// happens if it was recycled since.
func (p *Pool) Drop(s *Slab, generation uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.parked || s.Generation() != generation {
		return
	}
	p.unpark(s)
	p.dropLocked(s)
}

// dropLocked gives one reference back under p.mu.
func (p *Pool) dropLocked(s *Slab) {
	v := s.state.Add(^uint64(0))
	if uint32(v) == 0 {
		s.state.Store((v>>32 + 1) << 32)
		p.put(s)
	}
}

func (p *Pool) unpark(s *Slab) {
	s.parked = false
	p.oldest.remove(s)
	p.parked -= int64(len(s.mem))
}

// Trim evicts what was parked before idle ago and returns whole free chunks to the system, so that an
// idle process is small. It also looks whether readers still crowd the pool.
func (p *Pool) Trim(idle time.Duration) {
	before := time.Now().Add(-idle).UnixNano()
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := p.oldest.first(); s != nil && s.parkedAtNs <= before; {
		next := s.next
		if s.evict() {
			p.unpark(s)
			p.evictions++
			p.put(s)
		}
		s = next
	}
	held := int64(0)
	for s := p.oldest.first(); s != nil; s = s.next {
		if uint32(s.state.Load()) > 1 {
			held += int64(len(s.mem))
		}
	}
	p.crowded.Store(held > p.budget/2)
	if !p.missed {
		p.want = max(p.want/2, p.modest)
	}
	p.missed = false
	for k := range p.free {
		for s := p.free[k].first(); s != nil; {
			if s.chunk.used != 0 {
				s = s.next
				continue
			}
			p.unmap(s.chunk)
			s = p.free[k].first()
		}
	}
}

// Close evicts everything and unmaps it; what is still referenced is unmapped by its last Release.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for s := p.oldest.first(); s != nil; s = p.oldest.first() {
		p.unpark(s)
		p.dropLocked(s)
	}
	p.mu.Unlock()
	p.Trim(0)
}

// Stats may be called at any time.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{
		Budget: p.budget, Mapped: p.mapped, InUse: p.inUse, Parked: p.parked,
		Evictions: p.evictions, Refused: p.refused,
	}
}

// mapChunk maps a chunk and carves it into free slabs of class c. False: the system has no memory.
func (p *Pool) mapChunk(c Class) bool {
	mem, err := unix.Mmap(-1, 0, ChunkSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return false
	}
	// A huge page saves a quarter of the CPU of copying in and writing out (fewer misses, one page to pin for the
	// kernel instead of 512). Without support for it this does nothing.
	_ = unix.Madvise(mem, unix.MADV_HUGEPAGE)
	ch := &chunk{mem: mem}
	size := c.Bytes()
	for at := 0; at < ChunkSize; at += size {
		s := &Slab{mem: mem[at : at+size : at+size], pool: p, chunk: ch, class: c}
		ch.slabs = append(ch.slabs, s)
		p.free[c].push(s)
	}
	p.mapped += ChunkSize
	return true
}

// unmap returns a chunk none of whose slabs is in use. Stale pointers to its slabs stay harmless: they
// have no references and their generation has passed.
func (p *Pool) unmap(ch *chunk) {
	for _, s := range ch.slabs {
		p.free[s.class].remove(s)
		s.mem = nil
	}
	if err := unix.Munmap(ch.mem); err != nil {
		panic(fmt.Sprintf("slab: unmap %d bytes: %v", len(ch.mem), err))
	}
	ch.mem = nil
	p.mapped -= ChunkSize
}

// list is a queue of slabs through their own links.
type list struct{ head, tail *Slab }

func (l *list) first() *Slab { return l.head }

func (l *list) push(s *Slab) {
	s.prev, s.next = l.tail, nil
	if l.tail == nil {
		l.head = s
	} else {
		l.tail.next = s
	}
	l.tail = s
}

func (l *list) pushFront(s *Slab) {
	s.prev, s.next = nil, l.head
	if l.head == nil {
		l.tail = s
	} else {
		l.head.prev = s
	}
	l.head = s
}

func (l *list) remove(s *Slab) {
	if s.prev == nil {
		l.head = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		l.tail = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.prev, s.next = nil, nil
}
