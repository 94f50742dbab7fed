// Command floor is the barest server that a Kafka client can produce to and consume
// from: what a broker cannot fall below on this machine, to set its figures against.
//
// It does what moving the bytes costs, and nothing else. A Produce frame is read whole,
// the CRC of its batches is checked, their base offsets are set, and they are copied
// into aligned memory and written to the partition's one file, by O_DIRECT and DSYNC
// (or, with --io=buffered, into the page cache without a flush); the answer waits for
// that write, and one write takes everything that came in during the one before. A Fetch is answered by
// sendfile from the same file, in whole batches. There are no indexes, segments, groups,
// sessions, limits, checks of sequence numbers, recovery or memory of topics.
//
// With --io=slabs it is the floor of producing without waiting for the disk: a sink on
// gnet's event loops, which reads Produce frames from the socket straight into slabs,
// answers when a frame is complete, and writes full slabs to one file by O_DIRECT, as
// they are, over and over. It checks no CRC, and nothing can be fetched. With
// --io=nothing the slabs are not even written: what is measured then is the client.
//
// Else plain sockets, two goroutines per connection and one per partition: for large frames
// that costs the same as an event loop with direct reads, and has fewer parts.
//
// Ownership: a connection's reader goroutine parses and appends, its responder goroutine
// alone writes to the socket, in the order of requests. A partition's writer goroutine
// alone writes to its file. Partition state is under the partition's mutex.
package main
