package oracle

import "strings"

// Rule says what of an answer cannot be equal between two brokers, and what of it
// is compared all the same. A pattern is a path in which * stands for any run of
// characters.
type Rule struct {
	pattern string
	key     string                    // the list is named and sorted by this field of its elements
	value   func(value string) string // replaces the value
}

// Keyed compares the list at pattern as a set named by field: its order on the
// wire means nothing to a client.
func Keyed(pattern, field string) Rule { return Rule{pattern: pattern, key: field} }

// Masked ignores the value at pattern.
func Masked(pattern string) Rule {
	return Rule{pattern: pattern, value: func(string) string { return "<any>" }}
}

// Drawn compares only whether a value stands at pattern: null, empty, 0, -1 and
// all zeros remain themselves, everything else is equal.
func Drawn(pattern string) Rule {
	return Rule{pattern: pattern, value: func(v string) string {
		if v == "null" || v == `""` || v == "-1" || v == absent || strings.Trim(v, "0") == "" {
			return v
		}
		return "<set>"
	}}
}

// The rules that probes choose from.
var (
	// topicIDs are drawn by the broker at creation.
	topicIDs = Drawn("*TopicID")
	// endpoint is where the broker listens and what it calls itself.
	endpoint = Masked("*.Port")
	// clusterID is drawn when the cluster is made.
	clusterID = Drawn("*.ClusterID")
	// messages are for people; that there is one is compared, its words are not.
	messages = Drawn("*.ErrorMessage")
	// internalEpochs: a broker that was slow for a moment elects itself again.
	internalEpochs = Masked("*Topics[__consumer_offsets].Partitions*.LeaderEpoch")
	// memberIDs are drawn by the coordinator.
	memberIDs = Drawn("*.MemberID")
	// leaderIDs are member ids.
	leaderIDs = Drawn("*.LeaderID")
	// producerIDs are drawn by the broker where it hands them out.
	producerIDs = Rule{pattern: "*.ProducerID", value: func(v string) string {
		if strings.HasPrefix(v, "-") {
			return v
		}
		return "<set>" // 0 is the first id of a fresh broker
	}}
	// appendTimes are the broker's clock.
	appendTimes = Drawn("*.LogAppendTime")
	// topicsByName: order of topics in an answer means nothing.
	topicsByName = Keyed("*.Topics", "Topic")
	// configsByName: order of configs in an answer means nothing.
	configsByName = Keyed("*.Configs", "Name")
)

// apply gives value as seen through rules.
func apply(rules []Rule, f Field) string {
	for _, r := range rules {
		if r.value != nil && match(r.pattern, f.Path) {
			return r.value(f.Value)
		}
	}
	return f.Value
}

// match reports whether s is pattern, in which each * stands for any run of
// characters, also an empty one.
func match(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, last)
}
