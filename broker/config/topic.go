package config

import (
	"fmt"
	"maps"
	"slices"
)

// Topic is the resolved configuration of one topic: immutable.
type Topic struct {
	SegmentBytes           int32
	SegmentMs              int64
	SegmentJitterMs        int64
	SegmentIndexBytes      int32
	FlushMessages          int64
	FlushMs                int64
	RetentionBytes         int64 // -1: no limit
	RetentionMs            int64 // -1: no limit
	MaxMessageBytes        int32
	MaxDecompressedBytes   int32
	IndexIntervalBytes     int32
	DeleteRetentionMs      int64
	MinCompactionLagMs     int64
	MaxCompactionLagMs     int64
	FileDeleteDelayMs      int64
	MinCleanableDirtyRatio float64
	Compact                bool // cleanup.policy has compact
	Delete                 bool // cleanup.policy has delete
	UncleanLeaderElection  bool
	MinInSyncReplicas      int32
	CompressionType        string // producer | uncompressed | gzip | snappy | lz4 | zstd
	GzipLevel              int    // -1: the codec's own default
	LZ4Level               int
	ZstdLevel              int
	Preallocate            bool
	LogAppendTime          bool
	TimestampBeforeMaxMs   int64
	TimestampAfterMaxMs    int64
	Durability             string // flush | replicated | async (Millrace's own)
}

// ValidateTopic checks a topic's overrides. The error names the key and says what is allowed.
func ValidateTopic(b *Broker, overrides map[string]string) error {
	_, err := b.ResolveTopic(overrides)
	return err
}

// ResolveTopic gives a topic's overrides, and this broker's defaults for the others, their types.
func (b *Broker) ResolveTopic(overrides map[string]string) (*Topic, error) {
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if topicByName[name] == nil {
			return nil, Refusal("Unknown topic config name: " + name)
		}
	}
	v := make(map[string]any, len(topicRows))
	for _, o := range topicRows {
		var err error
		if v[o.Name], err = b.topicValue(o, overrides); err != nil {
			return nil, err
		}
	}
	t := &Topic{
		SegmentBytes:           int32(v["segment.bytes"].(int64)),
		SegmentMs:              v["segment.ms"].(int64),
		SegmentJitterMs:        v["segment.jitter.ms"].(int64),
		SegmentIndexBytes:      int32(v["segment.index.bytes"].(int64)),
		FlushMessages:          v["flush.messages"].(int64),
		FlushMs:                v["flush.ms"].(int64),
		RetentionBytes:         v["retention.bytes"].(int64),
		RetentionMs:            v["retention.ms"].(int64),
		MaxMessageBytes:        int32(v["max.message.bytes"].(int64)),
		MaxDecompressedBytes:   int32(v["max.decompressed.message.bytes"].(int64)),
		IndexIntervalBytes:     int32(v["index.interval.bytes"].(int64)),
		DeleteRetentionMs:      v["delete.retention.ms"].(int64),
		MinCompactionLagMs:     v["min.compaction.lag.ms"].(int64),
		MaxCompactionLagMs:     v["max.compaction.lag.ms"].(int64),
		FileDeleteDelayMs:      v["file.delete.delay.ms"].(int64),
		MinCleanableDirtyRatio: v["min.cleanable.dirty.ratio"].(float64),
		Compact:                slices.Contains(v["cleanup.policy"].([]string), "compact"),
		Delete:                 slices.Contains(v["cleanup.policy"].([]string), "delete"),
		UncleanLeaderElection:  v["unclean.leader.election.enable"].(bool),
		MinInSyncReplicas:      int32(v["min.insync.replicas"].(int64)),
		CompressionType:        v["compression.type"].(string),
		GzipLevel:              int(v["compression.gzip.level"].(int64)),
		LZ4Level:               int(v["compression.lz4.level"].(int64)),
		ZstdLevel:              int(v["compression.zstd.level"].(int64)),
		Preallocate:            v["preallocate"].(bool),
		LogAppendTime:          v["message.timestamp.type"].(string) == "LogAppendTime",
		TimestampBeforeMaxMs:   v["message.timestamp.before.max.ms"].(int64),
		TimestampAfterMaxMs:    v["message.timestamp.after.max.ms"].(int64),
		Durability:             v["durability"].(string),
	}
	if t.MinCompactionLagMs > t.MaxCompactionLagMs {
		return nil, Refusal(fmt.Sprintf("conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)",
			t.MinCompactionLagMs, t.MaxCompactionLagMs))
	}
	return t, nil
}

// topicValue is the override of a topic config, parsed, or else the broker's default.
func (b *Broker) topicValue(o *Option, overrides map[string]string) (any, error) {
	if text, ok := overrides[o.Name]; ok {
		return o.Parse(text)
	}
	return b.topicDefault(o)
}

// topicDefault is the value of the first synonym that is set, in the topic config's unit.
func (b *Broker) topicDefault(o *Option) (any, error) {
	for _, s := range o.Synonyms {
		v := b.parsed(s.Name)
		if v == nil {
			continue
		}
		if s.Unit > 0 {
			v = v.(int64) * s.Unit
		}
		if n, ok := v.(int64); ok && o.Name == "retention.ms" && n < 0 {
			v = int64(-1)
		}
		return v, nil
	}
	return o.Parse(o.Default)
}
