package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// RequestHeader is the header of one request. ClientID is a view into the frame,
// nil if absent.
type RequestHeader struct {
	APIKey        int16
	APIVersion    int16
	CorrelationID int32
	ClientID      []byte
}

// API keys of the requests that this package and the server know by name.
const (
	KeyProduce     = 0
	KeyFetch       = 1
	KeyApiVersions = 18
)

// MaxAPIKey is the highest API key that Kafka 4.4 defines.
const MaxAPIKey = 94

// ErrTruncated says that a request ended before the field that was being read.
var ErrTruncated = errors.New("request is truncated")

// never is the first flexible version of an API that has none.
const never = 1<<15 - 1

// firstFlexible has the first version of each API that uses compact lengths and
// tagged fields, by API key. SaslHandshake (17) and OffsetDelete (47) have none.
var firstFlexible = [MaxAPIKey + 1]int16{
	9, 12, 6, 9, 4, 2, 6, 3, 8, 6, // 0 Produce
	3, 6, 4, 4, 4, 5, 3, never, 3, 5, // 10 FindCoordinator
	4, 2, 2, 4, 3, 3, 3, 1, 3, 2, // 20 DeleteTopics
	2, 2, 4, 2, 2, 2, 2, 2, 2, 2, // 30 CreateAcls
	2, 2, 2, 2, 1, 0, 0, never, 1, 1, // 40 ExpireDelegationToken
	0, 0, 0, 1, 1, 0, 0, 0, 0, 0, // 50 DescribeUserScramCredentials
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // 60 DescribeCluster
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // 70 ControllerRegistration
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // 80 AddRaftVoter
	0, 0, 0, 0, 0, // 90 DescribeShareGroupOffsets
}

// Flexible reports whether version of the API key uses compact lengths and tagged
// fields in its body, and so request header v2 rather than v1. A version above
// those that exist counts as the newest, as Kafka reads the header of an
// ApiVersions request that is too new. Unknown keys are not flexible.
func Flexible(key, version int16) bool {
	return key >= 0 && key <= MaxAPIKey && version >= firstFlexible[key]
}

// FlexibleResponse reports whether the response to version of the API key has
// response header v1, which ends with tagged fields. The answer to ApiVersions
// never has: a client reads it before it knows what the broker speaks.
func FlexibleResponse(key, version int16) bool {
	return key != KeyApiVersions && Flexible(key, version)
}

// ParseRequestHeader reads the header of a frame, which begins after the 4-byte
// size. body is the rest of the frame. Both are views into frame. It does not
// judge the key or the version; a frame too short for its header is an error.
func ParseRequestHeader(frame []byte) (h RequestHeader, body []byte, err error) {
	if len(frame) < 10 {
		return h, nil, fmt.Errorf("request header of %d bytes: %w", len(frame), ErrTruncated)
	}
	h.APIKey = int16(binary.BigEndian.Uint16(frame))
	h.APIVersion = int16(binary.BigEndian.Uint16(frame[2:]))
	h.CorrelationID = int32(binary.BigEndian.Uint32(frame[4:]))
	d := decoder{b: frame[8:]}
	// The client id keeps its 2-byte length in header v2: brokers read it before
	// they know whether they know the version.
	h.ClientID = d.nullableString(false)
	if Flexible(h.APIKey, h.APIVersion) {
		d.skipTags()
	}
	if d.err != nil {
		return h, nil, fmt.Errorf("request header of api %d version %d: %w", h.APIKey, h.APIVersion, d.err)
	}
	return h, d.b, nil
}

// BeginResponse starts a response frame in dst[:0] and returns it: four bytes for
// the size, the correlation id and, in response header v1, no tagged fields.
// FinishResponse completes it.
func BeginResponse(dst []byte, correlationID int32, flexibleHeader bool) []byte {
	dst = append(dst[:0], 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if flexibleHeader {
		dst = append(dst, 0)
	}
	return dst
}

// FinishResponse writes the size of the response into the first four bytes of b,
// which is what BeginResponse returned with the body appended. extra is the number
// of bytes that are sent with the response but are not in b: record ranges.
func FinishResponse(b []byte, extra int) {
	binary.BigEndian.PutUint32(b, uint32(len(b)-4+extra))
}
