// Package wire parses request headers and has the codecs of the hot requests
// (Produce, Fetch) without allocation. Everything else is kmsg.
package wire

// RequestHeader is the header of one request. ClientID is a view into the frame,
// nil if absent.
type RequestHeader struct {
	APIKey        int16
	APIVersion    int16
	CorrelationID int32
	ClientID      []byte
}
