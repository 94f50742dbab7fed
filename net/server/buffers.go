package server

import (
	"math/bits"
	"sync"
)

// Frame buffers come in size classes, four to each doubling: 512, 640, 768, 896,
// 1024, 1280 ... so that a frame wastes at most a quarter. Those above pooledMax are
// left to the collector: they are rare, and a pool of them would be most of the
// memory of an idle broker.
const (
	minClassBits = 9
	pooledMax    = 8 << 20 // bytes
)

// buffer is pooled memory for a frame or a part of one.
type buffer struct {
	b     []byte // of the size of the class
	class int    // -1: not pooled
}

var bufferPools [4 * (32 - minClassBits)]sync.Pool

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
		return &buffer{b: make([]byte, n), class: -1}
	}
	class, size := sizeClass(n)
	if v := bufferPools[class].Get(); v != nil {
		return v.(*buffer)
	}
	return &buffer{b: make([]byte, size), class: class}
}

// free gives the buffer back. A nil buffer is fine.
func (b *buffer) free() {
	if b != nil && b.class >= 0 {
		bufferPools[b.class].Put(b)
	}
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
