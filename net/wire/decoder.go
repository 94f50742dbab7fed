package wire

import (
	"encoding/binary"
	"errors"
)

var (
	errNegativeLength = errors.New("negative length")
	errLength         = errors.New("length exceeds the request")
	errVarint         = errors.New("varint is too long")
	errElements       = errors.New("more elements than a request of its size has")
)

// decoder reads Kafka's primitive types from b. After the first error every read
// yields zero values and err stays, so that callers check once.
type decoder struct {
	b   []byte
	err error
	// structs is how many array elements may still become structs, which are many
	// times the size of an empty element on the wire.
	structs int
}

// anyStructs is what a request of any size may have. Above that the codec of each
// request says how many bytes of it warrant one more.
const anyStructs = 1024

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.b = nil
}

func (d *decoder) int8() int8 {
	if len(d.b) < 1 {
		d.fail(ErrTruncated)
		return 0
	}
	v := int8(d.b[0])
	d.b = d.b[1:]
	return v
}

func (d *decoder) int16() int16 {
	if len(d.b) < 2 {
		d.fail(ErrTruncated)
		return 0
	}
	v := int16(binary.BigEndian.Uint16(d.b))
	d.b = d.b[2:]
	return v
}

func (d *decoder) int32() int32 {
	if len(d.b) < 4 {
		d.fail(ErrTruncated)
		return 0
	}
	v := int32(binary.BigEndian.Uint32(d.b))
	d.b = d.b[4:]
	return v
}

func (d *decoder) int64() int64 {
	if len(d.b) < 8 {
		d.fail(ErrTruncated)
		return 0
	}
	v := int64(binary.BigEndian.Uint64(d.b))
	d.b = d.b[8:]
	return v
}

func (d *decoder) uuid() (id [16]byte) {
	if len(d.b) < 16 {
		d.fail(ErrTruncated)
		return id
	}
	copy(id[:], d.b)
	d.b = d.b[16:]
	return id
}

// uvarint reads an unsigned varint of at most five bytes and 32 bits.
func (d *decoder) uvarint() uint32 {
	var v uint64
	for i := range 5 {
		if i >= len(d.b) {
			d.fail(ErrTruncated)
			return 0
		}
		c := d.b[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if v > 1<<32-1 {
				break
			}
			d.b = d.b[i+1:]
			return uint32(v)
		}
	}
	d.fail(errVarint)
	return 0
}

// length reads the length of a byte field: of size bytes, or compact. It is -1 for
// null and otherwise at most what is left.
func (d *decoder) length(flexible bool, size int) int {
	var n int64
	switch {
	case flexible:
		n = int64(d.uvarint()) - 1
	case size == 2:
		n = int64(d.int16())
	default:
		n = int64(d.int32())
	}
	switch {
	case d.err != nil:
		return -1
	case n < -1:
		d.fail(errNegativeLength)
		return -1
	case n > int64(len(d.b)):
		d.fail(errLength)
		return -1
	}
	return int(n)
}

func (d *decoder) take(n int) []byte {
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

// nullableString reads a string as a view; nil if it is null. An empty one is not nil.
func (d *decoder) nullableString(flexible bool) []byte {
	n := d.length(flexible, 2)
	if n < 0 {
		return nil
	}
	return d.take(n)
}

// string reads a string that must not be null.
func (d *decoder) string(flexible bool) []byte {
	v := d.nullableString(flexible)
	if v == nil && d.err == nil {
		d.fail(errNegativeLength)
	}
	return v
}

// nullableBytes reads bytes as a view; nil if they are null.
func (d *decoder) nullableBytes(flexible bool) []byte {
	n := d.length(flexible, 4)
	if n < 0 {
		return nil
	}
	return d.take(n)
}

// count reads the number of elements of an array, each of which takes at least
// least bytes. A null array counts as empty.
func (d *decoder) count(flexible bool, least int) int {
	var n int64
	if flexible {
		n = int64(d.uvarint()) - 1
	} else {
		n = int64(d.int32())
	}
	switch {
	case d.err != nil:
		return 0
	case n < -1:
		d.fail(errNegativeLength)
		return 0
	case n > int64(len(d.b)/least):
		d.fail(errLength)
		return 0
	case n == -1:
		return 0
	}
	return int(n)
}

// structCount is count for an array of structs. A request made of empty elements is
// refused before memory is made for them.
func (d *decoder) structCount(flexible bool, least int) int {
	n := d.count(flexible, least)
	if n > d.structs {
		d.fail(errElements)
		return 0
	}
	d.structs -= n
	return n
}

// nextTag reads the head of one of *left tagged fields and returns its number and a
// decoder over its bytes, until none is left or there was an error. It returns the
// decoder by value: through a callback it would be an allocation for each field.
func (d *decoder) nextTag(left *uint32) (tag uint32, field decoder, ok bool) {
	if *left == 0 || d.err != nil {
		return 0, decoder{}, false
	}
	*left--
	tag = d.uvarint()
	size := d.uvarint()
	if d.err == nil && uint64(size) > uint64(len(d.b)) {
		d.fail(errLength)
	}
	if d.err != nil {
		return 0, decoder{}, false
	}
	return tag, decoder{b: d.take(int(size))}, true
}

// endTag takes over the error of a tagged field.
func (d *decoder) endTag(field *decoder) {
	if field.err != nil {
		d.fail(field.err)
	}
}

// skipTags skips tagged fields.
func (d *decoder) skipTags() {
	left := d.uvarint()
	for ok := left > 0; ok; {
		_, _, ok = d.nextTag(&left)
	}
}

// resize returns s with n elements, reusing its memory; the elements keep what
// they had, so that their own slices are reused too.
func resize[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return append(s[:cap(s)], make([]T, n-cap(s))...)
}
