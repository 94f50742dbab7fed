package batch

import (
	"encoding/binary"
	"fmt"
	"math"
)

// DeepOptions are the rules of a topic that concern single records.
type DeepOptions struct {
	NowMs int64
	// BeforeMaxMs and AfterMaxMs are message.timestamp.before.max.ms and
	// message.timestamp.after.max.ms; math.MaxInt64 is no limit.
	BeforeMaxMs, AfterMaxMs int64
	// LogAppendTime says that the broker sets the timestamps, so those of the
	// producer do not matter.
	LogAppendTime bool
	// Compacted says that each record must have a key.
	Compacted bool
	// MaxDecompressedBytes bounds the memory for a compressed batch; ErrBomb beyond.
	MaxDecompressedBytes int
}

// RecordError is what is wrong with one record: record_errors of the Produce
// response.
type RecordError struct {
	Index   int32
	Err     error // ErrInvalidTimestamp or ErrInvalidRecord
	Message string
}

// rejection is a batch refused for its records. Its text is Kafka's error message
// as it is, its kind what errors.Is finds.
type rejection struct {
	text string
	kind error
}

func (r *rejection) Error() string { return r.text }
func (r *rejection) Unwrap() error { return r.kind }

// maxRecordErrors bounds the answer to a batch of which every record is wrong.
const maxRecordErrors = 100

// NeedsDecompression says whether ValidateRecords would have to decompress b:
// then it is not for an event loop.
func NeedsDecompression(b Batch, o DeepOptions) bool {
	return b.Codec() != None && (o.Compacted || o.checksTimestamps(b))
}

// checksTimestamps says whether a record of b can be outside the limits, as far as
// the header tells. Records may be older than the base timestamp, so a lower limit
// must be checked one by one.
func (o *DeepOptions) checksTimestamps(b Batch) bool {
	if o.LogAppendTime {
		return false
	}
	return o.BeforeMaxMs < o.NowMs && b.BaseTimestamp() != NoTimestamp || b.MaxTimestamp() > o.latest()
}

// earliest and latest are the limits; a record may have a time in between.
func (o *DeepOptions) earliest() int64 {
	if o.BeforeMaxMs >= o.NowMs { // would be before 1970, and may overflow
		return math.MinInt64
	}
	return o.NowMs - o.BeforeMaxMs
}

func (o *DeepOptions) latest() int64 {
	if o.AfterMaxMs > math.MaxInt64-o.NowMs {
		return math.MaxInt64
	}
	return o.NowMs + o.AfterMaxMs
}

// ValidateRecords checks the records of a batch that passed Validate: their
// structure, offset deltas 0 to n-1, timestamps within the limits, keys where
// needed. It returns at most one error for each record that breaks a rule of the
// topic, and up to 100 of them; err is for the batch as a whole: ErrInvalidRecord,
// ErrInvalidTimestamp (with record errors, or for the header's), ErrBomb.
//
// The records of an uncompressed batch are always walked, which costs a part of
// what the CRC costs. A compressed batch is decompressed only if
// NeedsDecompression; otherwise its records are taken as they are. A max timestamp
// in the header that is not the maximum of the records walked is put right in
// place, with the CRC: time look-ups and retention go by it.
func ValidateRecords(b Batch, o DeepOptions) ([]RecordError, error) {
	if o.LogAppendTime && b.IsLogAppendTime() {
		return refuseLogAppendTime(b)
	}
	records := b.Records()
	if b.Codec() != None {
		if !NeedsDecompression(b, o) {
			return nil, nil
		}
		buf, err := decompress(b.Codec(), records, o.MaxDecompressedBytes)
		if err != nil {
			return nil, err
		}
		defer putBuffer(buf)
		records = *buf
	}
	w := newWalk(b, o)
	if err := w.all(records, b.Count()); err != nil {
		return nil, err
	}
	if w.max != b.MaxTimestamp() && !o.LogAppendTime {
		b.SetMaxTimestamp(w.max)
		b.FixCRC()
	}
	return w.result()
}

// refuseLogAppendTime refuses each record of a batch that says the broker had
// stamped it. Kafka minds that only where the broker does stamp; elsewhere the bit is
// dropped.
func refuseLogAppendTime(b Batch) ([]RecordError, error) {
	var w walk
	for i := range min(b.Count(), maxRecordErrors) {
		w.refuse(i, ErrInvalidTimestamp, fmt.Sprintf("Invalid timestamp type in message with offset %d. Producer should not set timestamp type to LogAppendTime.", i))
	}
	return w.result()
}

// walk is one pass over the records of a batch.
type walk struct {
	base             int64 // base timestamp
	max              int64 // timestamp so far
	earliest, latest int64 // a timestamp may have
	// shownEarliest and shownLatest are the limits as Kafka's text has them: they
	// overflow.
	shownEarliest, shownLatest int64
	keys                       bool // each record must have one

	errors []RecordError
	// refused is how many records break a rule, kind what the batch is refused with
	// because of them.
	refused int
	kind    error
}

func newWalk(b Batch, o DeepOptions) walk {
	w := walk{
		base: b.BaseTimestamp(), max: math.MinInt64,
		earliest: math.MinInt64, latest: math.MaxInt64,
		shownEarliest: o.NowMs - o.BeforeMaxMs, shownLatest: o.NowMs + o.AfterMaxMs,
		keys: o.Compacted,
	}
	if !o.LogAppendTime {
		w.earliest, w.latest = o.earliest(), o.latest()
	}
	return w
}

func (w *walk) all(records []byte, count int32) error {
	for i := int32(0); i < count; i++ {
		timestampDelta, nullKey, size := skipPlain(records, i)
		if size == 0 {
			r, n, err := readRecord(records)
			if err != nil {
				return fmt.Errorf("record %d: %w", i, err)
			}
			if r.OffsetDelta != i {
				return fmt.Errorf("%w: record %d has offset delta %d", ErrInvalidRecord, i, r.OffsetDelta)
			}
			if !r.validateHeaders() {
				return fmt.Errorf("%w: record %d: headers", ErrInvalidRecord, i)
			}
			timestampDelta, nullKey, size = r.TimestampDelta, r.Key == nil, n
		}
		records = records[size:]
		ts := w.base + timestampDelta
		w.max = max(w.max, ts)
		if nullKey && w.keys || ts < w.earliest || ts > w.latest {
			w.judge(i, ts, nullKey)
		}
	}
	if len(records) != 0 {
		return fmt.Errorf("%w: %d bytes after the last record", ErrInvalidRecord, len(records))
	}
	return nil
}

// skipPlain is readRecord for the record that is nearly every one, valid, with
// offset delta i and without headers, at a third of the cost; size is 0 for any
// other.
func skipPlain(b []byte, i int32) (timestampDelta int64, nullKey bool, size int) {
	length, n := varint32(b)
	end := n + int(length)
	if n <= 0 || length < minRecordSize-1 || end > len(b) {
		return 0, false, 0
	}
	r := b[n+1 : end] // without attributes
	if r[0] < 0x80 {
		timestampDelta, n = int64(r[0]>>1)^-int64(r[0]&1), 1
	} else if timestampDelta, n = binary.Varint(r); n <= 0 {
		return 0, false, 0
	}
	r = r[n:]
	offsetDelta, n := varint32(r)
	if n <= 0 || offsetDelta != i {
		return 0, false, 0
	}
	r = r[n:]
	keyLength, n := varint32(r)
	if n <= 0 || keyLength < -1 || n+int(keyLength) > len(r) {
		return 0, false, 0
	}
	r = r[n+int(max(keyLength, 0)):]
	valueLength, n := varint32(r)
	// What is left must be the value and a header count of zero.
	if n <= 0 || valueLength < -1 || n+int(max(valueLength, 0))+1 != len(r) || r[len(r)-1] != 0 {
		return 0, false, 0
	}
	return timestampDelta, keyLength < 0, end
}

// judge refuses record i, which is outside the limits or may be: a record without
// timestamp is always inside.
func (w *walk) judge(i int32, ts int64, nullKey bool) {
	switch {
	case nullKey && w.keys:
		w.refuse(i, ErrInvalidRecord, "Compacted topic cannot accept message without key")
	case ts != NoTimestamp:
		w.refuse(i, ErrInvalidTimestamp, fmt.Sprintf(
			"Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]",
			ts, i, w.shownEarliest, w.shownLatest))
	}
}

func (w *walk) refuse(i int32, kind error, message string) {
	w.refused++
	if w.kind != ErrInvalidTimestamp {
		w.kind = kind
	}
	if len(w.errors) < maxRecordErrors {
		w.errors = append(w.errors, RecordError{Index: i, Err: kind, Message: message})
	}
}

func (w *walk) result() ([]RecordError, error) {
	switch w.kind {
	case nil:
		return nil, nil
	case ErrInvalidTimestamp:
		return w.errors, &rejection{"One or more records have been rejected due to invalid timestamp", w.kind}
	}
	return w.errors, &rejection{fmt.Sprintf(
		"One or more records have been rejected due to %d record errors in total", w.refused), w.kind}
}
