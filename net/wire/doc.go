// Package wire parses request headers, frames responses, and has the codecs of
// the two hot requests, Produce and Fetch. Every other request is franz-go's
// kmsg.
//
// What holds:
//
//   - Nothing here allocates in the steady state. Decoders fill structs whose
//     slices keep their capacity between requests; byte fields are views into the
//     frame and live as long as the frame does. Encoders append to the caller's
//     buffer.
//   - No count or length read from the wire is trusted: a count is bounded by the
//     bytes that are left divided by the least size of one element, before memory
//     is taken for it. A malformed request is an error of this package and never a
//     panic.
//   - Record batches are opaque: a Produce request gives a view of them, and a
//     Fetch response only leaves room for them (see FetchResponse), so that they
//     can be sent from memory or from a file without a copy.
//
// No goroutine and no lock is owned here; a value is used by one goroutine at a
// time.
package wire
