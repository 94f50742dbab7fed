// Package meta is the cluster's state as an immutable image behind an atomic
// pointer, and the metadata log that image comes from.
//
// # The image
//
// An Image is never changed after it is published. Handlers load it once for each
// request and read it without a lock; a Topic taken from it stays as it was. Two
// successive images share everything that did not change: the maps are cut into
// shards that are copied one at a time, so that a commit costs the topics it
// touches and not all topics.
//
// # The log
//
// The metadata log is a log like any other, named __cluster_metadata-0 in the first
// log dir, in Kafka's own metadata record formats, so that Kafka's kafka-dump-log
// with --cluster-metadata-decoder reads it:
//
//	record value = frame version (1) | api key | version | flexible message   (the first three unsigned varints)
//
// It is the only source of topics: directories are never looked at to learn what
// exists. The log is not compacted; offsets are contiguous from 0, and replay
// checks this, the CRC of each batch and each record. What does not fit is an
// error that names file and position: a damaged log stops the start, it never
// yields a smaller cluster.
//
// # A commit
//
// Store.Commit runs one commit at a time:
//
//	build(current image) -> changes -> applied to a draft (checked) -> appended ->
//	durable -> image published -> subscribers, in order -> Commit returns
//
// A commit is one batch, which is atomic by its CRC. A commit too large for one
// batch is several, between a BeginTransaction and an EndTransaction record; replay
// drops a transaction that was not ended, and the next commit begins with an
// AbortTransaction record.
//
// If the wait for the disk fails, it is unknown whether the change is on it: the
// Store then refuses every later commit, and the image stays as it was.
//
// Commit, AllocateProducerIDs and Open block on the disk and must not be called on an
// event loop. Everything on Image may be called from any goroutine.
package meta
