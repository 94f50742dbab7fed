package server

import "github.com/valyala/bytebufferpool"

// pooled is a buffer that goes back to its pool when what refers to it is sent.
type pooled struct{ *bytebufferpool.ByteBuffer }

// Release gives the buffer back.
func (b pooled) Release() { bytebufferpool.Put(b.ByteBuffer) }

// PooledPart is the bytes of b from position from on, as the last part that refers to
// b: sending it gives b back to its pool.
func PooledPart(b *bytebufferpool.ByteBuffer, from int) Part {
	return Part{Bytes: b.B[from:], Ref: pooled{b}}
}
