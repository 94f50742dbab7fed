package coordinator

import "millrace/segment/batch"

// Partition is one partition of an internal topic as its coordinator sees it.
type Partition interface {
	// Append appends one built batch and calls done on another goroutine (never before Append has returned to the event
	// loop's own stack; it may be the writer goroutine: done must not block) when it counts as written.
	Append(b batch.Batch, done func(baseOffset int64, err error))
	// ReadAll calls f with each batch from log start to high watermark. Blocking.
	ReadAll(f func(b batch.Batch) error) error
	// LeaderEpoch is the epoch under which this broker leads the partition.
	LeaderEpoch() int32
}

// Topics finds and creates internal topics, and knows the topics that offsets are
// committed for. Except EnsureInternal nothing here blocks.
type Topics interface {
	// Partition returns the led partition, nil if this broker does not lead it or it does not exist.
	Partition(topic string, partition int32) Partition
	// EnsureInternal creates the internal topic if it is missing and returns its partition count. Blocking.
	EnsureInternal(topic string, partitions int32, overrides map[string]string) (int32, error)
	// TopicID returns the id of a topic that exists.
	TopicID(topic string) (id [16]byte, ok bool)
	// TopicName returns the name of the topic with this id.
	TopicName(id [16]byte) (name string, ok bool)
	// PartitionCount returns the number of partitions of a topic that exists.
	PartitionCount(topic string) (int32, bool)
}
