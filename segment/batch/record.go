package batch

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Record is one record as a view over the batch's (decompressed) bytes.
type Record struct {
	OffsetDelta    int32
	TimestampDelta int64
	Key, Value     []byte // nil is null, which is not the same as empty
	// HeaderCount and RawHeaders are the headers, undecoded; see Headers.
	HeaderCount int32
	RawHeaders  []byte
}

// Header is one record header.
type Header struct {
	Key   string
	Value []byte // nil is null
}

// readRecord reads the record at the front of b and returns it with its size. It
// checks the whole structure except the headers' own.
//
//	length varint | attributes int8 | timestamp delta varlong | offset delta varint |
//	key length varint | key | value length varint | value | header count varint | headers
func readRecord(b []byte) (r Record, size int, err error) {
	length, n := varint32(b)
	if n <= 0 || length < minRecordSize-1 || int(length) > len(b)-n {
		return r, 0, fmt.Errorf("%w: record length %d in %d bytes", ErrInvalidRecord, length, len(b))
	}
	size = n + int(length)
	b = b[n+1 : size] // without attributes, which are unused
	if r.TimestampDelta, n = binary.Varint(b); n <= 0 {
		return r, 0, fmt.Errorf("%w: timestamp delta", ErrInvalidRecord)
	}
	b = b[n:]
	if r.OffsetDelta, n = varint32(b); n <= 0 {
		return r, 0, fmt.Errorf("%w: offset delta", ErrInvalidRecord)
	}
	b = b[n:]
	var ok bool
	if r.Key, b, ok = nullableBytes(b); !ok {
		return r, 0, fmt.Errorf("%w: key length", ErrInvalidRecord)
	}
	if r.Value, b, ok = nullableBytes(b); !ok {
		return r, 0, fmt.Errorf("%w: value length", ErrInvalidRecord)
	}
	// A header takes at least two bytes, for the lengths of its key and value.
	r.HeaderCount, n = varint32(b)
	if n <= 0 || r.HeaderCount < 0 || int(r.HeaderCount) > (len(b)-n)/2 || r.HeaderCount == 0 && n != len(b) {
		return r, 0, fmt.Errorf("%w: %d headers in %d bytes", ErrInvalidRecord, r.HeaderCount, len(b)-n)
	}
	r.RawHeaders = b[n:]
	return r, size, nil
}

// Headers appends the decoded headers to dst. Values are views, keys are copies.
func (r *Record) Headers(dst []Header) ([]Header, error) {
	b := r.RawHeaders
	for i := int32(0); i < r.HeaderCount; i++ {
		var h Header
		var ok bool
		if h, b, ok = readHeader(b); !ok {
			return dst, fmt.Errorf("%w: header %d", ErrInvalidRecord, i)
		}
		dst = append(dst, h)
	}
	if len(b) != 0 {
		return dst, fmt.Errorf("%w: %d bytes after the headers", ErrInvalidRecord, len(b))
	}
	return dst, nil
}

func readHeader(b []byte) (h Header, rest []byte, ok bool) {
	key, b, ok := nullableBytes(b)
	if !ok || key == nil {
		return h, nil, false
	}
	h.Key = string(key)
	h.Value, b, ok = nullableBytes(b)
	return h, b, ok
}

// validateHeaders is Headers without decoding.
func (r *Record) validateHeaders() bool {
	b := r.RawHeaders
	for i := int32(0); i < r.HeaderCount; i++ {
		key, rest, ok := nullableBytes(b)
		if !ok || key == nil {
			return false
		}
		if _, b, ok = nullableBytes(rest); !ok {
			return false
		}
	}
	return len(b) == 0
}

// nullableBytes takes a length and that many bytes from the front; length -1 is
// null. Other negative lengths are refused.
func nullableBytes(b []byte) (field, rest []byte, ok bool) {
	length, n := varint32(b)
	if n <= 0 || length < -1 || int(length) > len(b)-n {
		return nil, nil, false
	}
	if length == -1 {
		return nil, b[n:], true
	}
	end := n + int(length)
	return b[n:end:end], b[end:], true
}

// varint32 is a zigzag varint that must fit in 32 bits. Most are of one byte.
func varint32(b []byte) (v int32, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return int32(b[0]>>1) ^ -int32(b[0]&1), 1
	}
	return longVarint32(b)
}

func longVarint32(b []byte) (v int32, n int) {
	if len(b) > 1 && b[1] < 0x80 {
		u := uint32(b[0]&0x7f) | uint32(b[1])<<7
		return int32(u>>1) ^ -int32(u&1), 2
	}
	v64, n := binary.Varint(b)
	if n > 5 || v64 < math.MinInt32 || v64 > math.MaxInt32 {
		return 0, 0
	}
	return int32(v64), n
}

// appendRecord appends a record.
func appendRecord(dst []byte, timestampDelta int64, offsetDelta int32, key, value []byte, headers []Header) []byte {
	size := 1 + varintSize(timestampDelta) + varintSize(int64(offsetDelta)) +
		nullableSize(key) + nullableSize(value) + varintSize(int64(len(headers)))
	for _, h := range headers {
		size += varintSize(int64(len(h.Key))) + len(h.Key) + nullableSize(h.Value)
	}
	dst = binary.AppendVarint(dst, int64(size))
	dst = append(dst, 0) // attributes
	dst = binary.AppendVarint(dst, timestampDelta)
	dst = binary.AppendVarint(dst, int64(offsetDelta))
	dst = appendNullable(dst, key)
	dst = appendNullable(dst, value)
	dst = binary.AppendVarint(dst, int64(len(headers)))
	for _, h := range headers {
		dst = binary.AppendVarint(dst, int64(len(h.Key)))
		dst = append(dst, h.Key...)
		dst = appendNullable(dst, h.Value)
	}
	return dst
}

func appendNullable(dst, field []byte) []byte {
	if field == nil {
		return binary.AppendVarint(dst, -1)
	}
	dst = binary.AppendVarint(dst, int64(len(field)))
	return append(dst, field...)
}

func nullableSize(field []byte) int {
	if field == nil {
		return 1
	}
	return varintSize(int64(len(field))) + len(field)
}

func varintSize(v int64) int {
	u := uint64(v)<<1 ^ uint64(v>>63)
	n := 1
	for ; u >= 0x80; u >>= 7 {
		n++
	}
	return n
}
