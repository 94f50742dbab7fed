package coordinator

import (
	"encoding/binary"
	"hash/crc32"

	"millrace/segment/batch"
)

// Record is one record of an internal topic. A nil Value is a tombstone.
type Record struct {
	Key   []byte
	Value []byte
}

// recordOverhead bounds what a record takes beside its key and value, bytes:
// varints of length, timestamp delta, offset delta, key and value length, the
// attributes and the header count.
const recordOverhead = 5 + 1 + 10 + 5 + 5 + 5 + 1

// bound is an upper bound of the bytes r takes in a batch.
func (r Record) bound() int { return recordOverhead + len(r.Key) + len(r.Value) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendBatch appends to dst one uncompressed batch of records, all with the
// create time nowMs, and returns the whole. The batch starts at len(dst). Base
// offset is 0: the log assigns it. records must not be empty.
func AppendBatch(dst []byte, records []Record, leaderEpoch int32, nowMs int64) []byte {
	start := len(dst)
	be := binary.BigEndian
	dst = be.AppendUint64(dst, 0)                   // base offset
	dst = be.AppendUint32(dst, 0)                   // length, below
	dst = be.AppendUint32(dst, uint32(leaderEpoch)) // leader epoch
	dst = append(dst, 2)                            // magic
	dst = be.AppendUint32(dst, 0)                   // CRC, below
	crcStart := len(dst)
	dst = be.AppendUint16(dst, 0) // attributes: no codec, create time
	dst = be.AppendUint32(dst, uint32(len(records)-1))
	dst = be.AppendUint64(dst, uint64(nowMs)) // base timestamp
	dst = be.AppendUint64(dst, uint64(nowMs)) // max timestamp
	noID, noEpoch, noSeq := batch.NoProducerID, batch.NoProducerEpoch, batch.NoSequence
	dst = be.AppendUint64(dst, uint64(noID))
	dst = be.AppendUint16(dst, uint16(noEpoch))
	dst = be.AppendUint32(dst, uint32(noSeq))
	dst = be.AppendUint32(dst, uint32(len(records)))
	for i, r := range records {
		dst = appendRecord(dst, int64(i), r)
	}
	be.PutUint32(dst[start+8:], uint32(len(dst)-start-batch.LogOverhead))
	be.PutUint32(dst[crcStart-4:], crc32.Checksum(dst[crcStart:], castagnoli))
	return dst
}

func appendRecord(dst []byte, delta int64, r Record) []byte {
	valueLen := int64(len(r.Value))
	if r.Value == nil {
		valueLen = -1
	}
	size := 1 + varintSize(0) + varintSize(delta) + varintSize(int64(len(r.Key))) + len(r.Key) +
		varintSize(valueLen) + len(r.Value) + varintSize(0)
	dst = binary.AppendVarint(dst, int64(size))
	dst = append(dst, 0)              // attributes
	dst = binary.AppendVarint(dst, 0) // timestamp delta
	dst = binary.AppendVarint(dst, delta)
	dst = binary.AppendVarint(dst, int64(len(r.Key)))
	dst = append(dst, r.Key...)
	dst = binary.AppendVarint(dst, valueLen)
	dst = append(dst, r.Value...)
	return binary.AppendVarint(dst, 0) // headers
}

// varintSize is the number of bytes of v as a zigzag varint.
func varintSize(v int64) int {
	n := 1
	for u := uint64(v)<<1 ^ uint64(v>>63); u >= 0x80; u >>= 7 {
		n++
	}
	return n
}
