package meta

// Change is one record of the metadata log. The types below are all there are; the
// names are Kafka's.
type Change interface {
	// append adds the framed record value to dst.
	append(dst []byte) []byte
	// apply adds the change to a draft; an error says that it does not fit there.
	apply(d *draft) error
}

// TopicRecord creates a topic. Its ConfigRecords and PartitionRecords follow.
type TopicRecord struct {
	Name string
	ID   ID
}

// PartitionRecord creates a partition. The partitions of a topic come in order.
type PartitionRecord struct {
	Partition           int32
	TopicID             ID
	Replicas            []int32
	ISR                 []int32
	RemovingReplicas    []int32
	AddingReplicas      []int32
	Leader              int32
	LeaderRecoveryState int8
	LeaderEpoch         int32
	PartitionEpoch      int32
	Directories         []ID // one for each replica; nil: unassigned
	EligibleLeaders     []int32
	LastKnownELR        []int32
}

// ConfigRecord sets a config of a resource, or with Value nil removes it.
type ConfigRecord struct {
	Resource
	Key   string
	Value *string
}

// PartitionChangeRecord changes a partition. Nil slices and the values said here
// mean no change; an empty slice that is not nil means none.
type PartitionChangeRecord struct {
	Partition           int32
	TopicID             ID
	ISR                 []int32
	Leader              int32 // LeaderUnchanged: no change; -1: no leader now
	Replicas            []int32
	RemovingReplicas    []int32
	AddingReplicas      []int32
	LeaderRecoveryState int8 // -1: no change
	Directories         []ID
	EligibleLeaders     []int32
	LastKnownELR        []int32
}

// LeaderUnchanged in a PartitionChangeRecord keeps leader and leader epoch.
const LeaderUnchanged int32 = -2

// RemoveTopicRecord removes a topic, its partitions and its configs.
type RemoveTopicRecord struct{ ID ID }

// ProducerIDsRecord says that ids below NextProducerID are handed out.
type ProducerIDsRecord struct {
	BrokerID       int32
	BrokerEpoch    int64
	NextProducerID int64
}

// FeatureLevelRecord finalizes a feature level; 0 removes it.
type FeatureLevelRecord struct {
	Name  string
	Level int16
}

// RegisterBrokerRecord makes a broker known.
type RegisterBrokerRecord struct {
	BrokerID      int32
	IncarnationID ID
	BrokerEpoch   int64
	EndPoints     []BrokerEndPoint
	Features      []BrokerFeature
	Rack          *string
	Fenced        bool
}

// BrokerEndPoint is where a broker listens.
type BrokerEndPoint struct {
	Name             string
	Host             string
	Port             uint16
	SecurityProtocol int16
}

// BrokerFeature is the range of levels of a feature that a broker supports.
type BrokerFeature struct {
	Name     string
	Min, Max int16
}

// beginTransactionRecord, endTransactionRecord and abortTransactionRecord enclose a
// commit of several batches. Only the Store writes and reads them.
type (
	beginTransactionRecord struct{}
	endTransactionRecord   struct{}
	abortTransactionRecord struct{}
)

// ignoredRecord is a record of Kafka's that says nothing about the state kept here:
// a no-op, or the life of brokers and controllers.
type ignoredRecord struct{}

// Api keys of the records (Kafka's MetadataRecordType).
const (
	keyRegisterBroker           = 0
	keyTopic                    = 2
	keyPartition                = 3
	keyConfig                   = 4
	keyPartitionChange          = 5
	keyFenceBroker              = 7
	keyUnfenceBroker            = 8
	keyRemoveTopic              = 9
	keyFeatureLevel             = 12
	keyProducerIDs              = 15
	keyBrokerRegistrationChange = 17
	keyNoOp                     = 20
	keyBeginTransaction         = 23
	keyEndTransaction           = 24
	keyAbortTransaction         = 25
	keyRegisterController       = 27
)
