package meta

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"millrace/broker/config"
)

// ResourceOption is one row of the configs of groups and of client metrics
// subscriptions: what can be set on them, apart from brokers and topics.
type ResourceOption struct {
	Name    string
	Type    config.Type
	Default string
	// Broker is the broker config that gives the default, if this broker has it.
	Broker   string
	Min, Max int64 // inclusive; both 0: every value of the type
	Pattern  *regexp.Regexp
	Allowed  string // what Pattern lets through, for messages
	Internal bool   // described only where it is set, as Kafka does with configs not yet in use
	Doc      string
}

var groupOptions = []ResourceOption{
	{Name: "consumer.assignment.interval.ms", Type: config.Int, Default: "1000", Broker: "group.consumer.assignment.interval.ms", Max: 15000,
		Doc: "The shortest time between two assignments of a consumer group, milliseconds."},
	{Name: "consumer.heartbeat.interval.ms", Type: config.Int, Default: "5000", Broker: "group.consumer.heartbeat.interval.ms", Min: 5000, Max: 15000,
		Doc: "The heartbeat interval given to the members of a consumer group, milliseconds."},
	{Name: "consumer.session.timeout.ms", Type: config.Int, Default: "45000", Broker: "group.consumer.session.timeout.ms", Min: 45000, Max: 60000,
		Doc: "After how long without a heartbeat a member of a consumer group counts as gone, milliseconds."},
	{Name: "errors.deadletterqueue.copy.record.enable", Type: config.Boolean, Default: "false",
		Doc: "Whether the record itself is copied to the dead letter topic of a share group, or only where it was."},
	{Name: "errors.deadletterqueue.topic.name", Type: config.String, Default: "",
		Doc: "The dead letter topic of a share group; empty: none."},
	{Name: "share.assignment.interval.ms", Type: config.Int, Default: "1000", Broker: "group.share.assignment.interval.ms", Max: 15000,
		Doc: "The shortest time between two assignments of a share group, milliseconds."},
	{Name: "share.auto.offset.reset", Type: config.String, Default: "latest",
		Pattern: regexp.MustCompile(`^(earliest|latest|by_duration:P(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)$`),
		Allowed: "either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'",
		Doc:     "Where a share group begins to read a partition."},
	{Name: "share.delivery.count.limit", Type: config.Int, Default: "5", Broker: "group.share.delivery.count.limit", Min: 2, Max: 10,
		Doc: "How often a share group delivers a record."},
	{Name: "share.heartbeat.interval.ms", Type: config.Int, Default: "5000", Broker: "group.share.heartbeat.interval.ms", Min: 5000, Max: 15000,
		Doc: "The heartbeat interval given to the members of a share group, milliseconds."},
	{Name: "share.isolation.level", Type: config.String, Default: "read_uncommitted",
		Pattern: regexp.MustCompile(`^(read_committed|read_uncommitted)$`), Allowed: "one of: read_committed, read_uncommitted",
		Doc: "Whether a share group delivers records of transactions that are not committed."},
	{Name: "share.partition.max.record.locks", Type: config.Int, Default: "2000", Broker: "group.share.partition.max.record.locks", Min: 100, Max: 4000,
		Doc: "The most records of a partition that a share group holds."},
	{Name: "share.record.lock.duration.ms", Type: config.Int, Default: "30000", Broker: "group.share.record.lock.duration.ms", Min: 15000, Max: 60000,
		Doc: "How long a member of a share group holds a record, milliseconds."},
	{Name: "share.renew.acknowledge.enable", Type: config.Boolean, Default: "true",
		Doc: "Whether a member of a share group may renew its hold on a record."},
	{Name: "share.session.timeout.ms", Type: config.Int, Default: "45000", Broker: "group.share.session.timeout.ms", Min: 45000, Max: 60000,
		Doc: "After how long without a heartbeat a member of a share group counts as gone, milliseconds."},
	{Name: "streams.assignment.interval.ms", Type: config.Int, Default: "1000", Broker: "group.streams.assignment.interval.ms", Max: 15000,
		Doc: "The shortest time between two assignments of a streams group, milliseconds."},
	{Name: "streams.assignor.name", Type: config.String, Default: "sticky", Broker: "group.streams.assignors",
		Doc: "The task assignor of a streams group."},
	{Name: "streams.heartbeat.interval.ms", Type: config.Int, Default: "5000", Broker: "group.streams.heartbeat.interval.ms", Min: 5000, Max: 15000,
		Doc: "The heartbeat interval given to the members of a streams group, milliseconds."},
	{Name: "streams.initial.rebalance.delay.ms", Type: config.Int, Default: "3000", Broker: "group.streams.initial.rebalance.delay.ms", Max: 1<<31 - 1,
		Doc: "How long a new streams group waits for more members, milliseconds."},
	{Name: "streams.num.standby.replicas", Type: config.Int, Default: "0", Broker: "group.streams.num.standby.replicas", Max: 2,
		Doc: "How many standby tasks a streams group has for each task."},
	{Name: "streams.num.warmup.replicas", Type: config.Int, Internal: true, Default: "2", Broker: "group.streams.num.warmup.replicas", Max: 1<<31 - 1,
		Doc: "How many warm-up tasks a streams group runs at once."},
	{Name: "streams.rack.aware.assignment.tags", Type: config.List, Default: "", Broker: "group.streams.rack.aware.assignment.tags",
		Doc: "The client tags by which standby tasks of a streams group are spread."},
	{Name: "streams.session.timeout.ms", Type: config.Int, Default: "45000", Broker: "group.streams.session.timeout.ms", Min: 45000, Max: 60000,
		Doc: "After how long without a heartbeat a member of a streams group counts as gone, milliseconds."},
	{Name: "streams.task.offset.interval.ms", Type: config.Int, Internal: true, Default: "60000", Broker: "group.streams.task.offset.interval.ms", Max: 1<<31 - 1,
		Doc: "How often the members of a streams group report the offsets of their tasks, milliseconds."},
}

var clientMetricsOptions = []ResourceOption{
	{Name: "interval.ms", Type: config.Int, Default: "300000", Min: 100, Max: 3600000, Doc: "How often clients push their metrics, milliseconds."},
	{Name: "match", Type: config.List, Default: "", Doc: "Which clients the subscription is for."},
	{Name: "metrics", Type: config.List, Default: "", Doc: "How the names of the metrics begin that clients push."},
}

// ResourceOptions is the rows of a resource type, by name; nil for types whose configs
// are in package config.
func ResourceOptions(of ResourceType) []ResourceOption {
	switch of {
	case GroupResource:
		return groupOptions
	case ClientMetricsResource:
		return clientMetricsOptions
	}
	return nil
}

// FindResourceOption is the row of one config; nil if there is none.
func FindResourceOption(of ResourceType, name string) *ResourceOption {
	rows := ResourceOptions(of)
	i, ok := slices.BinarySearchFunc(rows, name, func(o ResourceOption, name string) int { return strings.Compare(o.Name, name) })
	if !ok {
		return nil
	}
	return &rows[i]
}

// DefaultOn is the value where it is not set, on broker b.
func (o *ResourceOption) DefaultOn(b *config.Broker) string {
	if o.Broker == "" || b == nil {
		return o.Default
	}
	if v, _, ok := b.Value(o.Broker); ok {
		return v
	}
	return o.Default
}

// Validate tells what is wrong with a value, in Kafka's words; nil if it is allowed.
func (o *ResourceOption) Validate(text string) error {
	v, err := (&config.Option{Name: o.Name, Type: o.Type}).Parse(text)
	if err != nil {
		return err
	}
	if n, ok := v.(int64); ok && (o.Min != 0 || o.Max != 0) && (n < o.Min || n > o.Max) {
		return fmt.Errorf("%s must be in the range %d to %d inclusive.", o.Name, o.Min, o.Max)
	}
	if o.Pattern != nil && !o.Pattern.MatchString(text) {
		return fmt.Errorf("Invalid value %s for configuration %s: The value must be %s", text, o.Name, o.Allowed)
	}
	return nil
}

// UnknownConfigError says that a resource type has no config of a name.
type UnknownConfigError struct {
	Type ResourceType
	Name string
}

func (e *UnknownConfigError) Error() string {
	if e.Type == ClientMetricsResource {
		return "Unknown client metrics configuration: " + e.Name
	}
	return "Unknown group config name: " + e.Name
}

// ValidateOverrides checks all that is set on a group or client metrics subscription.
func ValidateOverrides(of ResourceType, overrides map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		o := FindResourceOption(of, name)
		if o == nil {
			return &UnknownConfigError{of, name}
		}
		if err := o.Validate(overrides[name]); err != nil {
			return err
		}
	}
	return nil
}
