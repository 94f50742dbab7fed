// Package history records what producers and consumers did to a log, and what came of
// it, and judges whether the log that is read back afterwards can have come from that.
//
// A lane is one producer's records in one partition, numbered from 0 in the order in
// which they were handed over. Each record is at first unknown: it may be in the log or
// not. An acknowledgement makes it sure to be there, at its offset; a definite refusal
// makes it sure not to be. Read back in offset order, a partition must then hold
//
//   - each acknowledged record of every lane (else it is lost), at the offset that was
//     acknowledged (else it is moved),
//   - no record twice (duplicate),
//   - the records of one lane in rising order (else they are reordered),
//   - nothing that was never sent, or was refused (phantom),
//   - nothing whose bytes differ from what was sent (corrupt),
//   - each offset from the first to the last once (else there is a gap).
//
// Records that stayed unknown may be missing or present, anywhere their lane's order
// lets them be.
//
// Committed offsets are judged by Commits: what a group has committed and was told so
// never goes back, and is never more than was asked for.
//
// History and Commits may be used from any goroutine.
package history
