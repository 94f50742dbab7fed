// Command run measures Millrace beside other brokers and the bare floor, in one run, and
// says whether the targets are met. Its first argument is a suite, of which there is one
// for each file named after it: overview (the default), topics, produce, consume, latency.
// `make bench` and `make bench-SUITE` call it; ARGS are its flags.
//
// All contenders run from the beginning; in each round each of them is measured in turn
// with the same amounts on fresh topics (A B A B), after a warm-up. The topics are deleted
// afterwards, and the next measurement waits until their files are gone: new page cache
// costs ten times what recently used page cache costs on many virtual machines, so
// whoever comes second would otherwise pay for the first. Every row of the load clients is
// kept as JSON; the tables give medians with the lowest and the highest. CPU time is the
// broker's alone, and per 10^9 bytes of record values, because client and broker share
// the machine and MB/s alone say little.
//
// Kafka runs as it comes, except that it deletes files after one second instead of
// sixty; it acknowledges before the data is on the disk. Millrace flushes before each
// acknowledgement, and so does the floor. Who else takes part is in contender.go.
//
// A suite declares flags, contenders and targets, and says what is measured by trials:
// phases of work for a load client (work.go), which measure.go runs in rounds. Rows are
// grouped into cells by what they agree in (rows.go); spread.go, tables.go and targets.go
// make medians, tables and verdicts of cells.
package main
