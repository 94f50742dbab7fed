// Package compact is log compaction: of the records of a key only the newest stays (cleanup.policy=compact).
//
// A Cleaner serves all log dirs of a process. One goroutine chooses the log with the largest share of bytes that were
// never compacted; each pass over a log runs on a goroutine of its own, at most Config.Threads at once, and nothing here
// runs on an event loop or the writer. What a pass needs of a log, and how a segment takes the place of others, is in
// package segment.
//
// # A pass
//
//	clean                      dirty                            not to be touched
//	[ seg | seg | seg | seg ]  [ seg | seg | seg | seg | seg ]  [ seg | active )
//	                           ^ FirstDirty        ^ end
//
// First the dirty segments are read into an offset map: hash of the key, last offset. When the map is full the pass ends
// there, in the middle of a segment or batch if need be, and the next pass goes on; each gets further by at least one
// record. Then all segments up to that end are read and written again in groups of at most segment.bytes, and each group
// is replaced by what is left of it.
//
// # What stays
//
// In the order of Apache Kafka's rules:
//
//	a record above the end of the pass
//	the newest record of each key below it
//	of those, one without value (a tombstone) until the delete horizon of its batch: delete.retention.ms after the first
//	  pass that kept it, written into the batch (KIP-534)
//	nothing of an aborted transaction, and no record without key
//	the marker of a transaction as long as one of its batches is there, and until a delete horizon of its own, which it
//	  gets with the pass that leaves none
//	of the last batch of each active producer at least the header, so that its sequence can be read from the log again
//	of the last batch of a group of segments at least the header, so that segments follow each other without a gap
//
// Offsets never change, and a batch keeps its base and last offset, so that a consumer's position reaches the end. There
// are gaps between batches then, but none between segments: a lost segment is noticed in a compacted log, too.
//
// # When it goes wrong
//
// A log whose pass fails (damage, a batch that cannot be decompressed) stays as it is, is counted as uncleanable, and is
// tried again after a minute, then ever more seldom; others go on. A full disk ends the pass and counts against no log.
package compact
