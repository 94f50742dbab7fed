package batch

import (
	"encoding/binary"
	"fmt"
	"math"
)

// RetainOptions say what compaction keeps of a batch.
type RetainOptions struct {
	// Keep decides about each record, in order; the record is valid during the call.
	Keep func(*Record) bool
	// HorizonMs becomes the delete horizon (KIP-534) of a batch that has none and keeps a record without value, or any
	// record if Expires: the time from which on such records need not be kept. NoTimestamp: none is set.
	HorizonMs int64
	Expires   bool
	Level     int // of the codec, if the batch has to be compressed again; see DefaultLevel
	Limit     int // bounds the decompressed size, bytes; ErrBomb beyond it
}

// Retain keeps some of the records of b. It returns b itself if nothing changes, else a batch appended to dst with the
// same offsets, sequences, producer and codec, and nil if no record is kept: the caller then leaves the batch out or
// takes Empty. kept is the number of records.
//
// With a delete horizon the base timestamp is the horizon, as Kafka stores it, and the records' deltas count from there.
func Retain(dst []byte, b Batch, o RetainOptions) (out Batch, kept int32, err error) {
	records := b.Records()
	if c := b.Codec(); c != None {
		buf, err := decompress(c, records, o.Limit)
		if err != nil {
			return nil, 0, err
		}
		defer putBuffer(buf)
		records = *buf
	}
	rest := getBuffer()
	defer putBuffer(rest)
	r := retention{b: b, newest: math.MinInt64}
	if *rest, err = r.walk(*rest, records, o.Keep); err != nil {
		return nil, 0, err
	}
	horizon := o.HorizonMs != NoTimestamp && !b.HasDeleteHorizon() && (r.tombstones || o.Expires)
	switch {
	case r.kept == 0:
		return nil, 0, nil
	case r.kept == b.Count() && !horizon:
		return b, r.kept, nil
	}
	base := b.BaseTimestamp()
	if horizon {
		moved := getBuffer()
		defer putBuffer(moved)
		if *moved, err = rebase(*moved, *rest, base-o.HorizonMs); err != nil {
			return nil, 0, err
		}
		rest, base = moved, o.HorizonMs
	}
	start := len(dst)
	dst = append(dst, b[:HeaderSize]...)
	if dst, err = appendCompressed(dst, b.Codec(), o.Level, *rest); err != nil {
		return nil, 0, err
	}
	out = Batch(dst[start:])
	if horizon {
		out[posAttributes+1] |= attrDeleteHorizon
	}
	binary.BigEndian.PutUint64(out[posBaseTimestamp:], uint64(base))
	binary.BigEndian.PutUint32(out[posCount:], uint32(r.kept))
	if !b.IsLogAppendTime() {
		out.SetMaxTimestamp(r.newest)
	}
	out.finish()
	return out, r.kept, nil
}

// retention is one walk over the records of a batch.
type retention struct {
	b          Batch
	kept       int32
	newest     int64 // timestamp of those kept
	tombstones bool  // one of them has no value
}

func (r *retention) walk(dst, records []byte, keep func(*Record) bool) ([]byte, error) {
	for i := range r.b.Count() {
		rec, size, err := readRecord(records)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
		if keep(&rec) {
			dst = append(dst, records[:size]...)
			r.kept++
			r.newest = max(r.newest, r.b.BaseTimestamp()+rec.TimestampDelta)
			r.tombstones = r.tombstones || rec.Value == nil
		}
		records = records[size:]
	}
	if len(records) != 0 {
		return nil, fmt.Errorf("%w: %d bytes after the last record", ErrInvalidRecord, len(records))
	}
	return dst, nil
}

// rebase appends records to dst with each timestamp delta larger by diff.
func rebase(dst, records []byte, diff int64) ([]byte, error) {
	for len(records) > 0 {
		length, n := varint32(records)
		if n <= 0 || length < minRecordSize-1 || int(length) > len(records)-n {
			return nil, fmt.Errorf("%w: record length %d in %d bytes", ErrInvalidRecord, length, len(records))
		}
		body := records[n : n+int(length)]
		records = records[n+int(length):]
		delta, k := binary.Varint(body[1:])
		if k <= 0 {
			return nil, fmt.Errorf("%w: timestamp delta", ErrInvalidRecord)
		}
		after := body[1+k:]
		dst = binary.AppendVarint(dst, int64(1+varintSize(delta+diff)+len(after)))
		dst = append(dst, body[0])
		dst = binary.AppendVarint(dst, delta+diff)
		dst = append(dst, after...)
	}
	return dst, nil
}

// Empty appends b without its records to dst: a header that keeps offsets, sequence and producer.
func Empty(dst []byte, b Batch) Batch {
	start := len(dst)
	out := Batch(append(dst, b[:HeaderSize]...)[start:])
	out[posAttributes+1] &^= codecMask | attrDeleteHorizon
	binary.BigEndian.PutUint64(out[posBaseTimestamp:], math.MaxUint64) // NoTimestamp
	binary.BigEndian.PutUint32(out[posCount:], 0)
	out.finish()
	return out
}

// Filler appends to dst a batch without records or producer that stands for the offsets from base to last.
func Filler(dst []byte, base, last int64, leaderEpoch int32) Batch {
	start := len(dst)
	out := Batch(append(dst, make([]byte, HeaderSize)...)[start:])
	out.SetBaseOffset(base)
	out.SetLeaderEpoch(leaderEpoch)
	out[posMagic] = 2
	binary.BigEndian.PutUint32(out[posLastOffsetDelta:], uint32(last-base))
	for i := posBaseTimestamp; i < posCount; i++ {
		out[i] = 0xff // no timestamps, no producer, no sequence
	}
	out.finish()
	return out
}
