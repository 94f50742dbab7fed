package data

import (
	"sync"
	"sync/atomic"

	"millrace/broker/config"
	"millrace/broker/meta"
	"millrace/replication"
	"millrace/segment"
	"millrace/segment/batch"
)

// topic is one topic as the data plane sees it. The partition slice is replaced,
// never changed, when partitions are added.
type topic struct {
	name       string
	id         meta.ID
	config     atomic.Pointer[config.Topic]
	partitions atomic.Pointer[[]*replication.Partition]
}

// partition returns a partition, nil if it does not exist or could not be opened.
func (t *topic) partition(i int32) *replication.Partition {
	ps := *t.partitions.Load()
	if i < 0 || int(i) >= len(ps) {
		return nil
	}
	return ps[i]
}

// shards bounds what adding one topic copies: a table is that many small maps, and
// a change replaces one of them.
const shards = 256

// table finds topics by name and by id without a lock. Changes are serialised by
// the caller.
type table struct {
	byName [shards]atomic.Pointer[map[string]*topic]
	byID   [shards]atomic.Pointer[map[meta.ID]*topic]
}

// shardOf is FNV-1a over the name.
func shardOf[T string | []byte](name T) int {
	h := uint32(2166136261)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return int(h % shards)
}

func (t *table) name(name []byte) *topic {
	m := t.byName[shardOf(name)].Load()
	if m == nil {
		return nil
	}
	return (*m)[string(name)]
}

func (t *table) id(id meta.ID) *topic {
	m := t.byID[id[0]].Load()
	if m == nil {
		return nil
	}
	return (*m)[id]
}

func replaced[K comparable](p *atomic.Pointer[map[K]*topic], key K, v *topic) {
	next := map[K]*topic{}
	if m := p.Load(); m != nil {
		for k, x := range *m {
			next[k] = x
		}
	}
	if v == nil {
		delete(next, key)
	} else {
		next[key] = v
	}
	p.Store(&next)
}

func (t *table) put(x *topic) {
	replaced(&t.byName[shardOf(x.name)], x.name, x)
	replaced(&t.byID[x.id[0]], x.id, x)
}

func (t *table) remove(x *topic) {
	if t.name([]byte(x.name)) == x { // not the successor of the same name
		replaced(&t.byName[shardOf(x.name)], x.name, nil)
	}
	replaced(&t.byID[x.id[0]], x.id, nil)
}

// logConfig is the part of a topic's configuration that its logs act on.
func logConfig(t *config.Topic, b *config.Broker) segment.LogConfig {
	d := segment.Flush
	switch t.Durability {
	case "replicated":
		d = segment.Replicated
	case "async":
		d = segment.Async
	}
	segmentMs := t.SegmentMs
	if t.Compact {
		segmentMs = min(segmentMs, t.MaxCompactionLagMs) // the active segment is never compacted
	}
	return segment.LogConfig{
		SegmentBytes:         t.SegmentBytes,
		SegmentMs:            segmentMs,
		SegmentJitterMs:      t.SegmentJitterMs,
		SegmentIndexBytes:    t.SegmentIndexBytes,
		IndexIntervalBytes:   t.IndexIntervalBytes,
		RetentionMs:          t.RetentionMs,
		RetentionBytes:       t.RetentionBytes,
		DeleteByRetention:    t.Delete,
		Compact:              t.Compact,
		MinDirtyRatio:        t.MinCleanableDirtyRatio,
		MinCompactionLagMs:   t.MinCompactionLagMs,
		MaxCompactionLagMs:   t.MaxCompactionLagMs,
		DeleteRetentionMs:    t.DeleteRetentionMs,
		CompressionLevels:    [5]int{batch.Gzip: t.GzipLevel, batch.LZ4: t.LZ4Level, batch.Zstd: t.ZstdLevel},
		FlushMessages:        t.FlushMessages,
		FlushMs:              t.FlushMs,
		FileDeleteDelayMs:    t.FileDeleteDelayMs,
		Preallocate:          t.Preallocate,
		Durability:           d,
		ProducerExpirationMs: b.ProducerIDExpirationMs,
	}
}

// logConfigOf is logConfig for a topic with all that the metadata say of it.
func logConfigOf(m *meta.Topic, b *config.Broker) segment.LogConfig {
	c := logConfig(m.Config, b)
	c.KeepsNodeGoing = m.Internal
	return c
}

// recoveryThreads is how many partitions open at once.
const recoveryThreads = 16

// Apply brings the open partitions in line with the next image: opens what is new,
// hands on changed configurations, deletes what is gone. It is called for each
// image in order, and returns when the partitions can be used. A partition that
// cannot be opened is logged, stays closed and answers KAFKA_STORAGE_ERROR; for want
// of space it is tried again until it opens.
func (s *Service) Apply(prev, next *meta.Image) {
	s.applying.Lock()
	defer s.applying.Unlock()
	var opened []opening
	next.EachChanged(prev, func(old, now *meta.Topic) {
		switch {
		case now == nil || old != nil && old.ID != now.ID:
			if t := s.topics.id(old.ID); t != nil {
				s.topics.remove(t)
				s.forgetOpen(t)
				s.deleteLogs(t)
			}
			if now == nil {
				return
			}
			fallthrough
		default:
			opened = append(opened, s.reconcile(now, next.Config)...)
		}
	})
	s.survey()
	s.open(opened)
}

// opening is a partition to open.
type opening struct {
	topic *topic
	meta  *meta.Topic
	index int
	into  []*replication.Partition
	cfg   segment.LogConfig
	epoch int32
	// opened is the partition if its log is open and it does not lead yet.
	opened *replication.Partition
}

// reconcile updates or creates the entry of one topic and returns the partitions to
// open. The new slice is visible at once; its entries become non-nil as they open.
func (s *Service) reconcile(m *meta.Topic, b *config.Broker) []opening {
	cfg := logConfigOf(m, b)
	t := s.topics.id(m.ID)
	fresh := t == nil
	if fresh {
		t = &topic{name: m.Name, id: m.ID}
		t.partitions.Store(&[]*replication.Partition{})
	}
	t.config.Store(m.Config)
	have := *t.partitions.Load()
	for _, p := range have {
		if p != nil {
			p.Log().SetConfig(cfg)
		}
	}
	var out []opening
	if len(m.Partitions) > len(have) {
		ps := make([]*replication.Partition, len(m.Partitions))
		copy(ps, have)
		for i := len(have); i < len(ps); i++ {
			out = append(out, opening{topic: t, meta: m, index: i, into: ps, cfg: cfg, epoch: m.Partitions[i].LeaderEpoch})
		}
	}
	if fresh && len(out) == 0 {
		s.topics.put(t)
	}
	return out
}

// open opens partitions, several at a time, then publishes them.
func (s *Service) open(list []opening) {
	work := make(chan opening)
	var wg sync.WaitGroup
	for range min(recoveryThreads, len(list)) {
		wg.Go(func() {
			for o := range work {
				if err := s.openPartition(&o); err != nil {
					s.log.Error("partition cannot be opened", "topic", o.meta.Name, "partition", o.index, "error", err)
					if passes(err) {
						s.retryOpen(o)
					}
					continue
				}
				o.into[o.index] = o.opened
			}
		})
	}
	for _, o := range list {
		work <- o
	}
	close(work)
	wg.Wait()
	for _, o := range list {
		ps := o.into
		o.topic.partitions.Store(&ps)
		if s.topics.id(o.topic.id) == nil {
			s.topics.put(o.topic)
		}
	}
}

// openPartition opens the log and leads it. It may be called again after an error.
func (s *Service) openPartition(o *opening) error {
	if o.opened == nil {
		dir, err := s.home(o.meta, int32(o.index))
		if err != nil {
			return err
		}
		p, err := replication.Open(dir, o.meta.Name, o.meta.ID, int32(o.index), o.cfg)
		if err != nil {
			return err
		}
		s.placed(dir, p)
		o.opened = p
	}
	return o.opened.BecomeLeader(o.epoch)
}

// deleteLogs ends the partitions of a topic that is gone.
func (s *Service) deleteLogs(t *topic) {
	for _, p := range *t.partitions.Load() {
		if p != nil {
			s.deleteLog(p)
		}
	}
}

func (s *Service) deleteLog(p *replication.Partition) {
	s.placement.Lock()
	if m := s.moves[p]; m != nil {
		m.cancel() // not waited for: it may wait for this change to be over
	}
	for _, ps := range s.perDir {
		delete(ps, p)
	}
	s.placement.Unlock()
	if err := p.Delete(); err != nil {
		s.log.Error("log cannot be deleted", "topic", p.Topic, "partition", p.Index, "error", err)
	}
}

// Partition returns an open partition by name, nil if there is none.
func (s *Service) Partition(name string, index int32) *replication.Partition {
	t := s.topics.name([]byte(name))
	if t == nil {
		return nil
	}
	return t.partition(index)
}
