package meta

import (
	"maps"
	"slices"
	"strconv"

	"millrace/broker/config"
)

// index turns the draft into the image that follows base. static is the node's
// configuration without dynamic configs; nil: configs are not resolved. Version is
// for the caller to set. Cost: the topics touched, plus a copy of the sorted list of
// pointers.
func (d *draft) index(static *config.Broker) (*Image, error) {
	next := *d.base
	next.NextProducerID = d.nextProducer
	if d.features != nil {
		next.Features = d.features
	}
	if d.registrations != nil {
		next.registrations = d.registrations
		next.Brokers = nodes(d.registrations)
	}
	d.indexConfigs(&next)
	if err := d.resolve(&next, static); err != nil {
		return nil, err
	}
	d.indexTopics(&next)
	return &next, nil
}

func nodes(registrations map[int32]*RegisterBrokerRecord) []Node {
	var out []Node
	for _, id := range slices.Sorted(maps.Keys(registrations)) {
		n := Node{ID: id}
		if rack := registrations[id].Rack; rack != nil {
			n.Rack = *rack
		}
		out = append(out, n)
	}
	return out
}

func (d *draft) indexConfigs(next *Image) {
	if len(d.configs) == 0 {
		return
	}
	edit := next.configs.edit()
	for r, overrides := range d.configs {
		if len(overrides) == 0 {
			edit.remove(r.hash(), r)
		} else {
			edit.put(r.hash(), r, overrides)
		}
	}
	next.configs = edit.next
}

// resolve makes the broker's configuration and that of each topic whose overrides
// changed; of all topics, if the broker's changed, since topics inherit from it.
func (d *draft) resolve(next *Image, static *config.Broker) error {
	if static == nil {
		return nil
	}
	if d.brokerConfig || next.Config == nil {
		b, err := d.resolveBroker(next, static)
		if err != nil {
			return err
		}
		next.Config, next.defaults = b, nil
		for _, t := range d.base.Topics() {
			if dt := d.byName(t.Name); dt != nil {
				dt.resolve = true
			}
		}
	}
	if next.defaults == nil {
		defaults, err := next.Config.ResolveTopic(nil)
		if err != nil {
			return err
		}
		next.defaults = defaults
	}
	for _, dt := range d.topics {
		switch {
		case dt.removed || !dt.resolve:
		case len(dt.topic.Overrides) == 0:
			dt.topic.Config = next.defaults
		default:
			c, err := d.resolveTopic(next.Config, dt.topic)
			if err != nil {
				return err
			}
			dt.topic.Config = c
		}
	}
	return nil
}

func (d *draft) resolveBroker(next *Image, static *config.Broker) (*config.Broker, error) {
	perBroker := next.Overrides(Resource{BrokerResource, strconv.Itoa(int(next.NodeID))})
	clusterDefault := next.Overrides(Resource{BrokerResource, ""})
	if len(perBroker) == 0 && len(clusterDefault) == 0 {
		return static, nil
	}
	b, err := static.WithDynamic(perBroker, clusterDefault)
	if err != nil && d.lenient != nil {
		d.lenient(err)
		return static, nil
	}
	return b, err
}

func (d *draft) indexTopics(next *Image) {
	if len(d.names) == 0 {
		return
	}
	byName, byID, byUnified := next.byName.edit(), next.byID.edit(), next.byUnified.edit()
	for name, dt := range d.names {
		old := d.base.Topic(name)
		if old != nil {
			next.PartitionCount -= len(old.Partitions)
			if dt == nil || dt.topic.ID != old.ID {
				byID.remove(hashID(old.ID), old.ID)
			}
		}
		if dt == nil {
			byName.remove(hashString(name), name)
		} else {
			next.PartitionCount += len(dt.topic.Partitions)
			byName.put(hashString(name), name, dt.topic)
			byID.put(hashID(dt.topic.ID), dt.topic.ID, dt.topic)
		}
		if (old == nil) != (dt == nil) && hasCollisionChars(name) {
			editUnified(byUnified, name, dt != nil)
		}
	}
	next.byName, next.byID, next.byUnified = byName.next, byID.next, byUnified.next
	next.sorted = d.sortedAfter()
}

func editUnified(e *shardEdit[string, []string], name string, present bool) {
	unified := unifyCollisionChars(name)
	hash := hashString(unified)
	names, _ := e.next.get(hash, unified)
	// A new slice each time: the old one belongs to older images.
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
	if present {
		names = append(names, name)
	}
	if len(names) == 0 {
		e.remove(hash, unified)
		return
	}
	e.put(hash, unified, names)
}
