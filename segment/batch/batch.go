package batch

import "encoding/binary"

// Positions of the header fields, bytes from the start of the batch.
const (
	posBaseOffset      = 0
	posLength          = 8
	posLeaderEpoch     = 12
	posMagic           = 16
	posCRC             = 17
	posAttributes      = 21
	posLastOffsetDelta = 23
	posBaseTimestamp   = 27
	posMaxTimestamp    = 35
	posProducerID      = 43
	posProducerEpoch   = 51
	posBaseSequence    = 53
	posCount           = 57

	// HeaderSize is the size in bytes of the header, up to the first record.
	HeaderSize = 61
	// LogOverhead is the size in bytes of base offset and length, which the
	// length field does not count.
	LogOverhead = 12
)

// Attribute bits.
const (
	codecMask         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
	attrDeleteHorizon = 0x40
)

// NoTimestamp, NoProducerID, NoProducerEpoch and NoSequence mean that a field is not set.
const (
	NoTimestamp     int64 = -1
	NoProducerID    int64 = -1
	NoProducerEpoch int16 = -1
	NoSequence      int32 = -1
)

// Codec is the compression codec of a batch, as in its attribute bits.
type Codec int8

// The codecs of the protocol.
const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
)

// Batch is one record batch. Accessors need at least HeaderSize bytes, which
// Validate and Next guarantee.
type Batch []byte

func (b Batch) BaseOffset() int64 { return int64(binary.BigEndian.Uint64(b[posBaseOffset:])) }

// Length is the length field: bytes after it.
func (b Batch) Length() int32 { return int32(binary.BigEndian.Uint32(b[posLength:])) }

// Size is the size in bytes of the whole batch by its length field.
func (b Batch) Size() int              { return int(b.Length()) + LogOverhead }
func (b Batch) LeaderEpoch() int32     { return int32(binary.BigEndian.Uint32(b[posLeaderEpoch:])) }
func (b Batch) Magic() int8            { return int8(b[posMagic]) }
func (b Batch) CRC() uint32            { return binary.BigEndian.Uint32(b[posCRC:]) }
func (b Batch) Attributes() int16      { return int16(binary.BigEndian.Uint16(b[posAttributes:])) }
func (b Batch) LastOffsetDelta() int32 { return int32(binary.BigEndian.Uint32(b[posLastOffsetDelta:])) }
func (b Batch) LastOffset() int64      { return b.BaseOffset() + int64(b.LastOffsetDelta()) }
func (b Batch) NextOffset() int64      { return b.LastOffset() + 1 }
func (b Batch) BaseTimestamp() int64   { return int64(binary.BigEndian.Uint64(b[posBaseTimestamp:])) }
func (b Batch) MaxTimestamp() int64    { return int64(binary.BigEndian.Uint64(b[posMaxTimestamp:])) }
func (b Batch) ProducerID() int64      { return int64(binary.BigEndian.Uint64(b[posProducerID:])) }
func (b Batch) ProducerEpoch() int16   { return int16(binary.BigEndian.Uint16(b[posProducerEpoch:])) }
func (b Batch) BaseSequence() int32    { return int32(binary.BigEndian.Uint32(b[posBaseSequence:])) }
func (b Batch) Count() int32           { return int32(binary.BigEndian.Uint32(b[posCount:])) }
func (b Batch) Codec() Codec           { return Codec(b.Attributes() & codecMask) }
func (b Batch) IsLogAppendTime() bool  { return b.Attributes()&attrLogAppendTime != 0 }
func (b Batch) IsTransactional() bool  { return b.Attributes()&attrTransactional != 0 }
func (b Batch) IsControl() bool        { return b.Attributes()&attrControl != 0 }
func (b Batch) HasDeleteHorizon() bool { return b.Attributes()&attrDeleteHorizon != 0 }
func (b Batch) HasProducer() bool      { return b.ProducerID() >= 0 }
func (b Batch) Records() []byte        { return b[HeaderSize:b.Size()] }
func (b Batch) SetBaseOffset(o int64)  { binary.BigEndian.PutUint64(b[posBaseOffset:], uint64(o)) }
func (b Batch) SetLeaderEpoch(e int32) { binary.BigEndian.PutUint32(b[posLeaderEpoch:], uint32(e)) }

// LastSequence is the sequence number of the last record; sequences wrap from
// 2^31-1 to 0.
func (b Batch) LastSequence() int32 {
	return IncrementSequence(b.BaseSequence(), b.LastOffsetDelta())
}

// IncrementSequence adds n to a sequence number, wrapping from 2^31-1 to 0.
func IncrementSequence(seq, n int32) int32 {
	const maxSequence = 1<<31 - 1
	if seq > maxSequence-n {
		return n - (maxSequence - seq) - 1
	}
	return seq + n
}
