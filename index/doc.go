// Package index answers where in a segment an offset, a time or an aborted
// transaction is. It owns the files beside a segment's .log, in Apache Kafka's
// formats, byte for byte, all integers big-endian:
//
//	.index      8-byte entries:  relative offset uint32 | position uint32
//	.timeindex  12-byte entries: timestamp int64 | relative offset uint32
//	.txnindex   34-byte entries: version int16 (0) | producer id int64 |
//	            first offset int64 | last offset int64 | last stable offset int64
//
// Offset and Time are sparse, memory-mapped and preallocated to the most a
// segment can need: fallocate comes before mmap, so a full disk is an error when
// the index is made and never a fault when it is written. A map never grows.
//
//	           published entries (atomic count)        preallocated, zero
//	file  [ e0 | e1 | e2 | ........... | en-1 ][ 0 0 0 0 0 0 0 0 0 0 0 0 0 ]
//	                                           ^ count, stored after the entry
//
// One goroutine at a time appends, truncates, seals (the holder of the log's
// mutex); any goroutine looks up, without a lock: it loads the count, then reads
// only below it. Nothing is ever cut off below the published count.
//
// # Maps
//
// A process may hold about 65,000 maps (vm.max_map_count), and there can be more
// indexes than that, so an index is mapped when it is first touched and any map,
// also that of an index being written, may be given up and made again: the pages
// are the file's. A reference count keeps a map alive while somebody reads it,
// and a clock (second chance) chooses the victims. No index keeps a descriptor;
// files are opened by path, and the inode is compared, so that a directory which
// was renamed aside and made again is never written by mistake.
//
// A page that cannot be read (a bad sector, a file cut by somebody else) raises
// SIGBUS. Every access here runs under debug.SetPanicOnFault and turns it into an
// error.
//
// # An index is a hint
//
// Lookup cannot fail: if the map cannot be had or a page is bad it answers the
// start of the segment, which is always right and merely slow, and Err tells why.
// Nothing is synced; after an unclean shutdown the caller rebuilds the index of
// the last segment from its log. What a look-up returns must be checked against
// the batch found there, because a file from another segment can look valid.
package index
