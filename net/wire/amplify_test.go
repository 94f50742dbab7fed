package wire

import (
	"errors"
	"runtime"
	"testing"
)

// A frame of empty elements is a few bytes each on the wire and a struct each in
// memory. Decoding takes no more than a small multiple of what was received.
func TestEmptyElementsDoNotMultiply(t *testing.T) {
	const size = 4 << 20
	produce := []byte{0, 0xff, 0xff, 0, 0, 0, 0} // no transactional id, acks -1, timeout
	fetch := make([]byte, 25)                    // replica id to session epoch
	for _, c := range []struct {
		name   string
		head   []byte
		decode func([]byte) error
	}{
		{"Produce", produce, func(b []byte) error { return new(ProduceRequest).Decode(12, b) }},
		{"Fetch", fetch, func(b []byte) error { return new(FetchRequest).Decode(12, b) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := size / 3
			body := append([]byte(nil), c.head...)
			for v := uint32(n + 1); ; v >>= 7 { // compact count
				if v < 0x80 {
					body = append(body, byte(v))
					break
				}
				body = append(body, byte(v)|0x80)
			}
			for range n { // empty name, no partitions, no tags
				body = append(body, 1, 1, 0)
			}
			body = append(body, 1, 1, 0, 0)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := c.decode(body)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, errElements) {
				t.Errorf("error %v, want %v", err, errElements)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 2*size {
				t.Errorf("%d bytes allocated for a request of %d", used, len(body))
			}
		})
	}
}
