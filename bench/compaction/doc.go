// Command compaction fills a compacted topic, has it compacted, and checks what is left record by record.
//
// Every record follows from its number: key, value and whether it is a tombstone. One idempotent producer writes them to
// one partition in order, so that a record's number is its offset, and what each offset must hold is known without
// storing it; the model is one number for each key, that of its newest record. While the topic is loaded compaction rests
// (log.cleaner.threads=0).
//
// Beside it a producer writes to another topic at a steady pace, before compaction and during it: its p99 must stay below
// twice what it was. The broker's memory is what its dedupe buffer allows, and is printed.
package main
