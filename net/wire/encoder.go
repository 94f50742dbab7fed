package wire

import (
	"encoding/binary"
	"math/bits"
)

func appendInt16(b []byte, v int16) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }
func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func appendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

func appendUvarint(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// uvarintLen is the number of bytes that appendUvarint appends.
func uvarintLen(v uint32) int { return (bits.Len32(v|1) + 6) / 7 }

// appendCount appends the number of elements of an array; -1 is null.
func appendCount(b []byte, n int, flexible bool) []byte {
	if flexible {
		return appendUvarint(b, uint32(n+1))
	}
	return appendInt32(b, int32(n))
}

// appendLength appends the length of a byte field of 4-byte or compact length; -1 is null.
func appendLength(b []byte, n int, flexible bool) []byte { return appendCount(b, n, flexible) }

func appendString[S ~string | ~[]byte](b []byte, s S, flexible bool) []byte {
	if flexible {
		b = appendUvarint(b, uint32(len(s)+1))
	} else {
		b = appendInt16(b, int16(len(s)))
	}
	return append(b, s...)
}

func appendNullableString(b []byte, s *string, flexible bool) []byte {
	switch {
	case s != nil:
		return appendString(b, *s, flexible)
	case flexible:
		return append(b, 0)
	}
	return appendInt16(b, -1)
}

func compactStringLen(s string) int { return uvarintLen(uint32(len(s)+1)) + len(s) }

func compactNullableStringLen(s *string) int {
	if s == nil {
		return 1
	}
	return compactStringLen(*s)
}

// LeaderHint names the leader of a partition that the broker asked is not, so that
// the client need not ask for metadata (KIP-951).
type LeaderHint struct {
	LeaderID    int32
	LeaderEpoch int32
}

// NodeEndpoint is the address of a broker that a LeaderHint of the same response
// names.
type NodeEndpoint struct {
	NodeID int32
	Host   string
	Port   int32
	Rack   *string
}

// appendEndpointsTag appends the tagged field with the endpoints and its count, or
// a count of zero if there are none or the version has no such field.
func appendEndpointsTag(b []byte, nodes []NodeEndpoint, served bool) []byte {
	if len(nodes) == 0 || !served {
		return append(b, 0)
	}
	size := uvarintLen(uint32(len(nodes) + 1))
	for i := range nodes {
		size += 4 + compactStringLen(nodes[i].Host) + 4 + compactNullableStringLen(nodes[i].Rack) + 1
	}
	b = append(b, 1, 0)
	b = appendUvarint(b, uint32(size))
	b = appendCount(b, len(nodes), true)
	for i := range nodes {
		n := &nodes[i]
		b = appendInt32(b, n.NodeID)
		b = appendString(b, n.Host, true)
		b = appendInt32(b, n.Port)
		b = appendNullableString(b, n.Rack, true)
		b = append(b, 0)
	}
	return b
}
