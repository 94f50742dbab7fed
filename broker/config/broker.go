package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// Broker is the typed view of a node's static and dynamic configuration: immutable; a change makes a new one.
// Fields are named after the config in Go form; units are the config's own.
type Broker struct {
	NodeID    int32
	Rack      string
	LogDirs   []string
	Cordoned  []string // cordoned.log.dirs: those of LogDirs that get no new partitions
	Listeners []Listener

	SocketRequestMaxBytes   int32
	MaxConnections          int32
	MaxConnectionsPerIP     int32
	ConnectionsMaxIdleMs    int64
	FetchMaxBytes           int32
	FetchSessionSlots       int32 // max.incremental.fetch.session.cache.slots
	MaxRequestPartitionSize int32 // max.request.partition.size.limit

	NumPartitions            int32
	DefaultReplicationFactor int16
	AutoCreateTopics         bool
	DeleteTopicEnable        bool

	GroupMinSessionTimeoutMs     int32
	GroupMaxSessionTimeoutMs     int32
	GroupInitialRebalanceDelayMs int32
	GroupMaxSize                 int32
	OffsetsTopicPartitions       int32
	OffsetsTopicSegmentBytes     int32
	OffsetsRetentionMinutes      int32
	OffsetsRetentionCheckMs      int64
	OffsetMetadataMaxBytes       int32
	OffsetsCommitTimeoutMs       int32

	LogRetentionCheckIntervalMs int64
	RecoveryThreads             int32
	ProducerIDExpirationMs      int64
	AlterLogDirsBytesPerSecond  int64 // replica.alter.log.dirs.io.max.bytes.per.second

	CleanerEnable         bool // log.cleaner.*
	CleanerThreads        int32
	CleanerDedupeBytes    int64
	CleanerIOBufferBytes  int32
	CleanerLoadFactor     float64
	CleanerBytesPerSecond float64
	CleanerBackoffMs      int64

	// Millrace's own.
	LogIO     string // log.io: auto | direct | buffered
	LogCommit string // log.commit: auto | direct | journal
	// JournalBytes is log.journal.file.bytes; 0: by the size of the file system.
	JournalBytes int64
	LogEngine    string // log.engine: auto | ring | pwritev2
	SlabBytes    int64  // log.slab.bytes: budget per log dir
	HTTPAddr     string // http.listen; empty: no HTTP server
	EventLoops   int    // net.event.loops; 0: one per core
	// log.scrub.bytes.per.second and log.scrub.interval.ms
	ScrubBytesPerSecond, ScrubIntervalMs int64

	// The layers, as given, without unknown keys. Never changed once the Broker is built.
	static         map[string]string
	clusterDefault map[string]string
	perBroker      map[string]string
}

// fill sets the typed fields from the layers, whose values have been checked.
func (b *Broker) fill() (warnings []string, err error) {
	b.NodeID = int32(b.num("node.id"))
	b.Rack = b.str("broker.rack")
	b.LogDirs = b.logDirs()
	// A dir that is cordoned, emptied and taken out of log.dirs must not keep the node from starting.
	b.Cordoned, _ = b.cordonedDirs()
	if b.Listeners, warnings, err = b.listeners(); err != nil {
		return nil, err
	}

	b.SocketRequestMaxBytes = int32(b.num("socket.request.max.bytes"))
	b.MaxConnections = int32(b.num("max.connections"))
	b.MaxConnectionsPerIP = int32(b.num("max.connections.per.ip"))
	b.ConnectionsMaxIdleMs = b.num("connections.max.idle.ms")
	b.FetchMaxBytes = int32(b.num("fetch.max.bytes"))
	b.FetchSessionSlots = int32(b.num("max.incremental.fetch.session.cache.slots"))
	b.MaxRequestPartitionSize = int32(b.num("max.request.partition.size.limit"))

	b.NumPartitions = int32(b.num("num.partitions"))
	b.DefaultReplicationFactor = int16(b.num("default.replication.factor"))
	b.AutoCreateTopics = b.yes("auto.create.topics.enable")
	b.DeleteTopicEnable = b.yes("delete.topic.enable")

	b.GroupMinSessionTimeoutMs = int32(b.num("group.min.session.timeout.ms"))
	b.GroupMaxSessionTimeoutMs = int32(b.num("group.max.session.timeout.ms"))
	b.GroupInitialRebalanceDelayMs = int32(b.num("group.initial.rebalance.delay.ms"))
	b.GroupMaxSize = int32(b.num("group.max.size"))
	b.OffsetsTopicPartitions = int32(b.num("offsets.topic.num.partitions"))
	b.OffsetsTopicSegmentBytes = int32(b.num("offsets.topic.segment.bytes"))
	b.OffsetsRetentionMinutes = int32(b.num("offsets.retention.minutes"))
	b.OffsetsRetentionCheckMs = b.num("offsets.retention.check.interval.ms")
	b.OffsetMetadataMaxBytes = int32(b.num("offset.metadata.max.bytes"))
	b.OffsetsCommitTimeoutMs = int32(b.num("offsets.commit.timeout.ms"))

	b.LogRetentionCheckIntervalMs = b.num("log.retention.check.interval.ms")
	b.RecoveryThreads = int32(b.num("num.recovery.threads.per.data.dir"))
	b.ProducerIDExpirationMs = b.num("producer.id.expiration.ms")
	b.AlterLogDirsBytesPerSecond = b.num("replica.alter.log.dirs.io.max.bytes.per.second")

	b.CleanerEnable = b.yes("log.cleaner.enable")
	b.CleanerThreads = int32(b.num("log.cleaner.threads"))
	b.CleanerDedupeBytes = b.num("log.cleaner.dedupe.buffer.size")
	b.CleanerIOBufferBytes = int32(b.num("log.cleaner.io.buffer.size"))
	b.CleanerLoadFactor = b.float("log.cleaner.io.buffer.load.factor")
	b.CleanerBytesPerSecond = b.float("log.cleaner.io.max.bytes.per.second")
	b.CleanerBackoffMs = b.num("log.cleaner.backoff.ms")

	b.LogIO = b.str("log.io")
	b.LogEngine = b.str("log.engine")
	b.LogCommit = b.str("log.commit")
	b.JournalBytes = b.num("log.journal.file.bytes")
	b.SlabBytes = b.num("log.slab.bytes")
	b.ScrubBytesPerSecond, b.ScrubIntervalMs = b.num("log.scrub.bytes.per.second"), b.num("log.scrub.interval.ms")
	b.HTTPAddr = b.str("http.listen")
	b.EventLoops = int(b.num("net.event.loops"))
	return warnings, b.conflicts()
}

func (b *Broker) logDirs() []string {
	if dirs := b.list("log.dirs"); len(dirs) > 0 {
		return dirs
	}
	return b.list("log.dir")
}

// cordonedDirs is the log dirs that cordoned.log.dirs names, as log.dirs has them. The error is about the others.
func (b *Broker) cordonedDirs() ([]string, error) {
	names := b.list("cordoned.log.dirs")
	if slices.Contains(names, "*") {
		if len(names) > 1 {
			return nil, b.invalid("cordoned.log.dirs", "When cordoned.log.dirs is set to *, it must not contain other values")
		}
		return b.LogDirs, nil
	}
	var found, wrong []string
	for _, name := range names {
		// A client knows a dir by its absolute path, from DescribeLogDirs.
		i := slices.IndexFunc(b.LogDirs, func(dir string) bool { return dir == name || absolute(dir) == absolute(name) })
		if i < 0 || name == "" {
			wrong = append(wrong, name)
			continue
		}
		found = append(found, b.LogDirs[i])
	}
	if len(wrong) > 0 {
		return found, b.invalid("cordoned.log.dirs", "Invalid entries in cordoned.log.dirs: ["+strings.Join(wrong, ", ")+
			"]. All cordoned log dirs must be entries of log.dirs or log.dir.")
	}
	return found, nil
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// conflicts finds values that are allowed each but not together.
func (b *Broker) conflicts() error {
	if b.GroupMinSessionTimeoutMs > b.GroupMaxSessionTimeoutMs {
		return b.invalid("group.min.session.timeout.ms", "must not be more than group.max.session.timeout.ms")
	}
	seen := map[string]bool{}
	for _, dir := range b.LogDirs {
		if dir == "" || seen[dir] {
			return b.invalid("log.dirs", "each log dir must be named, and once")
		}
		seen[dir] = true
	}
	// The defaults of topics must be a valid topic.
	_, err := b.ResolveTopic(nil)
	return err
}
