// Package data is the data plane: Produce, Fetch and the look-ups and deletions by
// offset, for the partitions this broker leads.
//
// Service owns the table of open partitions. The table follows the metadata image
// (Apply) and is read without a lock. Produce and Fetch begin on event loops and
// never block there; ListOffsets, DeleteRecords and the other look-ups may wait for
// the disk and run on goroutines of their own.
//
// A produce or fetch in flight is an operation object (produceOp, fetchOp), pooled
// and owned by one request from begin to reply. Fetch sessions (KIP-227) live in
// sessions.go.
package data
