package group

import (
	"log/slog"
	"time"

	"millrace/broker/coordinator"
)

// OffsetsTopic is the internal topic of groups and offsets.
const OffsetsTopic = "__consumer_offsets"

// Config is the part of the broker's configuration that groups follow. Units are in the names.
type Config struct {
	MinSessionTimeoutMs      int32 // group.min.session.timeout.ms
	MaxSessionTimeoutMs      int32 // group.max.session.timeout.ms
	InitialRebalanceDelayMs  int32 // group.initial.rebalance.delay.ms
	MaxSize                  int32 // group.max.size, members
	OffsetsTopicPartitions   int32 // offsets.topic.num.partitions
	OffsetsTopicSegmentBytes int32 // offsets.topic.segment.bytes
	OffsetsRetentionMinutes  int32 // offsets.retention.minutes
	RetentionCheckMs         int64 // offsets.retention.check.interval.ms
	MetadataMaxBytes         int32 // offset.metadata.max.bytes
	CommitTimeoutMs          int32 // offsets.commit.timeout.ms
}

// DefaultConfig is Kafka's defaults.
func DefaultConfig() Config {
	return Config{
		MinSessionTimeoutMs:      6000,
		MaxSessionTimeoutMs:      1800000,
		InitialRebalanceDelayMs:  3000,
		MaxSize:                  1<<31 - 1,
		OffsetsTopicPartitions:   50,
		OffsetsTopicSegmentBytes: 100 << 20,
		OffsetsRetentionMinutes:  10080,
		RetentionCheckMs:         600000,
		MetadataMaxBytes:         4096,
		CommitTimeoutMs:          5000,
	}
}

// Options makes a Service.
type Options struct {
	Topics coordinator.Topics
	Config Config
	NodeID int32
	Logger *slog.Logger     // nil: slog.Default()
	Now    func() time.Time // nil: time.Now; must carry a monotonic reading for timers to survive clock changes
}
