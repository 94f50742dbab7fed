// Package segment is the log of one partition on one disk: append, read, roll, recover, retain, truncate.
//
// # Files
//
// A Dir is one log dir. Each partition has a directory NAME-N with Apache Kafka's files, byte for byte: segments
// (BASE.log) of record batches as they are on the wire, sparse indexes (BASE.index, BASE.timeindex, BASE.txnindex),
// producer snapshots (OFFSET.snapshot), leader-epoch-checkpoint and partition.metadata. In the dir itself:
// meta.properties, .lock, .millrace_stopped after a clean stop (stopped.go), recovery-point-offset-checkpoint,
// log-start-offset-checkpoint, .kafka_cleanshutdown, the files of the commit journal in .journal (package journal), and
// .reserve, disk space that is given up when the disk is full so that metadata and recovery can still be written
// (reserve.go). Until there is a reserve again, other logs are given no space.
//
// Compaction (package segment/compact; what it needs of a log is in cleanable.go, cleaned.go and swap.go) adds
// cleaner-offset-checkpoint, delete-horizon-checkpoint, and files .cleaned and .swap while a segment takes the place of
// others. It leaves gaps between the offsets of batches, none between segments.
//
// The active segment is preallocated in steps; zeros are the end. Sealed and cleanly closed files are cut to size.
//
// # The way of a batch
//
//	Append   under the log's mutex: producer check, offsets, copy to the tail slab, index, then submit
//	writer   one goroutine per dir: everything pending of a log at once, one commit in flight per log: by a write to its
//	         segment or, with those of other logs, by a write to the journal (commit.go)
//	complete durable offset advances, OnDurable
//	spill    what the journal made durable goes to the segment in a large write; slabs that are written become the
//	         evictable hot tail
//	round    a checkpoint of all logs: segments flushed, recovery points advanced, journal files free again (checkpoint.go)
//	Read     from slabs while they are there, else ranges of the file; never from the journal
//
//	segment file   [ ........ written ........ | committed by the journal | in flight | pending )    preallocated zeros
//	slabs                    [ parked ][ parked ][ owned ................................. )
//	                         ^ evicted oldest first                              ^ size
//
// What is not written is always in slabs owned by the log; a reader therefore finds each byte below the end either in
// memory or in the file.
//
// With direct I/O a write starts and ends at multiples of 4 KiB. The last, partial block is written from a copy padded
// with zeros and is written again by the next write; the bytes acknowledged in it do not change, so a torn
// rewrite cannot lose them. Memory handed to the kernel does not change while a write is under way.
//
// # Who runs what
//
//	any goroutine   Append, Read and the atomics: hold Log.mu for microseconds, never wait for the disk when
//	                asked not to. The exceptions are the first append to a log since start, which opens its files,
//	                and one that fills a segment before the keeper has made the next file
//	writer          all writes of log files and of the journal of the dir (writer.go)
//	rounds          takes checkpoints and makes journal files (rounds.go, checkpoint.go)
//	keeper          creates, names, extends and seals segments, deletes files (keeper.go)
//	housekeeping    a ticker that asks for the above (housekeeping.go)
//	scrubber        reads sealed segments again and notes damaged ranges (scrub.go)
//
// Lock order: Log.mu, then writer.mu, slab pool, blocks of cold data, keeper. OnDurable is called without any lock held.
//
// # Many logs
//
// A log that nothing was appended to costs a few hundred bytes of memory and no directory (open.go). An idle one rests
// (rest.go): it has a directory, but no open file, no index map, no slab and no space beyond its size; nor has it after a
// clean stop (stopped.go). Under the limit of open files those rest first that were idle for longest. New
// directories and segments are named in groups that share flushes (naming.go); segments sealed long ago are opened and
// mapped on demand under bounds (handles.go, package index).
//
// # What always holds
//
//	StartOffset <= DurableOffset <= EndOffset
//	offsets of batches rise; a batch is whole in one segment; segments are contiguous except where ErrCorrupt says so
//	an offset is reported durable only after its batch, and all before it in the log, are on the disk: in the segment, or
//	in a journal file that is not used again before they are in the segment, on the disk
//	a recovery point is at or below what is in the segment on the disk, with all segments before it sealed
//	a start replays the journal into the segments before any log is opened (replay.go), and empties it
//	after a failed write or flush nothing is acknowledged any more in the dir: it is offline until restart
//
// # Moving to another dir
//
// A future log (future.go) in another dir follows by AppendAsFollower, is sealed when it has everything, and gets the
// partition's name by Promote. Which of two logs of a partition counts is the caller's to say, before Promote and durably.
//
// # Cold data
//
// A Range of a file has a Ref that can be asked for its bytes (file.Cached, file.Load): with direct I/O, what is not in the
// page cache is read past it, into the blocks of package cold. Look-ups of batches find their headers there, too.
//
// # Durability
//
// Flush: durable means on the disk. Async: durable means appended; the same writer writes to the segments in the background,
// never to the journal, and flushes by
// flush.messages, flush.ms and at checkpoints. Replicated: with one replica there is nobody else to hold the data, so it is
// Flush.
package segment
