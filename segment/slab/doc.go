// Package slab is memory for appended batches: the buffer a write goes to the disk from and, once
// written, the hot tail that consumers and followers are served from.
//
// Memory comes from mmap in chunks of ChunkSize, outside the Go heap, page aligned (so that O_DIRECT
// takes it as it is), and is carved into slabs of three sizes. A partition with little data takes small
// slabs, so that thousands of quiet partitions fit into the budget; a busy one takes large ones.
//
// A slab is in one of three states:
//
//	owned    by the log that fills it; the owner holds one reference
//	parked   filled and written; the pool holds the reference and takes the slab back, oldest first,
//	         when memory is wanted. Readers may still Retain it
//	free     on a free list, or its chunk returned to the system
//
// References keep memory alive: a slab that is read (TryRetain .. Release) is neither recycled nor unmapped,
// whatever its owner does. A recycled slab has a new generation, so that a stale pointer held in a log's list of
// tail slabs is found out by TryRetain and nothing has to call back into the log when memory is taken away.
//
// Budget: Get takes memory from the system up to a quarter of the budget, and then evicts before it takes more, until
// readers come for what was evicted (Missed), up to the budget. When nothing can be evicted, because all of it is
// being written or sent, it goes over the budget by at most a quarter or one chunk (appends in flight must be able to finish) and then
// returns nil: the caller refuses the append and the client retries. Nothing here waits.
//
// All methods may be called from any goroutine. The pool's mutex is the last in the lock order.
package slab
