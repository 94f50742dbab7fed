package index

import (
	"math"
	"math/rand"
	"testing"
)

func BenchmarkLookup(b *testing.B) {
	x := newOffset(b, 0, 2<<20)
	for i := 1; i <= 256<<10-1; i++ {
		mustAppend(b, x, int64(i*17), uint32(i*4096))
	}
	r := rand.New(rand.NewSource(2))
	keys := make([]int64, 4096)
	for i := range keys {
		keys[i] = r.Int63n(17 * (256<<10 - 2))
	}
	b.Run("random", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i++ {
			x.Lookup(keys[i&4095])
		}
	})
	b.Run("tail", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i++ {
			x.Lookup(math.MaxInt32)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	b.ReportAllocs()
	x := newOffset(b, 0, 2<<20)
	for i := 0; i < b.N; i++ {
		if x.Full() {
			b.StopTimer()
			x.Close()
			x = newOffset(b, 0, 2<<20)
			b.StartTimer()
		}
		n := x.Entries() + 1
		if err := x.Append(int64(n), uint32(n)); err != nil {
			b.Fatal(err)
		}
	}
}
