package batch

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Builder makes one batch out of records. Set the fields, Add records, then Build;
// Reset makes it ready for the next batch and keeps its memory. It is for one
// goroutine.
type Builder struct {
	BaseOffset  int64
	LeaderEpoch int32 // the log sets it when it appends
	Codec       Codec
	Level       int // of the codec; see DefaultLevel

	// ProducerID, ProducerEpoch and BaseSequence are NoProducerID, NoProducerEpoch
	// and NoSequence after NewBuilder.
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32

	Transactional bool
	Control       bool

	records       []byte
	count         int32
	baseTimestamp int64
	maxTimestamp  int64
}

// NewBuilder makes a builder of uncompressed batches without producer.
func NewBuilder() *Builder {
	return &Builder{
		Level:         DefaultLevel,
		LeaderEpoch:   -1,
		ProducerID:    NoProducerID,
		ProducerEpoch: NoProducerEpoch,
		BaseSequence:  NoSequence,
	}
}

// Add adds a record; nil key or value is null. It copies what it is given.
// timestamp is in milliseconds, NoTimestamp for none.
func (w *Builder) Add(timestamp int64, key, value []byte, headers ...Header) {
	if w.count == 0 {
		w.baseTimestamp, w.maxTimestamp = timestamp, timestamp
	}
	w.maxTimestamp = max(w.maxTimestamp, timestamp)
	w.records = appendRecord(w.records, timestamp-w.baseTimestamp, w.count, key, value, headers)
	w.count++
}

// Len is the number of records.
func (w *Builder) Len() int { return int(w.count) }

// Size is the size in bytes of the batch before compression.
func (w *Builder) Size() int { return HeaderSize + len(w.records) }

// Reset drops the records; the exported fields stay.
func (w *Builder) Reset() { w.records, w.count = w.records[:0], 0 }

// Build appends the batch to dst and returns the batch alone. It fails without
// records, above 2 GiB, and for a codec or level that does not exist.
func (w *Builder) Build(dst []byte) (Batch, error) {
	if w.count == 0 {
		return nil, fmt.Errorf("build batch: no records")
	}
	start := len(dst)
	dst = append(dst, make([]byte, HeaderSize)...)
	dst, err := appendCompressed(dst, w.Codec, w.Level, w.records)
	if err != nil {
		return nil, fmt.Errorf("build batch: %w", err)
	}
	b := Batch(dst[start:])
	if len(b) > math.MaxInt32 {
		return nil, fmt.Errorf("build batch: %d bytes", len(b))
	}
	attrs := uint16(w.Codec)
	if w.Transactional {
		attrs |= attrTransactional
	}
	if w.Control {
		attrs |= attrControl
	}
	be := binary.BigEndian
	b.SetBaseOffset(w.BaseOffset)
	b.SetLeaderEpoch(w.LeaderEpoch)
	b[posMagic] = 2
	be.PutUint16(b[posAttributes:], attrs)
	be.PutUint32(b[posLastOffsetDelta:], uint32(w.count-1))
	be.PutUint64(b[posBaseTimestamp:], uint64(w.baseTimestamp))
	be.PutUint64(b[posMaxTimestamp:], uint64(w.maxTimestamp))
	be.PutUint64(b[posProducerID:], uint64(w.ProducerID))
	be.PutUint16(b[posProducerEpoch:], uint16(w.ProducerEpoch))
	be.PutUint32(b[posBaseSequence:], uint32(w.BaseSequence))
	be.PutUint32(b[posCount:], uint32(w.count))
	b.finish()
	return b, nil
}
