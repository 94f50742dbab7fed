// Package coordinator is what the coordinators of groups, transactions and share
// groups have in common: which partition of an internal topic a key belongs to,
// how that partition is loaded, and how records are written to it.
//
// A coordinator keeps no store of its own. Its state is what the records of its
// partition say, so it moves with the leadership of the partition and Apache
// Kafka's own tools read it. The rules:
//
//   - A state change that a client is told of has been written first.
//   - The records of one partition are appended by one Writer, one batch in
//     flight at a time; their callbacks run in log order. What waits while a
//     batch is on its way to the disk becomes the next batch (group commit).
//   - Load hands over what is committed, in the order it took effect:
//     transactional records at their commit marker, aborted ones never.
//
// Records are record batches v2 without compression: they are small, and a batch
// is closed by its uncompressed size, so a guess about a ratio can never make it
// too large for the log.
package coordinator
