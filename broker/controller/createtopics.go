package controller

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/config"
	"millrace/broker/meta"
	"millrace/net/server"
)

// newTopic is a topic to create, checked in form, with its result.
type newTopic struct {
	name        string
	partitions  int32             // -1: the default
	replication int16             // -1: the default
	assignments map[int32][]int32 // by partition; nil: place them
	overrides   map[string]string
	refused     *refusal

	id       meta.ID
	replicas [][]int32   // by partition
	dirs     [][]meta.ID // likewise; nil: not chosen
}

// CreateTopics (key 19, versions 2-7).
func (c *Controller) CreateTopics(_ server.Client, req *kmsg.CreateTopicsRequest) *kmsg.CreateTopicsResponse {
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	topics := newTopics(req.Topics)
	im := c.createTopics(topics, req.ValidateOnly)
	for _, t := range topics {
		resp.Topics = append(resp.Topics, t.response(im, req.Version))
	}
	return resp
}

// createTopics creates those topics that can be and sets the result of each. It gives
// the image they were checked against.
func (c *Controller) createTopics(topics []*newTopic, validateOnly bool) *meta.Image {
	var im *meta.Image
	failed := c.commit("create topics", func(current *meta.Image) []meta.Change {
		im = current
		plan := topicPlan{im: current, cap: partitionLimit{partitions: c.maxPartitions}, most: c.mostPartitions(current), unified: make(map[string]string), dirs: c.planDirs(current)}
		if r := tooManyPartitions(topics, im.Config.NumPartitions); r != nil {
			for _, t := range topics {
				t.refused = r
			}
			return nil
		}
		var changes []meta.Change
		for _, t := range topics {
			if t.refused == nil {
				t.refused = plan.add(t)
			}
			if t.refused == nil {
				changes = append(changes, t.records()...)
			}
		}
		if validateOnly {
			return nil
		}
		return changes
	})
	if failed != nil {
		if im == nil {
			im = c.store.Image()
		}
		for _, t := range topics {
			t.refused = cmp.Or(t.refused, failed)
		}
	}
	return im
}

// newTopics reads the topics of a request. A name that comes more than once is refused,
// once.
func newTopics(topics []kmsg.CreateTopicsRequestTopic) []*newTopic {
	seen := make(map[string]int)
	for _, t := range topics {
		seen[t.Topic]++
	}
	var out []*newTopic
	for i := range topics {
		t := &topics[i]
		switch n := seen[t.Topic]; {
		case n == 0: // refused before
		case n > 1:
			out = append(out, &newTopic{name: t.Topic, refused: refuse(kerr.InvalidRequest, "Duplicate topic name.")})
			seen[t.Topic] = 0
		default:
			out = append(out, readNewTopic(t))
		}
	}
	return out
}

func readNewTopic(t *kmsg.CreateTopicsRequestTopic) *newTopic {
	n := &newTopic{name: t.Topic, partitions: t.NumPartitions, replication: t.ReplicationFactor, overrides: make(map[string]string)}
	var nulls []string
	for _, cfg := range t.Configs {
		if cfg.Value == nil {
			nulls = append(nulls, cfg.Name)
			continue
		}
		n.overrides[cfg.Name] = *cfg.Value
	}
	if len(nulls) > 0 {
		n.refused = refuse(kerr.InvalidConfig, "Null value not supported for topic configs: %s", strings.Join(nulls, ","))
	}
	for _, a := range t.ReplicaAssignment {
		if n.assignments == nil {
			n.assignments = make(map[int32][]int32)
		}
		if _, twice := n.assignments[a.Partition]; twice {
			n.refused = refuse(kerr.InvalidReplicaAssignment, "Found multiple manual partition assignments for partition %d", a.Partition)
		}
		n.assignments[a.Partition] = a.Replicas
	}
	if n.name == meta.ClusterMetadata {
		n.refused = refuse(kerr.InvalidRequest, "Creation of internal topic %s is prohibited.", n.name)
	}
	return n
}

// tooManyPartitions holds a whole request against Kafka's limit.
func tooManyPartitions(topics []*newTopic, defaultPartitions int32) *refusal {
	total := 0
	for _, t := range topics {
		switch {
		case t.refused != nil:
		case t.assignments != nil:
			total += len(t.assignments)
		case t.partitions == -1:
			total += int(defaultPartitions)
		case t.partitions > 0:
			total += int(t.partitions)
		}
	}
	if total > maxPartitionsPerRequest {
		return refuse(kerr.PolicyViolation, "Excessively large number of partitions per request.")
	}
	return nil
}

// topicPlan checks topics against an image and against those added before.
type topicPlan struct {
	im         *meta.Image
	cap, most  partitionLimit    // of all partitions; most is for topics of clients
	partitions int               // added so far
	unified    map[string]string // names added, with '.' as '_'
	dirs       dirPlan
}

func (p *topicPlan) add(t *newTopic) *refusal {
	if err := meta.ValidateTopicName(t.name); err != nil {
		return refuse(kerr.InvalidTopicException, "%v", err)
	}
	if p.im.Topic(t.name) != nil {
		return refuse(kerr.TopicAlreadyExists, "Topic '%s' already exists.", t.name)
	}
	unified := strings.ReplaceAll(t.name, ".", "_")
	if other := cmp.Or(p.im.Colliding(t.name), p.unified[unified]); other != "" {
		return refuse(kerr.InvalidTopicException, "Topic '%s' collides with existing topic: %s", t.name, other)
	}
	if err := config.ValidateTopic(p.im.Config, t.overrides); err != nil {
		return refuse(kerr.InvalidConfig, "%v", err)
	}
	if r := t.assign(p.im); r != nil {
		return r
	}
	limit := p.most
	if meta.IsInternal(t.name) {
		limit = p.cap // groups are to work on a machine that is full
	}
	if r := limit.refuse(p.im.PartitionCount + p.partitions + len(t.replicas)); r != nil {
		return r
	}
	dirs, r := p.dirs.place(t.name, 0, t.replicas)
	if r != nil {
		return r
	}
	t.id, t.dirs = meta.NewID(), dirs
	p.partitions += len(t.replicas)
	p.unified[unified] = t.name
	return nil
}

// assign decides the replicas of each partition.
func (t *newTopic) assign(im *meta.Image) (r *refusal) {
	if t.assignments != nil {
		return t.assignManually(im)
	}
	if t.replication < -1 || t.replication == 0 {
		return refuse(kerr.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	}
	if t.partitions < -1 || t.partitions == 0 {
		return refuse(kerr.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	}
	partitions, replication := int(t.partitions), int(t.replication)
	if partitions == -1 {
		partitions = int(im.Config.NumPartitions)
	}
	if replication == -1 {
		replication = int(im.Config.DefaultReplicationFactor)
	}
	t.replicas, r = place(im.Brokers, 0, partitions, replication)
	return r
}

func (t *newTopic) assignManually(im *meta.Image) *refusal {
	if t.replication != -1 {
		return refuse(kerr.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	}
	if t.partitions != -1 {
		return refuse(kerr.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	replication := 0
	for _, index := range slices.Sorted(maps.Keys(t.assignments)) {
		replicas := t.assignments[index]
		if r := checkAssignment(im, replicas, replication); r != nil {
			return r
		}
		replication = len(replicas)
		if int(index) != len(t.replicas) {
			return refuse(kerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
		t.replicas = append(t.replicas, replicas)
	}
	return nil
}

// records creates the topic: itself, its configs, its partitions.
func (t *newTopic) records() []meta.Change {
	changes := []meta.Change{&meta.TopicRecord{Name: t.name, ID: t.id}}
	for _, key := range slices.Sorted(maps.Keys(t.overrides)) {
		value := t.overrides[key]
		changes = append(changes, &meta.ConfigRecord{Resource: topicResource(t.name), Key: key, Value: &value})
	}
	return append(changes, partitionRecords(t.id, 0, t.replicas, t.dirs)...)
}

func topicResource(name string) meta.Resource {
	return meta.Resource{Type: meta.TopicResource, Name: name}
}

func (t *newTopic) response(im *meta.Image, version int16) kmsg.CreateTopicsResponseTopic {
	out := kmsg.NewCreateTopicsResponseTopic()
	out.Topic = t.name
	out.ErrorCode, out.ErrorMessage = t.refused.result()
	out.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	if t.refused != nil {
		return out
	}
	out.TopicID = t.id
	out.NumPartitions = int32(len(t.replicas))
	out.ReplicationFactor = int16(len(t.replicas[0]))
	if version < 5 {
		return out
	}
	entries := config.TopicEntries(im.Config, t.overrides)
	slices.SortFunc(entries, func(a, b config.Entry) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range entries {
		cfg := kmsg.NewCreateTopicsResponseTopicConfig()
		cfg.Name, cfg.Value, cfg.ReadOnly, cfg.IsSensitive = e.Name, e.Value, e.ReadOnly, e.Sensitive
		cfg.Source = int8(e.Source)
		out.Configs = append(out.Configs, cfg)
	}
	return out
}
