package producer

import (
	"encoding/binary"

	"millrace/segment/batch"
)

// marker is the end of a transaction, as the single record of a control batch
// says it.
type marker struct {
	aborted          bool
	coordinatorEpoch int32
}

// Types of control records.
const (
	controlAbort  = 0
	controlCommit = 1
)

// parseMarker reads the marker of a control batch; false if it holds another kind
// of control record or is damaged. The record is
//
//	length | attributes int8 | timestamp delta | offset delta |
//	key length | key: version int16, type int16 |
//	value length | value: version int16, coordinator epoch int32 ...
//
// with zigzag varints where no type is given.
func parseMarker(b batch.Batch) (marker, bool) {
	if b.Codec() != batch.None {
		return marker{}, false
	}
	r := recordReader{b.Records()}
	r.varint() // length
	r.take(1)  // attributes
	r.varint() // timestamp delta
	r.varint() // offset delta
	key := r.take(int(r.varint()))
	value := r.take(int(r.varint()))
	if len(key) < 4 || len(value) < 6 {
		return marker{}, false
	}
	kind := int16(binary.BigEndian.Uint16(key[2:]))
	if kind != controlAbort && kind != controlCommit {
		return marker{}, false
	}
	return marker{kind == controlAbort, int32(binary.BigEndian.Uint32(value[2:]))}, true
}

// recordReader takes fields from the front; after a field that is not there it
// gives nothing more.
type recordReader struct{ b []byte }

func (r *recordReader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.b = nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *recordReader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.b = nil
		return nil
	}
	field := r.b[:n]
	r.b = r.b[n:]
	return field
}
