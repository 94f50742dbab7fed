// Package producer is what one log knows about the producers that write to it:
// sequence numbers, so that a retried batch is recognised instead of appended
// twice, and open transactions. It is Kafka's ProducerStateManager.
//
// A State belongs to one log, and the holder of the log's mutex is the only one
// to touch it: there is no lock inside. It is a function of the log's batches:
// replaying them gives the same state, except that expiry goes by the clock.
//
// The rules, for batches with a producer id:
//
//   - The last 5 batches of a producer are remembered. A batch with the same
//     epoch and the same first and last sequence as one of them is a duplicate.
//   - Otherwise its first sequence must follow the last one (0 follows 2^31-1),
//     or it is out of order: gaps, half-overlaps and the 6th-last batch alike.
//   - A producer that is not known may start anywhere: its state may have expired.
//   - A higher epoch starts at sequence 0; a lower one is refused.
//
// # Snapshot
//
// A snapshot is Kafka's file, version 1, big-endian, followed by a section of our
// own that Kafka does not look at. The CRC-32C covers everything after itself, the
// section included, which is what Kafka checks, too: kafka-dump-log and an Apache
// broker read our files, and we read theirs, where the section is missing.
//
//	version int16 (1) | crc uint32 | count int32 | count x
//	    producerID int64 | epoch int16 | lastSequence int32 | lastOffset int64 |
//	    offsetDelta int32 | timestamp int64 | coordinatorEpoch int32 | txnFirstOffset int64
//	"MRPS" | version int16 (1) | for each producer, in the same order
//	    lastAppendMs int64 | older int8 (0 to 4) | older x, oldest first
//	        lastSequence int32 | lastOffset int64 | offsetDelta int32 | timestamp int64
//
// Kafka keeps only the newest batch of each producer across a restart, and after
// it refuses a retry of an older one with OUT_OF_ORDER_SEQUENCE_NUMBER. The
// section keeps all five. It also has the time of the last append by the broker's
// clock, which decides on expiry: record timestamps are the client's, and a
// producer that writes old data would be forgotten at once.
package producer
