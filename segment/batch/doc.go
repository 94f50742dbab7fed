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
package batch
