package batch

import (
	"encoding/binary"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ComputeCRC is the CRC-32C of what the crc field covers.
func (b Batch) ComputeCRC() uint32 {
	return crc32.Checksum(b[posAttributes:b.Size()], castagnoli)
}

// ValidCRC says whether the crc field is right.
func (b Batch) ValidCRC() bool { return b.CRC() == b.ComputeCRC() }

// FixCRC sets the crc field after a field that it covers was changed.
func (b Batch) FixCRC() { binary.BigEndian.PutUint32(b[posCRC:], b.ComputeCRC()) }

// SetMaxTimestamp changes the max timestamp. The CRC is wrong until FixCRC.
func (b Batch) SetMaxTimestamp(ms int64) {
	binary.BigEndian.PutUint64(b[posMaxTimestamp:], uint64(ms))
}

// ClearLogAppendTime says that the records' own times count. It sets the CRC.
func (b Batch) ClearLogAppendTime() {
	b[posAttributes+1] &^= attrLogAppendTime
	b.FixCRC()
}

// SetLogAppendTime makes ms the time of all records: the attribute bit says that
// consumers take the max timestamp instead of the records' own. It sets the CRC,
// at the price of reading the batch once more.
func (b Batch) SetLogAppendTime(ms int64) {
	b[posAttributes+1] |= attrLogAppendTime
	b.SetMaxTimestamp(ms)
	b.FixCRC()
}
