// Package config is the one table of configs: name, type, default, bounds, document, dynamic or not.
package config

// Source says where a value came from (DescribeConfigs codes).
type Source int8

const (
	DynamicTopic         Source = 1
	DynamicBroker        Source = 2
	DynamicDefaultBroker Source = 3
	StaticBroker         Source = 4
	Default              Source = 5
	DynamicGroup         Source = 8
)

// Listener is one parsed entry of listeners with its advertised address.
type Listener struct {
	Name           string // PLAINTEXT
	Protocol       string // PLAINTEXT, SSL ... by listener.security.protocol.map
	Host           string // without brackets; empty: all interfaces
	Port           int32
	AdvertisedHost string
	AdvertisedPort int32 // 0: as bound
}

// Broker is the typed view of a node's static and dynamic configuration: immutable; a change makes a new one.
// Fields are named after the config in Go form; units are the config's own.
//
//	func Load(props map[string]string) (*Broker, []string /* warnings, e.g. unknown keys */, error)
//	func ParseProperties(r io.Reader) (map[string]string, error)   // java.util.Properties syntax
//	func (b *Broker) WithDynamic(perBroker, clusterDefault map[string]string) (*Broker, error)
//	func (b *Broker) Value(name string) (string, Source, bool)
//	func (b *Broker) Entries(names []string) []Entry                // for DescribeConfigs
//	func (b *Broker) ResolveTopic(overrides map[string]string) (*Topic, error)
//	func ValidateTopic(b *Broker, overrides map[string]string) error  // names the key, says what is allowed
//	func (t *Topic) Entries(...) []Entry
type Broker struct {
	NodeID    int32
	Rack      string
	LogDirs   []string
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

	// Millrace's own, under the millrace. prefix in the table.
	LogIO      string // log.io: auto | direct | buffered
	LogEngine  string // log.engine: auto | ring | pwritev2
	SlabBytes  int64  // log.slab.bytes: budget per log dir
	HTTPAddr   string // http.listen
	EventLoops int    // net.event.loops; 0: one per core
}

// Topic is the resolved configuration of one topic: immutable.
type Topic struct {
	SegmentBytes           int32
	SegmentMs              int64
	SegmentJitterMs        int64
	SegmentIndexBytes      int32
	FlushMessages          int64
	FlushMs                int64
	RetentionBytes         int64
	RetentionMs            int64
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
	MinInSyncReplicas      int32
	CompressionType        string // producer | uncompressed | gzip | snappy | lz4 | zstd
	GzipLevel              int
	LZ4Level               int
	ZstdLevel              int
	Preallocate            bool
	LogAppendTime          bool
	TimestampBeforeMaxMs   int64
	TimestampAfterMaxMs    int64
	Durability             string // flush | replicated | async (Millrace's own)
}
