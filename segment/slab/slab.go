package slab

import "sync/atomic"

// Class is the size of a slab.
type Class int8

// The sizes a slab can have, smallest first.
const (
	Small  Class = iota // 16 KiB
	Medium              // 128 KiB
	Large               // 1 MiB
	classes
)

const (
	// Align is the alignment of each slab's memory, bytes.
	Align = 4096
	// ChunkSize is what is mapped and unmapped at once, bytes: a huge page.
	ChunkSize = 2 << 20
)

var classBytes = [classes]int{Small: 16 << 10, Medium: 128 << 10, Large: 1 << 20}

// Bytes is the size in bytes of slabs of the class.
func (c Class) Bytes() int { return classBytes[c] }

// Slab is a piece of aligned memory with a reference count.
type Slab struct {
	mem   []byte
	pool  *Pool
	chunk *chunk
	class Class

	// state is generation<<32 | references. The generation changes whenever the slab is recycled.
	state atomic.Uint64

	// List links and time, guarded by pool.mu. parked says that the slab is in the pool's eviction list.
	prev, next *Slab
	parked     bool
	parkedAtNs int64
}

// Bytes is the whole memory of the slab. Valid while a reference is held.
func (s *Slab) Bytes() []byte { return s.mem }

// Generation identifies this use of the slab; see TryRetain.
func (s *Slab) Generation() uint32 { return uint32(s.state.Load() >> 32) }

// TryRetain takes a reference if the slab is still in the given generation. False: it has been recycled
// and its bytes are somebody else's.
func (s *Slab) TryRetain(generation uint32) bool {
	for {
		v := s.state.Load()
		if uint32(v>>32) != generation || uint32(v) == 0 {
			return false
		}
		if s.state.CompareAndSwap(v, v+1) {
			return true
		}
	}
}

// Release gives one reference back. The last one recycles the slab.
func (s *Slab) Release() {
	v := s.state.Add(^uint64(0))
	if uint32(v) == 0 {
		s.pool.recycle(s)
	} else if uint32(v) == ^uint32(0) {
		panic("slab: released more often than retained")
	}
}

// evict takes the pool's reference if it is the only one. Caller holds pool.mu.
func (s *Slab) evict() bool {
	v := s.state.Load()
	return uint32(v) == 1 && s.state.CompareAndSwap(v, (v>>32+1)<<32)
}
