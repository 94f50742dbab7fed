// Package meta is the cluster's state as an immutable image behind an atomic pointer, and the metadata log it comes from.
package meta

import "millrace/broker/config"

// ID is a topic id (UUID).
type ID [16]byte

// Image is immutable once published.
//
//	func (im *Image) Topic(name string) *Topic; TopicBytes(name []byte) *Topic; TopicByID(id ID) *Topic
type Image struct {
	Version   int64 // metadata log offset it includes
	ClusterID string
	NodeID    int32
	Brokers   []Node
	Config    *config.Broker // with the dynamic configs of this node applied

	byName map[string]*Topic
	byID   map[ID]*Topic
}

type Node struct {
	ID   int32
	Rack string
}

type Topic struct {
	Name       string
	ID         ID
	Internal   bool
	Partitions []Partition // index = partition
	Overrides  map[string]string
	Config     *config.Topic
}

type Partition struct {
	Leader      int32
	LeaderEpoch int32
	Replicas    []int32
	ISR         []int32
}

// Store owns the metadata log (itself a segment.Log named __cluster_metadata-0 in Kafka's metadata record formats) and the image.
//
//	func Open(dir *segment.Dir, cfg *config.Broker, clusterID string) (*Store, error)   // replays the log
//	func (s *Store) Image() *Image
//	func (s *Store) Subscribe(f func(prev, next *Image))   // called in order, on the committing goroutine, before Commit returns
//	func (s *Store) Commit(build func(im *Image) ([]Change, error)) error // one at a time; changes durable and published when it returns
//	func (s *Store) AllocateProducerIDs(n int64) (first int64, err error) // durable
