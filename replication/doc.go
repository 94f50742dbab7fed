// Package replication is one partition as a broker plays it: its role, its leader
// epoch, its high watermark, and who waits for it to move.
//
// A Partition owns the segment.Log under it; nobody else appends to that log. With
// one replica the high watermark is what the log counts as written; followers and
// the in-sync set come to stand between the two, and nothing above this package
// changes then.
//
// Invariant: LogStartOffset <= LastStableOffset <= HighWatermark <= LogEndOffset.
//
// Goroutines. AppendAsLeader and Read run on event loops and never wait for the
// disk (Read only when asked to). The log reports progress on the writer goroutine
// of its log dir (or, for topics with durability=async, on the appending one);
// acknowledgements and watchers are called there, so they must be short.
//
// The log can be replaced by one in another log dir (Swap): appends wait meanwhile, reads go on.
//
// Lock order: Partition.moving, role, appending, log, writer queue; Partition.waiting is a leaf.
package replication
