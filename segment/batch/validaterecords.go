package batch

import (
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
	w := walk{o: &o, base: b.BaseTimestamp(), max: math.MinInt64}
	if err := w.all(records, b.Count()); err != nil {
		return nil, err
	}
	if w.max != b.MaxTimestamp() && !o.LogAppendTime {
		b.SetMaxTimestamp(w.max)
		b.FixCRC()
	}
	return w.result()
}

// walk is one pass over the records of a batch.
type walk struct {
	o      *DeepOptions
	base   int64 // base timestamp
	max    int64 // timestamp
	errors []RecordError
	// refused is how many records break a rule, kind what the batch is refused with
	// because of them.
	refused int
	kind    error
}

func (w *walk) all(records []byte, count int32) error {
	earliest, latest := int64(math.MinInt64), int64(math.MaxInt64)
	if !w.o.LogAppendTime {
		earliest, latest = w.o.earliest(), w.o.latest()
	}
	for i := int32(0); i < count; i++ {
		r, size, err := readRecord(records)
		if err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		records = records[size:]
		if r.OffsetDelta != i {
			return fmt.Errorf("%w: record %d has offset delta %d", ErrInvalidRecord, i, r.OffsetDelta)
		}
		if r.HeaderCount > 0 && !r.validateHeaders() {
			return fmt.Errorf("%w: record %d: headers", ErrInvalidRecord, i)
		}
		ts := w.base + r.TimestampDelta
		w.max = max(w.max, ts)
		if w.o.Compacted && r.Key == nil {
			w.refuse(i, ErrInvalidRecord, "Compacted topic cannot accept message without key")
		} else if ts != NoTimestamp && (ts < earliest || ts > latest) {
			w.refuse(i, ErrInvalidTimestamp, fmt.Sprintf(
				"Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]",
				ts, i, w.o.NowMs-w.o.BeforeMaxMs, w.o.NowMs+w.o.AfterMaxMs)) // overflowing, as Kafka's text does
		}
	}
	if len(records) != 0 {
		return fmt.Errorf("%w: %d bytes after the last record", ErrInvalidRecord, len(records))
	}
	return nil
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
