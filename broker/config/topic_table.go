package config

import "math"

const (
	msPerMinute = int64(60_000)
	msPerHour   = 60 * msPerMinute
	maxInt      = "2147483647"
	maxLong     = "9223372036854775807"
	maxArray    = math.MaxInt32 - 8 // the longest array of a Java client
)

func from(names ...string) []Synonym {
	out := make([]Synonym, len(names))
	for i, n := range names {
		out[i] = Synonym{Name: n}
	}
	return out
}

// topicTable has a row for each topic config: Kafka's, in its own order of subjects, and durability, ours.
var topicTable = []Option{
	{Name: "cleanup.policy", Type: List, Default: "delete", Bounds: listOf("compact", "delete"), Synonyms: from("log.cleanup.policy"),
		Doc: "What happens to old segments: delete removes them by retention time and size, compact keeps the newest record of each key; both may be given, and an empty list keeps everything."},
	{Name: "compression.type", Type: String, Default: "producer", Bounds: oneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"), Synonyms: from("compression.type"),
		Doc: "The codec batches are stored with; producer keeps the one they arrived with."},
	{Name: "compression.gzip.level", Type: Int, Default: "-1", Bounds: minusOneOr(1, 9), Synonyms: from("compression.gzip.level"),
		Doc: "The level for compression.type gzip; -1 is the codec's own default."},
	{Name: "compression.lz4.level", Type: Int, Default: "9", Bounds: between(1, 17), Synonyms: from("compression.lz4.level"),
		Doc: "The level for compression.type lz4."},
	{Name: "compression.zstd.level", Type: Int, Default: "3", Bounds: between(-131072, 22), Synonyms: from("compression.zstd.level"),
		Doc: "The level for compression.type zstd."},
	{Name: "delete.retention.ms", Type: Long, Default: "86400000", Bounds: atLeast(0), Synonyms: from("log.cleaner.delete.retention.ms"),
		Doc: "How long compaction keeps tombstones, milliseconds: a reader that starts at the beginning must reach the end within it to see every delete."},
	{Name: "durability", Type: String, Default: "flush", Bounds: oneOf("flush", "replicated", "async"), Synonyms: from("log.durability"),
		Doc: "When a record counts as written: flush, when it is on disk; replicated, when every in-sync replica has it in memory; async, when the leader has it in memory. Millrace only."},
	{Name: "errors.deadletterqueue.group.enable", Type: Boolean, Default: "false", Unused: true,
		Doc: "Whether share groups may use this topic as a dead letter queue."},
	{Name: "file.delete.delay.ms", Type: Long, Default: "60000", Bounds: atLeast(0), Synonyms: from("log.segment.delete.delay.ms"),
		Doc: "How long a removed segment stays on disk as .deleted, milliseconds."},
	{Name: "flush.messages", Type: Long, Default: maxLong, Bounds: atLeast(1), Synonyms: from("log.flush.interval.messages"),
		Doc: "After how many records a topic whose durability is not flush is flushed."},
	{Name: "flush.ms", Type: Long, Default: maxLong, Bounds: atLeast(0), Synonyms: from("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
		Doc: "After how many milliseconds a topic whose durability is not flush is flushed."},
	{Name: "follower.replication.throttled.replicas", Type: List, Default: "", Bounds: throttledReplicas,
		Doc: "The replicas whose replication is throttled on the follower's side: partition:broker pairs, or * for all."},
	{Name: "index.interval.bytes", Type: Int, Default: "4096", Bounds: atLeast(0), Synonyms: from("log.index.interval.bytes"),
		Doc: "How many bytes of log are between two entries of the offset index."},
	{Name: "leader.replication.throttled.replicas", Type: List, Default: "", Bounds: throttledReplicas,
		Doc: "The replicas whose replication is throttled on the leader's side: partition:broker pairs, or * for all."},
	{Name: "local.retention.bytes", Type: Long, Default: "-2", Bounds: atLeast(-2), Synonyms: from("log.local.retention.bytes"), Unused: true,
		Doc: "With tiered storage, how many bytes of a partition stay on the local disk; -2 is the value of retention.bytes."},
	{Name: "local.retention.ms", Type: Long, Default: "-2", Bounds: atLeast(-2), Synonyms: from("log.local.retention.ms"), Unused: true,
		Doc: "With tiered storage, how many milliseconds a segment stays on the local disk; -2 is the value of retention.ms."},
	{Name: "max.compaction.lag.ms", Type: Long, Default: maxLong, Bounds: atLeast(1), Synonyms: from("log.cleaner.max.compaction.lag.ms"),
		Doc: "The longest a record may stay uncompacted, milliseconds."},
	{Name: "max.decompressed.message.bytes", Type: Int, Default: "2147483639", Bounds: between(1, maxArray), Synonyms: from("max.decompressed.message.bytes"),
		Doc: "The most bytes a batch may have when decompressed."},
	{Name: "max.message.bytes", Type: Int, Default: "1048588", Bounds: atLeast(0), Synonyms: from("message.max.bytes"),
		Doc: "The most bytes a record batch may have, after compression if it is compressed."},
	{Name: "message.timestamp.after.max.ms", Type: Long, Default: "3600000", Bounds: atLeast(0), Synonyms: from("log.message.timestamp.after.max.ms"),
		Doc: "How far a record's timestamp may lie ahead of the broker's clock, milliseconds."},
	{Name: "message.timestamp.before.max.ms", Type: Long, Default: maxLong, Bounds: atLeast(0), Synonyms: from("log.message.timestamp.before.max.ms"),
		Doc: "How far a record's timestamp may lie behind the broker's clock, milliseconds."},
	{Name: "message.timestamp.type", Type: String, Default: "CreateTime", Bounds: oneOf("CreateTime", "LogAppendTime"), Synonyms: from("log.message.timestamp.type"),
		Doc: "Whether a record keeps the timestamp of its producer or gets the time of its append."},
	{Name: "min.cleanable.dirty.ratio", Type: Double, Default: "0.5", Bounds: ratio, Synonyms: from("log.cleaner.min.cleanable.ratio"),
		Doc: "The share of a log that must be uncompacted before compaction takes it up."},
	{Name: "min.compaction.lag.ms", Type: Long, Default: "0", Bounds: atLeast(0), Synonyms: from("log.cleaner.min.compaction.lag.ms"),
		Doc: "The shortest a record stays uncompacted, milliseconds."},
	{Name: "min.insync.replicas", Type: Int, Default: "1", Bounds: atLeast(1), Synonyms: from("min.insync.replicas"),
		Doc: "How many replicas must be in sync for a produce with acks=all to be accepted; never more than the topic has."},
	{Name: "preallocate", Type: Boolean, Default: "false", Synonyms: from("log.preallocate"),
		Doc: "Whether a segment's file gets its full size at once; direct writes always preallocate."},
	{Name: "remote.copy.lag.bytes", Type: Long, Default: "-1", Bounds: atLeast(-1), Synonyms: from("log.remote.copy.lag.bytes"), Unused: true,
		Doc: "With tiered storage, by how many bytes the copy of a partition may lag."},
	{Name: "remote.copy.lag.ms", Type: Long, Default: "0", Bounds: atLeast(-1), Synonyms: from("log.remote.copy.lag.ms"), Unused: true,
		Doc: "With tiered storage, by how many milliseconds the copy of a partition may lag."},
	{Name: "remote.log.copy.disable", Type: Boolean, Default: "false", Unused: true,
		Doc: "With tiered storage, whether no further segments are copied."},
	{Name: "remote.log.delete.on.disable", Type: Boolean, Default: "false", Unused: true,
		Doc: "With tiered storage, whether turning it off deletes the copies."},
	{Name: "remote.storage.enable", Type: Boolean, Default: "false", Bounds: notTiered, Unused: true,
		Doc: "Whether the topic uses tiered storage; Millrace has none, so that only false is allowed."},
	{Name: "retention.bytes", Type: Long, Default: "-1", Synonyms: from("log.retention.bytes"),
		Doc: "How many bytes a partition keeps under cleanup.policy delete; -1 is no limit."},
	{Name: "retention.ms", Type: Long, Default: "604800000", Bounds: atLeast(-1),
		Synonyms: []Synonym{{Name: "log.retention.ms"}, {"log.retention.minutes", msPerMinute}, {"log.retention.hours", msPerHour}},
		Doc:      "How many milliseconds a record is kept under cleanup.policy delete; -1 is no limit."},
	{Name: "segment.bytes", Type: Int, Default: "1073741824", Bounds: atLeast(1 << 20), Synonyms: from("log.segment.bytes"),
		Doc: "The size at which a segment is closed and a new one begun."},
	{Name: "segment.index.bytes", Type: Int, Default: "10485760", Bounds: atLeast(4), Synonyms: from("log.index.size.max.bytes"),
		Doc: "The most bytes the offset index of a segment may have."},
	{Name: "segment.jitter.ms", Type: Long, Default: "0", Bounds: atLeast(0),
		Synonyms: []Synonym{{Name: "log.roll.jitter.ms"}, {"log.roll.jitter.hours", msPerHour}},
		Doc:      "The most milliseconds by which segment.ms is shortened at random, so that not all segments roll at once."},
	{Name: "segment.ms", Type: Long, Default: "604800000", Bounds: atLeast(1),
		Synonyms: []Synonym{{Name: "log.roll.ms"}, {"log.roll.hours", msPerHour}},
		Doc:      "The age in milliseconds at which a segment is closed even if it is not full."},
	{Name: "unclean.leader.election.enable", Type: Boolean, Default: "false", Synonyms: from("unclean.leader.election.enable"),
		Doc: "Whether a replica that is not in sync may become leader as a last resort, losing records."},
}
