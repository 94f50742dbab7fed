// Package batch is record batch v2 (KIP-98, magic 2) as a view over bytes.
//
// A Batch is a slice that holds exactly one batch as it is on the wire and in a
// segment. Nothing here copies or owns memory: a view lives as long as the bytes
// under it. All functions may be called from any goroutine that may read (for the
// setters: write) those bytes.
//
//	baseOffset int64 | length int32 | leaderEpoch int32 | magic int8 | crc uint32 |
//	attributes int16 | lastOffsetDelta int32 | baseTimestamp int64 | maxTimestamp int64 |
//	producerID int64 | producerEpoch int16 | baseSequence int32 | count int32 | records
//
// The CRC (CRC-32C) covers everything from attributes to the end, so base offset
// and leader epoch are patched in place without touching it.
//
// # What is checked where
//
//   - Validate, on the event loop, for what a producer sent: header and CRC, one pass
//     over the bytes. After it all accessors are safe and the count is plausible.
//   - ValidateRecords, for the rules of the topic: walks the records of an
//     uncompressed batch, and decompresses a compressed one only if a rule cannot be
//     decided by the header (NeedsDecompression: then not on the loop).
//   - Next and All, for bytes read from a segment or sent by a leader: lengths only.
//     The reader checks the CRC with ValidCRC and the offsets by what it expects.
//
// A compressed batch is otherwise stored as it came; that its records decompress is
// the producer's affair, as far as the first bytes do not betray another codec. All
// decompression is bounded by the caller, and no size found in the input is
// believed.
package batch
