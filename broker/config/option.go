package config

// Source says where a value came from, in the codes of DescribeConfigs.
type Source int8

const (
	DynamicTopic         Source = 1
	DynamicBroker        Source = 2
	DynamicDefaultBroker Source = 3
	StaticBroker         Source = 4
	Default              Source = 5
	DynamicGroup         Source = 8
)

// Type is the type of a config, in the codes of DescribeConfigs.
type Type int8

const (
	Boolean  Type = 1
	String   Type = 2
	Int      Type = 3
	Short    Type = 4
	Long     Type = 5
	Double   Type = 6
	List     Type = 7
	Class    Type = 8
	Password Type = 9
)

// Dynamic says whether and how a config may be altered while the broker runs.
type Dynamic int8

const (
	ReadOnly    Dynamic = iota // at start only
	PerBroker                  // on a named broker only
	ClusterWide                // on a named broker, or as the default of all brokers
)

// Option is one row of the table.
type Option struct {
	Name    string
	Type    Type
	Default string // as DescribeConfigs prints it
	Null    bool   // there is no default; Default is empty
	Bounds  bound  // nil: every value of the type
	Dynamic Dynamic
	// Synonyms are, for a topic config, the broker configs that give its default, the first one set winning.
	Synonyms []Synonym
	// Unused marks a config of Kafka that is accepted, checked and described but changes nothing.
	Unused bool
	// Unlisted marks a config that is described only where it is set, as Kafka does with its replication quotas.
	Unlisted bool
	Doc      string
}

// Synonym is a broker config that gives a topic config its default.
type Synonym struct {
	Name string
	Unit int64 // how many of the topic config's unit one of this one is; 0: the value is taken as it is
}

// Sensitive reports whether the value must never be shown or logged.
func (o *Option) Sensitive() bool { return o.Type == Password }

// TopicOption returns the row of a topic config, nil if there is none.
func TopicOption(name string) *Option { return topicByName[name] }

// BrokerOption returns the row of a broker config, nil if there is none.
func BrokerOption(name string) *Option { return brokerByName[name] }

// TopicOptions returns all rows of topic configs, in the order of DescribeConfigs. The caller must not change them.
func TopicOptions() []*Option { return topicRows }

// BrokerOptions returns all rows of broker configs. The caller must not change them.
func BrokerOptions() []*Option { return brokerRows }

var (
	topicRows    = rows(topicTable)
	brokerRows   = rows(networkTable, logTable, groupTable)
	topicByName  = byName(topicRows)
	brokerByName = byName(brokerRows)
)

func rows(tables ...[]Option) []*Option {
	var out []*Option
	for _, t := range tables {
		for i := range t {
			out = append(out, &t[i])
		}
	}
	return out
}

func byName(rows []*Option) map[string]*Option {
	m := make(map[string]*Option, len(rows))
	for _, o := range rows {
		m[o.Name] = o
	}
	return m
}
