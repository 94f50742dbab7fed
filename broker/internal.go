package broker

import (
	"fmt"
	"sync/atomic"

	"millrace/broker/coordinator"
	"millrace/replication"
	"millrace/segment/batch"
)

// internalTopics is what coordinators see of the topics they keep their state in.
type internalTopics struct{ b *Broker }

var _ coordinator.Topics = internalTopics{}

// Partition returns a led partition of an internal topic, nil if there is none.
func (t internalTopics) Partition(topic string, index int32) coordinator.Partition {
	p := t.b.data.Partition(topic, index)
	if p == nil {
		return nil
	}
	return internalPartition{p}
}

// EnsureInternal creates the topic if it is missing. It waits for the disk.
func (t internalTopics) EnsureInternal(topic string, partitions int32, overrides map[string]string) (int32, error) {
	if m := t.b.meta.Image().Topic(topic); m != nil {
		return int32(len(m.Partitions)), nil
	}
	return t.b.controller.EnsureInternal(topic, partitions, overrides)
}

func (t internalTopics) TopicID(topic string) (id [16]byte, ok bool) {
	if m := t.b.meta.Image().Topic(topic); m != nil {
		return m.ID, true
	}
	return id, false
}

func (t internalTopics) TopicName(id [16]byte) (name string, ok bool) {
	if m := t.b.meta.Image().TopicByID(id); m != nil {
		return m.Name, true
	}
	return "", false
}

func (t internalTopics) PartitionCount(topic string) (int32, bool) {
	if m := t.b.meta.Image().Topic(topic); m != nil {
		return int32(len(m.Partitions)), true
	}
	return 0, false
}

// internalPartition is one partition of an internal topic.
type internalPartition struct{ *replication.Partition }

// Append appends one batch; done is called when it counts as written.
func (p internalPartition) Append(b batch.Batch, done func(baseOffset int64, err error)) {
	a := &internalAppend{done: done}
	info, err := p.AppendAsLeader(b, a, 0)
	if err != nil {
		err = fmt.Errorf("append to %s-%d: %w", p.Topic, p.Index, err)
		go done(-1, err) // the caller may hold what done takes
		return
	}
	a.base = info.BaseOffset
	if a.halves.Add(1) == 2 {
		go done(a.base, a.err)
	}
}

// internalAppend joins the two things done needs: the offset, which Append knows
// when it returns, and the acknowledgement, which may come before or after that.
type internalAppend struct {
	done   func(int64, error)
	base   int64
	err    error
	halves atomic.Int32
}

// Appended is called by the partition.
func (a *internalAppend) Appended(_ int, err error) {
	a.err = err
	if a.halves.Add(1) == 2 {
		a.done(a.base, a.err)
	}
}
