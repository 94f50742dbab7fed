// Command run measures Millrace beside Apache Kafka and the bare floor, in one run, and
// says whether the targets are met. `make bench` calls it; ARGS are its flags.
//
// All brokers run from the beginning; in each round each of them is measured in turn
// with the same amounts on a fresh topic (A B A B), after a warm-up. The topic is deleted
// afterwards, and the next measurement waits until its files are gone: new page cache
// costs ten times what recently used page cache costs on many virtual machines, so
// whoever comes second would otherwise pay for the first. Every row of the load client is
// kept as JSON; the tables give medians with the lowest and the highest. CPU time is the
// broker's alone, and per 10^9 bytes of record values, because client and broker share
// the machine and MB/s alone say little.
//
// Scenarios:
//
//   - idle: resident memory after the start, before any load;
//   - short: produce, then consume twice; in the first pass what is not in a broker's
//     memory comes from the disk, in the second from the page cache, for every broker;
//   - sustained: produce so much that the page cache is always new;
//   - latency: one record a millisecond, end to end, from when each was due.
//
// Kafka runs as it comes, except that it deletes files after one second instead of
// sixty; it acknowledges before the data is on the disk. Millrace flushes before each
// acknowledgement, and so does the floor.
package main
