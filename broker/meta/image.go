package meta

import (
	"maps"
	"slices"

	"millrace/broker/config"
)

// Image is the cluster's state at one offset of the metadata log: immutable once
// published.
type Image struct {
	Version   int64 // last offset of the metadata log it includes; -1: none
	ClusterID string
	NodeID    int32
	Brokers   []Node
	Config    *config.Broker   // with the dynamic configs of this node applied
	Features  map[string]int16 // finalized feature levels

	// NextProducerID is one past the last producer id handed out in a block.
	NextProducerID int64
	// PartitionCount is the number of partitions of all topics.
	PartitionCount int

	byName shards[string, *Topic]
	byID   shards[ID, *Topic]
	// byUnified has the topics whose name has '.' or '_', by the name with each '.'
	// as '_': names that are equal there collide in metric names.
	byUnified shards[string, []string]
	// configs has the overrides of every resource that is not a topic.
	configs shards[Resource, map[string]string]
	// sorted has all topics by name, once someone has asked for them.
	sorted *sortedTopics
	// defaults is the configuration of every topic without overrides.
	defaults *config.Topic
	// registrations has the last registration of each broker.
	registrations map[int32]*RegisterBrokerRecord
}

// Node is one broker.
type Node struct {
	ID   int32
	Rack string // empty: none
}

// Topic is one topic: immutable once published.
type Topic struct {
	Name       string
	ID         ID
	Internal   bool
	Partitions []Partition // index = partition
	Overrides  map[string]string
	Config     *config.Topic
}

// Partition is the state of one partition. Replicas and ISR are shared between
// partitions that have the same ones.
type Partition struct {
	Leader         int32 // -1: none
	LeaderEpoch    int32
	PartitionEpoch int32
	Replicas       []int32
	ISR            []int32
	// Directories has the log dir of each replica, by directory.id, shared like Replicas; nil or zero: not known.
	Directories []ID
}

// Directory is the log dir of the replica on a broker; zero: not known.
func (p *Partition) Directory(broker int32) ID {
	for i, id := range p.Replicas {
		if id == broker && i < len(p.Directories) {
			return p.Directories[i]
		}
	}
	return ID{}
}

// ResourceType is what a config belongs to, in the numbers of the protocol.
type ResourceType int8

// The resource types.
const (
	TopicResource         ResourceType = 2
	BrokerResource        ResourceType = 4
	BrokerLoggerResource  ResourceType = 8
	ClientMetricsResource ResourceType = 16
	GroupResource         ResourceType = 32
)

// Resource names what a config belongs to. The broker resource with an empty name
// is the default of the whole cluster.
type Resource struct {
	Type ResourceType
	Name string
}

func (r Resource) hash() uint64 { return hashString(r.Name) }

// The topics whose records are the broker's own.
const (
	ConsumerOffsets  = "__consumer_offsets"
	TransactionState = "__transaction_state"
	ShareGroupState  = "__share_group_state"
	// ClusterMetadata is the metadata log. It is not a topic: it can be neither
	// created nor read through the protocol.
	ClusterMetadata = "__cluster_metadata"
)

// IsInternal tells whether name is one of the broker's own topics.
func IsInternal(name string) bool {
	return name == ConsumerOffsets || name == TransactionState || name == ShareGroupState
}

// Topic finds a topic by name; nil if there is none.
func (im *Image) Topic(name string) *Topic { return im.byName.at(hashString(name))[name] }

// TopicBytes is Topic for a name as it is in a request. It does not allocate.
func (im *Image) TopicBytes(name []byte) *Topic { return im.byName.at(hashBytes(name))[string(name)] }

// TopicByID finds a topic by id; nil if there is none.
func (im *Image) TopicByID(id ID) *Topic { return im.byID.at(hashID(id))[id] }

// Colliding finds a topic whose name differs from name, but not when '.' and '_' are
// taken for the same; "" if there is none.
func (im *Image) Colliding(name string) string {
	if !hasCollisionChars(name) {
		return ""
	}
	unified := unifyCollisionChars(name)
	for _, other := range im.byUnified.at(hashString(unified))[unified] {
		if other != name {
			return other
		}
	}
	return ""
}

// Overrides is the configs set for a resource; nil if none are. Read only.
func (im *Image) Overrides(r Resource) map[string]string {
	if r.Type == TopicResource {
		if t := im.Topic(r.Name); t != nil {
			return t.Overrides
		}
		return nil
	}
	return im.configs.at(r.hash())[r]
}

// Resources is the names of the resources of a type, other than topics, that have
// overrides, sorted.
func (im *Image) Resources(of ResourceType) []string {
	var names []string
	im.configs.each(func(r Resource, _ map[string]string) {
		if r.Type == of {
			names = append(names, r.Name)
		}
	})
	slices.Sort(names)
	return names
}

// EndPoint is where a broker is reached on the listener of a name, as it registered.
func (im *Image) EndPoint(broker int32, listener string) (host string, port int32, ok bool) {
	r := im.registrations[broker]
	if r == nil {
		return "", 0, false
	}
	for _, e := range r.EndPoints {
		if e.Name == listener {
			return e.Host, int32(e.Port), true
		}
	}
	return "", 0, false
}

// HasBroker tells whether a broker is known.
func (im *Image) HasBroker(id int32) bool {
	return slices.ContainsFunc(im.Brokers, func(n Node) bool { return n.ID == id })
}

// EachChanged calls f for each topic that differs between prev (nil: no topics) and
// im: old nil = created, now nil = deleted, both = changed, or, with different IDs,
// deleted and created again. Shards that both images share are not walked.
func (im *Image) EachChanged(prev *Image, f func(old, now *Topic)) {
	var none Image
	if prev == nil {
		prev = &none
	}
	for i := range shardCount {
		before, after := shardAt(&prev.byName, i), shardAt(&im.byName, i)
		if before == after {
			continue
		}
		eachChanged(before, after, f)
	}
}

func shardAt(s *shards[string, *Topic], i int) *shard[string, *Topic] {
	if s.table == nil {
		return nil
	}
	return s.table[i]
}

func eachChanged(before, after *shard[string, *Topic], f func(old, now *Topic)) {
	var was, is map[string]*Topic
	if before != nil {
		was = before.m
	}
	if after != nil {
		is = after.m
	}
	// By name, so that what follows from a change happens in the same order each time.
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if now := is[name]; now != was[name] {
			f(was[name], now)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if was[name] == nil {
			f(nil, is[name])
		}
	}
}

// NewImage makes an image of the given topics, for tests and tools that have no log.
// The topics become the image's own, and their Config is as it was given.
func NewImage(cfg *config.Broker, clusterID string, topics ...*Topic) *Image {
	im := &Image{Version: -1, ClusterID: clusterID, Config: cfg}
	if cfg != nil {
		im.NodeID = cfg.NodeID
		im.Brokers = []Node{{ID: cfg.NodeID, Rack: cfg.Rack}}
	}
	d := newDraft(im)
	for _, t := range topics {
		d.place(t)
	}
	d.indexTopics(im)
	return im
}
