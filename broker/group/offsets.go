package group

// offset is one committed offset.
type offset struct {
	offset      int64
	leaderEpoch int32 // -1 if unknown
	metadata    string
	commitMs    int64    // wall clock
	expireMs    int64    // -1; else the retention that an old client asked for with the commit
	topicID     [16]byte // of the topic it was committed for, zero if unknown
}

// offsetTable is the committed offsets of a group: topic, then partition.
type offsetTable map[string]map[int32]offset

func (g *group) setOffset(topic string, partition int32, o offset) {
	t := g.offsets[topic]
	if t == nil {
		t = map[int32]offset{}
		g.offsets[topic] = t
	}
	before := len(t)
	t[partition] = o
	g.sh.offsets += len(t) - before
}

func (g *group) dropOffset(topic string, partition int32) {
	t := g.offsets[topic]
	before := len(t)
	delete(t, partition)
	g.sh.offsets -= before - len(t)
	if len(t) == 0 {
		delete(g.offsets, topic)
	}
}

// topicPartition names a partition.
type topicPartition struct {
	topic     string
	partition int32
}
