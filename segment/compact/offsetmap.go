package compact

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"unsafe"

	"golang.org/x/sys/unix"
)

// entryBytes is what a key takes in the map: 16 bytes of hash and 8 of offset.
const entryBytes = 24

// offsetMap has the last offset of each key, by a hash of 16 bytes: an open-addressed table outside of the collector's
// heap, whose size is fixed. The hash is seeded anew for each map, so that nobody can make keys that collide; that two
// of 50 million do by chance has a probability of 2^-77. It is for one goroutine.
type offsetMap struct {
	mem   []byte
	table []entry
	used  int
	limit int // used never exceeds it
	seeds [2]maphash.Seed
	// latest is the last offset that is known to the map; what comes after it is not compacted.
	latest int64
}

type entry struct {
	a, b uint64
	next uint64 // offset + 1; 0: free
}

// newOffsetMap makes a map in at most bytes of memory that is full with loadFactor of its entries in use. It is made no
// larger than records asks for.
func newOffsetMap(bytes int64, loadFactor float64, records int64) (*offsetMap, error) {
	slots := max(bytes/entryBytes, 2)
	if need := float64(records)/loadFactor + 2; need < float64(slots) {
		slots = int64(need)
	}
	mem, err := unix.Mmap(-1, 0, int(slots*entryBytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes for offsets: %w", slots*entryBytes, err)
	}
	return &offsetMap{
		mem:   mem,
		table: unsafe.Slice((*entry)(unsafe.Pointer(&mem[0])), slots),
		limit: int(min(max(int64(float64(slots)*loadFactor), 1), slots-1)),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}, nil
}

func (m *offsetMap) close() {
	if m.mem != nil {
		_ = unix.Munmap(m.mem)
		m.mem, m.table = nil, nil
	}
}

// find is the entry of a key, or the free one where it belongs. One is always free.
func (m *offsetMap) find(key []byte) (e *entry, a, b uint64) {
	a, b = maphash.Bytes(m.seeds[0], key), maphash.Bytes(m.seeds[1], key)
	at, _ := bits.Mul64(a, uint64(len(m.table)))
	for {
		e = &m.table[at]
		if e.next == 0 || e.a == a && e.b == b {
			return e, a, b
		}
		if at++; at == uint64(len(m.table)) {
			at = 0
		}
	}
}

// put enters the offset of a key, which is larger than all before it. False: the key is new and the map full.
func (m *offsetMap) put(key []byte, offset int64) bool {
	e, a, b := m.find(key)
	if e.next == 0 {
		if m.used >= m.limit {
			return false
		}
		m.used++
	}
	*e = entry{a, b, uint64(offset) + 1}
	return true
}

// get is the last offset of a key, -1 if it has none.
func (m *offsetMap) get(key []byte) int64 {
	e, _, _ := m.find(key)
	return int64(e.next) - 1
}
