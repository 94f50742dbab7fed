package main

import (
	"encoding/binary"
	"hash/crc32"
	"time"
)

// Bytes of a batch's header, and of those that its length does not count.
const (
	batchHeader   = 61
	batchOverhead = 12
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encodeBatch is a record batch (format 2, no compression, no producer id) of n of the
// values, from number first on.
func encodeBatch(values [][]byte, first, n int, at time.Time) []byte {
	be := binary.BigEndian
	b := make([]byte, batchHeader, batchHeader+n*(len(values[0])+16))
	for i := range n {
		value := values[(first+i)%len(values)]
		// Attributes, deltas of timestamp and offset, no key, and the value's length.
		head := binary.AppendVarint([]byte{0, 0}, int64(i))
		head = binary.AppendVarint(head, -1)
		head = binary.AppendVarint(head, int64(len(value)))
		b = binary.AppendVarint(b, int64(len(head)+len(value)+1))
		b = append(b, head...)
		b = append(b, value...)
		b = append(b, 0) // no headers
	}
	be.PutUint32(b[8:], uint32(len(b)-batchOverhead)) // length
	b[16] = 2                                         // magic
	be.PutUint32(b[23:], uint32(n-1))                 // last offset delta
	ms := uint64(at.UnixMilli())
	be.PutUint64(b[27:], ms)
	be.PutUint64(b[35:], ms)
	be.PutUint64(b[43:], 1<<64-1) // no producer id
	be.PutUint16(b[51:], 1<<16-1) // no producer epoch
	be.PutUint32(b[53:], 1<<32-1) // no sequence
	be.PutUint32(b[57:], uint32(n))
	be.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b
}
