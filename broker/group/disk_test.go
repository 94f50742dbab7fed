package group

import (
	"errors"
	"slices"
	"sync"

	"millrace/broker/coordinator"
	"millrace/segment/batch"
)

// disk is the internal topics of a test: what is in it survives a restart.
type disk struct {
	mu         sync.Mutex
	partitions map[int32]*memPartition
	topics     map[string]fakeTopic
	created    map[string]string // overrides the offsets topic was created with
	hold       bool              // appends wait for release
	fail       error             // what appends get
}

type fakeTopic struct {
	id         [16]byte
	partitions int32
}

func newDisk() *disk {
	return &disk{partitions: map[int32]*memPartition{}, topics: map[string]fakeTopic{
		"t1": {[16]byte{1}, 4},
		"t2": {[16]byte{2}, 4},
	}}
}

func (d *disk) Partition(topic string, p int32) coordinator.Partition {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.topics[topic]
	if !ok || p >= t.partitions {
		return nil
	}
	if d.partitions[p] == nil {
		d.partitions[p] = &memPartition{disk: d}
	}
	return d.partitions[p]
}

func (d *disk) EnsureInternal(topic string, n int32, overrides map[string]string) (int32, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.topics[topic] = fakeTopic{[16]byte{0xff}, n}
	d.created = overrides
	return n, nil
}

func (d *disk) TopicID(name string) ([16]byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.topics[name]
	return t.id, ok
}

func (d *disk) TopicName(id [16]byte) (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, t := range d.topics {
		if t.id == id {
			return name, true
		}
	}
	return "", false
}

func (d *disk) PartitionCount(name string) (int32, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.topics[name]
	return t.partitions, ok
}

// memPartition keeps its batches in memory. Appends complete when the test says.
type memPartition struct {
	disk    *disk
	batches []batch.Batch
	waiting []memAppend
	readErr error
	next    int64
}

type memAppend struct {
	b    batch.Batch
	done func(int64, error)
}

func (p *memPartition) LeaderEpoch() int32 { return 3 }

func (p *memPartition) Append(b batch.Batch, done func(int64, error)) {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	p.waiting = append(p.waiting, memAppend{slices.Clone(b), done})
}

func (p *memPartition) ReadAll(f func(batch.Batch) error) error {
	p.disk.mu.Lock()
	all, err := slices.Clone(p.batches), p.readErr
	p.disk.mu.Unlock()
	if err != nil {
		return err
	}
	for _, b := range all {
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}

// complete finishes the appends that wait and says whether there were any.
func (d *disk) complete() bool {
	d.mu.Lock()
	if d.hold {
		d.mu.Unlock()
		return false
	}
	var dones []func()
	for _, p := range d.partitions {
		for _, a := range p.waiting {
			base, err := p.next, d.fail
			if err == nil {
				a.b.SetBaseOffset(base)
				p.next = a.b.NextOffset()
				p.batches = append(p.batches, a.b)
			}
			dones = append(dones, func() { a.done(base, err) })
		}
		p.waiting = nil
	}
	d.mu.Unlock()
	for _, f := range dones {
		f()
	}
	return len(dones) > 0
}

var errDisk = errors.New("input/output error")
