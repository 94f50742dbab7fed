package batch

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

// The record count of a compressed batch is believed only as far as its bytes can hold so many.
func TestCompressedBatchesCannotHoldAnyNumberOfRecords(t *testing.T) {
	for c := Gzip; c <= Zstd; c++ {
		for _, n := range []int{1, 50_000} { // equal records compress best
			d := NewBuilder()
			d.Codec = c
			for range n {
				d.Add(0, nil, nil)
			}
			b, err := d.Build(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := Validate(b, Limits{}); err != nil {
				t.Errorf("codec %d, %d records in %d bytes: %v", c, n, len(b), err)
			}
			binary.BigEndian.PutUint32(b[posCount:], math.MaxInt32)
			binary.BigEndian.PutUint32(b[posLastOffsetDelta:], math.MaxInt32-1)
			b.FixCRC()
			if err := Validate(b, Limits{}); !errors.Is(err, ErrInvalidRecord) {
				t.Errorf("codec %d, %d bytes that claim 2^31-1 records: %v", c, len(b), err)
			}
		}
	}
}
