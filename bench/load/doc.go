// Command load drives any Kafka-compatible broker with franz-go and prints one JSON
// line per phase: throughput, latency quantiles, and the processor time and memory
// that the broker used meanwhile.
//
// Megabytes are 10^6 bytes of record values. The latency of a record runs from the
// moment it is handed to the client (or was due, when a rate is set and the client was
// late) until its acknowledgement; the end-to-end latency until the consumer has it.
// At full speed the former is mostly time spent in the client's own queue.
//
// With --raw the produce phase uses plain sockets and batches that were encoded before
// the clock started, many topics in a request, so that thousands of topics cost the
// client no more than one; its latency is that of a request. The consume phase then
// counts records by the headers of their batches.
package main
