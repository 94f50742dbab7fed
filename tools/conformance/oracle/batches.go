package oracle

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Sizes and positions in a record batch, bytes.
const (
	batchPrefix = 12 // base offset and length
	batchHeader = 61
	crcEnd      = 21 // the CRC covers everything from here
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// epochMs is the timestamp of the records of probes. It is fixed, so that the
// bytes of a batch are the same in both brokers, and recent enough that retention
// leaves them alone while a run lasts.
var epochMs = time.Now().Add(-time.Hour).UnixMilli()

// batch builds the bytes of one record batch, true or false as the probe wants it.
// The zero value with records is a plain batch without a producer id.
type batch struct {
	records    []kmsg.Record
	firstMs    int64 // timestamp of the first record; epochMs if 0
	maxMs      int64 // timestamp in the header; that of the last record if 0
	attributes int16 // besides the codec
	codec      kgo.CompressionCodec
	producer   *producer
	magic      int8           // 2 if 0
	tear       func(b []byte) // damages the finished bytes
}

// producer is the idempotent part of a batch header.
type producer struct {
	id    int64
	epoch int16
	seq   int32
}

// value makes a record without key.
func value(v string) kmsg.Record { return kmsg.Record{Value: []byte(v)} }

// keyed makes a record with a key.
func keyed(k, v string) kmsg.Record { return kmsg.Record{Key: []byte(k), Value: []byte(v)} }

// at gives rec a timestamp of delta ms after the first record of its batch.
func at(rec kmsg.Record, delta int64) kmsg.Record {
	rec.TimestampDelta64 = delta
	return rec
}

// values makes n records.
func values(n int) []kmsg.Record {
	recs := make([]kmsg.Record, n)
	for i := range recs {
		recs[i] = value("v" + strconv.Itoa(i))
	}
	return recs
}

// plain is a batch of n records.
func plain(n int) []byte { return batch{records: values(n)}.bytes() }

// bytes encodes b.
func (b batch) bytes() []byte {
	if b.firstMs == 0 {
		b.firstMs = epochMs
	}
	body, last := encodeRecords(b.records)
	if b.maxMs == 0 {
		b.maxMs = b.firstMs + last
	}
	compressed, codec := compress(b.codec, body)
	rb := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, Attributes: b.attributes | codec,
		LastOffsetDelta: int32(len(b.records)) - 1, FirstTimestamp: b.firstMs, MaxTimestamp: b.maxMs,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
		NumRecords: int32(len(b.records)), Records: compressed,
		Length: int32(batchHeader - batchPrefix + len(compressed)),
	}
	if b.magic != 0 {
		rb.Magic = b.magic
	}
	if p := b.producer; p != nil {
		rb.ProducerID, rb.ProducerEpoch, rb.FirstSequence = p.id, p.epoch, p.seq
	}
	out := rb.AppendTo(nil)
	seal(out)
	if b.tear != nil {
		b.tear(out)
	}
	return out
}

// seal writes the right CRC.
func seal(b []byte) {
	crc := crc32.Checksum(b[crcEnd:], castagnoli)
	for i := range 4 {
		b[17+i] = byte(crc >> (24 - 8*i))
	}
}

// encodeRecords gives the records section and the largest timestamp delta.
func encodeRecords(records []kmsg.Record) (body []byte, last int64) {
	for i, rec := range records {
		rec.OffsetDelta = int32(i)
		rec.Length = 0
		rec.Length = int32(len(rec.AppendTo(nil)) - 1) // its own varint is one byte, 0
		body = rec.AppendTo(body)
		last = max(last, rec.TimestampDelta64)
	}
	return body, last
}

// compress gives body in the codec and the number of the codec actually used.
func compress(codec kgo.CompressionCodec, body []byte) ([]byte, int16) {
	c, err := kgo.DefaultCompressor(codec)
	if err != nil || c == nil {
		return body, 0
	}
	out, used := c.Compress(new(bytes.Buffer), body)
	return out, int16(used)
}

// batchFields writes down the batches of a fetch answer, field by field. A batch
// that is cut at the end, as a byte limit may leave it, is told by its size.
func batchFields(dst []Field, path string, b []byte) []Field {
	if len(b) == 0 {
		return append(dst, Field{path, "no batches"})
	}
	for i := 0; len(b) > 0; i++ {
		element := fmt.Sprintf("%s[%d]", path, i)
		size := 0
		if len(b) >= batchPrefix {
			size = batchPrefix + int(int32(uint32(b[8])<<24|uint32(b[9])<<16|uint32(b[10])<<8|uint32(b[11])))
		}
		if size < batchHeader || size > len(b) {
			return append(dst, Field{element, fmt.Sprintf("%d bytes of a batch", len(b))})
		}
		dst = append(dst, Field{element, present})
		dst = oneBatch(dst, element, b[:size])
		b = b[size:]
	}
	return dst
}

func oneBatch(dst []Field, path string, b []byte) []Field {
	var rb kmsg.RecordBatch
	if err := rb.ReadFrom(b); err != nil {
		return append(dst, Field{path + ".error", err.Error()})
	}
	sum := int32(crc32.Checksum(b[crcEnd:], castagnoli))
	num := func(name string, v int64) { dst = append(dst, Field{path + "." + name, strconv.FormatInt(v, 10)}) }
	num("FirstOffset", rb.FirstOffset)
	num("Length", int64(rb.Length))
	num("PartitionLeaderEpoch", int64(rb.PartitionLeaderEpoch))
	num("Magic", int64(rb.Magic))
	dst = append(dst, Field{path + ".CRCHolds", strconv.FormatBool(sum == rb.CRC)})
	num("Attributes", int64(rb.Attributes))
	num("LastOffsetDelta", int64(rb.LastOffsetDelta))
	num("FirstTimestamp", rb.FirstTimestamp-epochMs)
	num("MaxTimestamp", rb.MaxTimestamp-epochMs)
	num("ProducerID", rb.ProducerID)
	num("ProducerEpoch", int64(rb.ProducerEpoch))
	num("FirstSequence", int64(rb.FirstSequence))
	num("NumRecords", int64(rb.NumRecords))
	return append(dst, Field{path + ".Records", fmt.Sprintf("%08x", crc32.ChecksumIEEE(rb.Records))})
}
