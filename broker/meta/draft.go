package meta

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"millrace/broker/config"
)

// draft is the next image while records are applied to it: what was touched, over a
// base that stays as it is. One goroutine; thrown away if a record does not fit.
type draft struct {
	base *Image
	// topics has every topic touched, by id; names the same by name. A nil in names is
	// a topic removed.
	topics map[ID]*draftTopic
	names  map[string]*draftTopic

	configs       map[Resource]map[string]string // touched; own copies
	brokerConfig  bool                           // a config of this node or of the cluster was touched
	features      map[string]int16               // nil: untouched
	registrations map[int32]*RegisterBrokerRecord
	nextProducer  int64
	replicas      replicaSets
	directories   directorySets
	lenient       func(error) // see index; nil: strict
}

// draftTopic is a topic under change. topic is the draft's own; its slices and maps
// are only once the flags say so.
type draftTopic struct {
	topic          *Topic
	removed        bool
	ownsPartitions bool
	ownsOverrides  bool
	resolve        bool // Config must be made again
}

func newDraft(base *Image) *draft {
	return &draft{
		base:         base,
		topics:       make(map[ID]*draftTopic),
		names:        make(map[string]*draftTopic),
		configs:      make(map[Resource]map[string]string),
		nextProducer: base.NextProducerID,
		replicas:     make(replicaSets),
		directories:  make(directorySets),
	}
}

// place puts a whole topic into the draft.
func (d *draft) place(t *Topic) {
	dt := &draftTopic{topic: t, ownsPartitions: true, ownsOverrides: true}
	d.topics[t.ID], d.names[t.Name] = dt, dt
}

// byID finds a topic to change; nil if there is none.
func (d *draft) byID(id ID) *draftTopic {
	if dt, ok := d.topics[id]; ok {
		if dt.removed {
			return nil
		}
		return dt
	}
	t := d.base.TopicByID(id)
	if t == nil {
		return nil
	}
	return d.open(t)
}

// byName finds a topic to change; nil if there is none.
func (d *draft) byName(name string) *draftTopic {
	if dt, ok := d.names[name]; ok {
		return dt
	}
	t := d.base.Topic(name)
	if t == nil {
		return nil
	}
	return d.open(t)
}

func (d *draft) open(t *Topic) *draftTopic {
	copied := *t
	dt := &draftTopic{topic: &copied}
	d.topics[t.ID], d.names[t.Name] = dt, dt
	return dt
}

func (dt *draftTopic) partitions() []Partition {
	if !dt.ownsPartitions {
		dt.topic.Partitions, dt.ownsPartitions = slices.Clone(dt.topic.Partitions), true
	}
	return dt.topic.Partitions
}

func (dt *draftTopic) overrides() map[string]string {
	if !dt.ownsOverrides {
		dt.topic.Overrides, dt.ownsOverrides = maps.Clone(dt.topic.Overrides), true
		if dt.topic.Overrides == nil {
			dt.topic.Overrides = make(map[string]string)
		}
	}
	return dt.topic.Overrides
}

func (r *TopicRecord) apply(d *draft) error {
	if d.byName(r.Name) != nil {
		return fmt.Errorf("topic %q is created twice", r.Name)
	}
	if r.ID.IsZero() || d.byID(r.ID) != nil {
		return fmt.Errorf("topic %q is created with id %s, which is taken", r.Name, r.ID)
	}
	d.place(&Topic{Name: r.Name, ID: r.ID, Internal: IsInternal(r.Name)})
	d.topics[r.ID].ownsOverrides = false
	d.topics[r.ID].resolve = true
	return nil
}

func (r *PartitionRecord) apply(d *draft) error {
	dt := d.byID(r.TopicID)
	if dt == nil {
		return fmt.Errorf("partition %d of topic id %s, which does not exist", r.Partition, r.TopicID)
	}
	p := Partition{
		Leader:         r.Leader,
		LeaderEpoch:    r.LeaderEpoch,
		PartitionEpoch: r.PartitionEpoch,
		Replicas:       d.replicas.share(r.Replicas),
		ISR:            d.replicas.share(r.ISR),
		Directories:    d.directories.share(r.Directories),
	}
	parts := dt.partitions()
	switch n := int(r.Partition); {
	case 0 <= n && n < len(parts):
		parts[n] = p
	case n == len(parts):
		dt.topic.Partitions = append(parts, p)
	default:
		return fmt.Errorf("partition %d of topic %q, which has %d", r.Partition, dt.topic.Name, len(parts))
	}
	return nil
}

func (r *PartitionChangeRecord) apply(d *draft) error {
	dt := d.byID(r.TopicID)
	if dt == nil {
		return fmt.Errorf("change of partition %d of topic id %s, which does not exist", r.Partition, r.TopicID)
	}
	parts := dt.partitions()
	if r.Partition < 0 || int(r.Partition) >= len(parts) {
		return fmt.Errorf("change of partition %d of topic %q, which has %d", r.Partition, dt.topic.Name, len(parts))
	}
	p := &parts[r.Partition]
	if r.ISR != nil {
		p.ISR = d.replicas.share(r.ISR)
	}
	if r.Replicas != nil {
		p.Replicas = d.replicas.share(r.Replicas)
	}
	if r.Directories != nil {
		p.Directories = d.directories.share(r.Directories)
	} else if r.Replicas != nil {
		p.Directories = nil // were those of other replicas
	}
	if r.Leader != LeaderUnchanged {
		p.Leader = r.Leader
		p.LeaderEpoch++ // as Kafka: each record that names a leader starts an epoch
	}
	p.PartitionEpoch++
	return nil
}

func (r *RemoveTopicRecord) apply(d *draft) error {
	dt := d.byID(r.ID)
	if dt == nil {
		return fmt.Errorf("removal of topic id %s, which does not exist", r.ID)
	}
	dt.removed = true
	d.names[dt.topic.Name] = nil
	return nil
}

func (r *ConfigRecord) apply(d *draft) error {
	if r.Type == TopicResource {
		dt := d.byName(r.Name)
		if dt == nil {
			return fmt.Errorf("config %s of topic %q, which does not exist", r.Key, r.Name)
		}
		setOverride(dt.overrides(), r)
		dt.resolve = true
		return nil
	}
	own, ok := d.configs[r.Resource]
	if !ok {
		if own = maps.Clone(d.base.Overrides(r.Resource)); own == nil {
			own = make(map[string]string)
		}
		d.configs[r.Resource] = own
	}
	setOverride(own, r)
	d.brokerConfig = d.brokerConfig || r.Type == BrokerResource
	return nil
}

func setOverride(m map[string]string, r *ConfigRecord) {
	if r.Value == nil {
		delete(m, r.Key)
		return
	}
	m[r.Key] = *r.Value
}

func (r *ProducerIDsRecord) apply(d *draft) error {
	if r.NextProducerID < d.nextProducer {
		return fmt.Errorf("next producer id goes back from %d to %d", d.nextProducer, r.NextProducerID)
	}
	d.nextProducer = r.NextProducerID
	return nil
}

func (r *FeatureLevelRecord) apply(d *draft) error {
	if d.features == nil {
		if d.features = maps.Clone(d.base.Features); d.features == nil {
			d.features = make(map[string]int16)
		}
	}
	if r.Level == 0 {
		delete(d.features, r.Name)
		return nil
	}
	d.features[r.Name] = r.Level
	return nil
}

func (r *RegisterBrokerRecord) apply(d *draft) error {
	if d.registrations == nil {
		if d.registrations = maps.Clone(d.base.registrations); d.registrations == nil {
			d.registrations = make(map[int32]*RegisterBrokerRecord)
		}
	}
	d.registrations[r.BrokerID] = r
	return nil
}

func (*ignoredRecord) apply(*draft) error          { return nil }
func (*beginTransactionRecord) apply(*draft) error { return errNestedTransaction }
func (*endTransactionRecord) apply(*draft) error   { return errNestedTransaction }
func (*abortTransactionRecord) apply(*draft) error { return errNestedTransaction }

var errNestedTransaction = fmt.Errorf("transaction record where none may be")

// replicaSets makes partitions with equal replicas share one slice: a cluster of
// 100,000 partitions on one node has one.
type replicaSets map[string][]int32

// share gives the slice kept for the same replicas, or keeps v.
func (s replicaSets) share(v []int32) []int32 {
	var key strings.Builder
	for _, id := range v {
		key.Write([]byte{byte(id >> 24), byte(id >> 16), byte(id >> 8), byte(id)})
	}
	if kept, ok := s[key.String()]; ok {
		return kept
	}
	s[key.String()] = v
	return v
}

// directorySets is the same for the directories of partitions.
type directorySets map[string][]ID

// share gives the slice kept for the same directories, or keeps v. Directories that are all unknown are nil.
func (s directorySets) share(v []ID) []ID {
	var key strings.Builder
	known := false
	for _, id := range v {
		key.Write(id[:])
		known = known || !id.IsZero()
	}
	if !known {
		return nil
	}
	if kept, ok := s[key.String()]; ok {
		return kept
	}
	s[key.String()] = v
	return v
}

// resolveTopic resolves the overrides of a topic. Strict: an error is the caller's.
// Lenient: the error is reported and the overrides that do not resolve, each taken
// alone, are left out of Config (Overrides keeps them): they were valid when they were
// written, and one topic must not keep the node from starting.
func (d *draft) resolveTopic(b *config.Broker, t *Topic) (*config.Topic, error) {
	resolved, err := b.ResolveTopic(t.Overrides)
	if err == nil {
		return resolved, nil
	}
	err = fmt.Errorf("topic %q: %w", t.Name, err)
	if d.lenient == nil {
		return nil, err
	}
	d.lenient(err)
	usable := make(map[string]string)
	for _, k := range slices.Sorted(maps.Keys(t.Overrides)) {
		usable[k] = t.Overrides[k]
		if _, err := b.ResolveTopic(usable); err != nil {
			delete(usable, k)
		}
	}
	return b.ResolveTopic(usable)
}
