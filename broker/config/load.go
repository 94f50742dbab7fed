package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Load checks the static properties of a node and gives them their types. The warnings are sentences for the log:
// unknown keys, keys of Kafka without effect, and settings that are allowed but seldom meant. The error names the
// first key with a bad value, in the order of the table.
func Load(props map[string]string) (*Broker, []string, error) {
	b := &Broker{static: map[string]string{}}
	warnings := b.takeStatic(props)
	if err := check(b.static); err != nil {
		return nil, nil, err
	}
	if err := b.identify(); err != nil {
		return nil, nil, err
	}
	warnings = append(warnings, b.oneBroker()...)
	more, err := b.fill()
	if err != nil {
		return nil, nil, err
	}
	if _, err := b.cordonedDirs(); err != nil {
		return nil, nil, err
	}
	if b.HTTPAddr != "" {
		if host, _, _ := splitHostPort(b.HTTPAddr); !isLoopback(host) {
			more = append(more, fmt.Sprintf("http.listen=%s: metrics and profiles are reachable from other machines without authentication", b.HTTPAddr))
		}
	}
	return b, append(warnings, more...), nil
}

// takeStatic keeps the known keys and says what becomes of the others.
func (b *Broker) takeStatic(props map[string]string) (warnings []string) {
	var unused []string
	for _, name := range slices.Sorted(maps.Keys(props)) {
		o := brokerByName[name]
		switch {
		case o != nil:
			b.static[name] = props[name]
			if o.Unused {
				unused = append(unused, name)
			}
		case isKafkaKey(name):
			unused = append(unused, name)
		case topicByName[name] != nil:
			warnings = append(warnings, fmt.Sprintf("%s is a topic config and ignored here; the default of all topics is %s", name, defaultName(topicByName[name])))
		default:
			warnings = append(warnings, "unknown config "+name+" is ignored")
		}
	}
	if len(unused) > 0 {
		warnings = append(warnings, "configs of Kafka without effect here: "+strings.Join(unused, ", "))
	}
	return warnings
}

func defaultName(o *Option) string {
	if len(o.Synonyms) == 0 {
		return "not to be set"
	}
	return o.Synonyms[0].Name
}

// check parses every known value of a layer.
func check(layer map[string]string) error {
	for _, o := range brokerRows {
		if v, ok := layer[o.Name]; ok {
			if _, err := o.Parse(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// identify makes node.id and its older name broker.id agree, as Kafka does.
func (b *Broker) identify() error {
	node, hasNode := b.static["node.id"]
	broker, hasBroker := b.static["broker.id"]
	switch {
	case hasNode && hasBroker && strings.TrimSpace(node) != strings.TrimSpace(broker):
		return b.invalid("node.id", "You must set `node.id` to the same value as `broker.id`")
	case hasNode:
		b.static["broker.id"] = node
	case hasBroker && strings.TrimSpace(broker) != "-1":
		b.static["node.id"] = broker
	}
	return nil
}

// oneBroker notes the replication factors that a cluster of one broker cannot keep.
func (b *Broker) oneBroker() (notes []string) {
	for _, name := range []string{
		"default.replication.factor", "offsets.topic.replication.factor",
		"transaction.state.log.replication.factor", "share.coordinator.state.topic.replication.factor",
	} {
		if _, set := b.static[name]; set && b.num(name) > 1 {
			notes = append(notes, fmt.Sprintf("%s=%d is taken as 1: this cluster has one broker", name, b.num(name)))
		}
	}
	return notes
}
