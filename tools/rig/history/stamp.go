package history

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Stamp says which record a value is.
type Stamp struct {
	Producer  int32
	Partition int32
	Seq       int64
}

// stampBytes are the stamp and the checksum over everything that follows the checksum.
const stampBytes = 4 + 4 + 4 + 8

// MinValueBytes is the smallest value that Encode makes.
const MinValueBytes = stampBytes

// Encode makes the value of a record: the stamp and a filling that depends on it, of
// size bytes in all (at least MinValueBytes), under a checksum.
func (s Stamp) Encode(size int) []byte {
	b := make([]byte, 4, max(size, stampBytes))
	b = binary.BigEndian.AppendUint32(b, uint32(s.Producer))
	b = binary.BigEndian.AppendUint32(b, uint32(s.Partition))
	b = binary.BigEndian.AppendUint64(b, uint64(s.Seq))
	for i := len(b); i < size; i++ {
		b = append(b, byte(int(s.Seq)+i*7))
	}
	binary.BigEndian.PutUint32(b, crc32.ChecksumIEEE(b[4:]))
	return b
}

// Decode reads a value back; an error means that the bytes are not what was encoded.
func Decode(value []byte) (Stamp, error) {
	if len(value) < stampBytes {
		return Stamp{}, fmt.Errorf("value of %d bytes has no stamp", len(value))
	}
	if sum := crc32.ChecksumIEEE(value[4:]); sum != binary.BigEndian.Uint32(value) {
		return Stamp{}, fmt.Errorf("checksum of the value is %08x, it says %08x", sum, binary.BigEndian.Uint32(value))
	}
	return Stamp{
		Producer:  int32(binary.BigEndian.Uint32(value[4:])),
		Partition: int32(binary.BigEndian.Uint32(value[8:])),
		Seq:       int64(binary.BigEndian.Uint64(value[12:])),
	}, nil
}
