package server

import (
	"math/bits"
	"sync"
)

// Frame buffers come in size classes, four to each doubling: 512, 640, 768, 896,
// 1024, 1280 ... so that a frame wastes at most a quarter. Up to pooledMax each class
// has a pool. Larger ones share one short list: a frame is given back as soon as its
// batches are copied to the log, so that few are in use at a time, but a producer's
// frames have every size up to its limit, and a pool for each would keep the memory
// of all of them.
const (
	minClassBits = 9
	pooledMax    = 256 << 10 // bytes
)

// buffer is pooled memory for a frame or a part of one.
type buffer struct {
	b     []byte // of the size of the class
	class int    // -1: on the list of large ones
}

var bufferPools [4*(18-minClassBits) + 1]sync.Pool

// sizeClass returns the smallest class that holds n bytes and its size.
func sizeClass(n int) (class, size int) {
	if n <= 1<<minClassBits {
		return 0, 1 << minClassBits
	}
	top := bits.Len(uint(n-1)) - 1 // 1<<top < n <= 1<<(top+1)
	step := 1 << (top - 2)
	q := (n - 1<<top + step - 1) / step // 1 to 4
	return 4*(top-minClassBits) + q, 1<<top + q*step
}

// getBuffer returns memory for at least n bytes, n > 0. The content is arbitrary.
func getBuffer(n int) *buffer {
	if n > pooledMax {
		return large.get(n)
	}
	class, size := sizeClass(n)
	if v := bufferPools[class].Get(); v != nil {
		return v.(*buffer)
	}
	return &buffer{b: make([]byte, size), class: class}
}

// free gives the buffer back. A nil buffer is fine.
func (b *buffer) free() {
	switch {
	case b == nil:
	case b.class >= 0:
		bufferPools[b.class].Put(b)
	default:
		large.put(b)
	}
}

// largeBuffers keeps free buffers above pooledMax, at most keepLarge bytes of them.
type largeBuffers struct {
	mu    sync.Mutex
	free  []*buffer
	bytes int
}

const keepLarge = 32 << 20 // bytes

var large largeBuffers

// get returns the smallest free buffer that holds n bytes, or a new one.
func (l *largeBuffers) get(n int) *buffer {
	if b := l.fitting(n); b != nil {
		return b
	}
	_, size := sizeClass(n)
	return &buffer{b: make([]byte, size), class: -1}
}

// fitting takes the smallest free buffer that holds n bytes, nil if none does.
func (l *largeBuffers) fitting(n int) *buffer {
	l.mu.Lock()
	defer l.mu.Unlock()
	best := -1
	for i, b := range l.free {
		if len(b.b) >= n && (best < 0 || len(b.b) < len(l.free[best].b)) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return l.take(best)
}

// put keeps b, and lets the smallest ones go if that is too much: a large buffer can
// do for a small one.
func (l *largeBuffers) put(b *buffer) {
	if len(b.b) > keepLarge {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, b)
	l.bytes += len(b.b)
	for l.bytes > keepLarge {
		smallest := 0
		for i, x := range l.free {
			if len(x.b) < len(l.free[smallest].b) {
				smallest = i
			}
		}
		l.take(smallest)
	}
}

// take removes buffer i from the list.
func (l *largeBuffers) take(i int) *buffer {
	b, last := l.free[i], len(l.free)-1
	l.free[i], l.free[last] = l.free[last], nil
	l.free = l.free[:last]
	l.bytes -= len(b.b)
	return b
}

// Growth of the buffer of a frame. Memory follows what has arrived: up to
// eagerBytes, which takes the usual produce request with 1 MiB of records, it is at
// most eagerFactor times that, so that after a first read of 64 KiB the rest of such
// a request goes to its final place; then lateFactor times.
const (
	firstBytes  = 4 << 10
	eagerBytes  = 1<<20 + 64<<10
	eagerFactor = 20
	lateFactor  = 4
)

// frameCapacity returns the capacity to have for a frame of need bytes of which have
// are there and more are about to be.
func frameCapacity(need, have int) int {
	want := min(max(firstBytes, eagerFactor*have), eagerBytes)
	return min(need, max(want, lateFactor*have))
}
