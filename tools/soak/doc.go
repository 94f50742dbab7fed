// Command soak runs a broker for an hour, or two minutes, with everything at once, and checks that nothing is lost and
// nothing grows.
//
// Idempotent producers write to a topic with small segments and short retention, which a group reads and commits and
// whose records are deleted from the front now and then; another producer writes keys to a compacted topic; topics are
// created, written, read and deleted. The broker lives through cycles of several short lives, each ended by kill -9 or a
// clean shutdown, and one long life.
//
// What is checked, after each restart, at the end of each long life with the producers at rest, and at the end:
//
//   - no acknowledged record above the log start is lost, none is there twice, each producer's order is kept;
//   - the log start does not go back behind what DeleteRecords has answered, committed offsets do not go back at all;
//   - the compacted topic gives each key's last value, and its values in order;
//   - of the deleted topics none comes back, in the metadata or on the disk;
//   - the broker, which scrubs its segments all the time, finds no damage, for there is none.
//
// What is measured all the time: resident memory, open files, memory maps and goroutines of the broker, and the entries
// of its data dir. Flat means, for each long life and from the first to the last one, that the median of the last third
// of the samples is not above that of the first third by more than the limits in flat.go; for the data dir, over the
// whole run. The first quarter of each life is left out.
//
// The samples are written to samples.tsv in the folder of the run.
package main
