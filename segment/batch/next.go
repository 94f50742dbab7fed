package batch

import (
	"fmt"
	"io"
	"iter"
)

// minLength is the smallest length field: a batch of no records.
const minLength = HeaderSize - LogOverhead

// Next returns the batch at the front of b and its size in bytes. It looks at
// length and magic only; CRC and contents are as they may be.
//
// io.EOF: b is empty. ErrShort: b ends inside the batch; size is what it needs, as
// far as that is known yet, and may be absurd, up to 2 GiB: the caller compares it
// with what there can be before making room. ErrCorrupt: no batch starts here
// (zeros included).
func Next(b []byte) (first Batch, size int, err error) {
	if len(b) == 0 {
		return nil, 0, io.EOF
	}
	if len(b) < HeaderSize {
		return nil, HeaderSize, ErrShort
	}
	h := Batch(b[:HeaderSize])
	if n := h.Length(); n < minLength {
		return nil, 0, fmt.Errorf("%w: length %d", ErrCorrupt, n)
	}
	if m := h.Magic(); m != 2 {
		return nil, 0, fmt.Errorf("%w: magic %d", ErrCorrupt, m)
	}
	size = h.Size()
	if size > len(b) {
		return nil, size, ErrShort
	}
	return Batch(b[:size:size]), size, nil
}

// All yields the batches of b in order. The first error of Next ends it and is
// yielded, except io.EOF.
func All(b []byte) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		for {
			first, size, err := Next(b)
			if err == io.EOF {
				return
			}
			if !yield(first, err) || err != nil {
				return
			}
			b = b[size:]
		}
	}
}
