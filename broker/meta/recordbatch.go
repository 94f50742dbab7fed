package meta

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kbin"

	"millrace/segment/batch"
)

// maxBatchBytes bounds the records of one batch. A commit of more goes out as several
// batches in a transaction. A single record is far below it.
const maxBatchBytes = 1 << 20

// crcStart is where the part of a batch begins that its CRC covers.
const crcStart = 21

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// buildBatches encodes changes as one batch, or, if their records are more than
// maxBytes, as several enclosed in transaction records. Base offsets are 0: the log
// assigns them.
func buildBatches(changes []Change, nowMs int64, maxBytes int) []batch.Batch {
	values, size := encodeAll(changes)
	if size <= maxBytes {
		return []batch.Batch{buildBatch(values, nowMs)}
	}
	values, _ = encodeAll(append(append([]Change{&beginTransactionRecord{}}, changes...), &endTransactionRecord{}))
	var out []batch.Batch
	for len(values) > 0 {
		n, size := 0, 0
		for n < len(values) && (n == 0 || size+len(values[n]) <= maxBytes) {
			size += len(values[n])
			n++
		}
		out = append(out, buildBatch(values[:n], nowMs))
		values = values[n:]
	}
	return out
}

func encodeAll(changes []Change) (values [][]byte, size int) {
	for _, c := range changes {
		v := c.append(nil)
		values = append(values, v)
		size += len(v)
	}
	return values, size
}

// buildBatch makes a batch of records with the given values, no keys and no headers.
func buildBatch(values [][]byte, nowMs int64) batch.Batch {
	size := batch.HeaderSize
	for _, v := range values {
		size += len(v) + 20
	}
	b := make([]byte, batch.HeaderSize, size)
	for i, v := range values {
		body := 1 + 1 + kbin.VarintLen(int32(i)) + 1 + kbin.VarintLen(int32(len(v))) + len(v) + 1
		b = kbin.AppendVarint(b, int32(body))
		b = append(b, 0, 0) // attributes, timestamp delta
		b = kbin.AppendVarint(b, int32(i))
		b = kbin.AppendVarint(b, -1) // no key
		b = kbin.AppendVarint(b, int32(len(v)))
		b = append(b, v...)
		b = append(b, 0) // no headers
	}
	h := kbin.AppendInt64(b[:0], 0)
	h = kbin.AppendInt32(h, int32(len(b)-batch.LogOverhead))
	h = kbin.AppendInt32(h, 0) // leader epoch
	h = kbin.AppendInt8(h, 2)  // magic
	h = kbin.AppendInt32(h, 0) // CRC, below
	h = kbin.AppendInt16(h, 0) // attributes
	h = kbin.AppendInt32(h, int32(len(values)-1))
	h = kbin.AppendInt64(h, nowMs)
	h = kbin.AppendInt64(h, nowMs)
	h = kbin.AppendInt64(h, batch.NoProducerID)
	h = kbin.AppendInt16(h, batch.NoProducerEpoch)
	h = kbin.AppendInt32(h, batch.NoSequence)
	kbin.AppendInt32(h, int32(len(values)))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[crcStart:], castagnoli))
	return b
}

// eachRecord checks a batch read back and calls f with each record value, a view into
// b. Everything that is not exactly such a batch as buildBatch makes is an error.
func eachRecord(b batch.Batch, f func(value []byte) error) error {
	if len(b) < batch.HeaderSize || b.Length() < batch.HeaderSize-batch.LogOverhead || b.Size() > len(b) {
		return fmt.Errorf("batch of %d bytes is cut short", len(b))
	}
	b = b[:b.Size()]
	if b.Magic() != 2 {
		return fmt.Errorf("batch has magic %d, expected 2", b.Magic())
	}
	if got := crc32.Checksum(b[crcStart:], castagnoli); got != b.CRC() {
		return fmt.Errorf("batch has CRC %#08x, computed %#08x", b.CRC(), got)
	}
	if b.IsControl() {
		return nil // of the log itself (Kafka: leader changes)
	}
	if b.Codec() != batch.None {
		return fmt.Errorf("batch is compressed with codec %d; a metadata log never is", b.Codec())
	}
	if b.LastOffsetDelta() != b.Count()-1 {
		return fmt.Errorf("batch of %d records has last offset delta %d", b.Count(), b.LastOffsetDelta())
	}
	r := kbin.Reader{Src: b.Records()}
	for i := range b.Count() {
		value, ok := recordValue(&r)
		if !ok {
			return fmt.Errorf("record %d of %d does not parse", i, b.Count())
		}
		if err := f(value); err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
	}
	if len(r.Src) > 0 {
		return fmt.Errorf("%d bytes after the last of %d records", len(r.Src), b.Count())
	}
	return nil
}

// recordValue reads one record and gives its value.
func recordValue(r *kbin.Reader) ([]byte, bool) {
	size := r.Varint()
	if size < 0 || !r.Ok() {
		return nil, false
	}
	body := kbin.Reader{Src: r.Span(int(size))}
	body.Int8()    // attributes
	body.Varlong() // timestamp delta
	body.Varint()  // offset delta
	body.VarintBytes()
	value := body.VarintBytes()
	return value, r.Ok() && body.Ok() && value != nil
}
