package config

// Entry is one config as DescribeConfigs answers it.
type Entry struct {
	Name      string
	Value     *string // nil: null, or sensitive
	Source    Source
	Type      Type
	ReadOnly  bool
	Sensitive bool
	Doc       string
	Synonyms  []SynonymEntry // where the value comes from, the one in effect first
}

// SynonymEntry is one place a value may come from.
type SynonymEntry struct {
	Name   string
	Value  *string
	Source Source
}

// Entries describes this broker's configs. names nil: all. Unknown names are left out.
func (b *Broker) Entries(names []string) []Entry {
	var out []Entry
	for _, o := range selected(brokerRows, names) {
		value, source, ok := b.effective(o)
		if o.Unlisted && source == Default {
			continue
		}
		e := entry(o, value, ok, b.chain(o.Name, []string{o.Name}))
		if names := brokerSynonyms(o.Name); names != nil {
			e.Synonyms = b.chain(o.Name, names)
		}
		e.finish()
		out = append(out, e)
	}
	return out
}

// ClusterDefaultEntries describes the dynamic configs that are the default of all brokers: only those that are set.
func (b *Broker) ClusterDefaultEntries(names []string) []Entry {
	var out []Entry
	for _, o := range selected(brokerRows, names) {
		value, ok := b.clusterDefault[o.Name]
		if !ok {
			continue
		}
		e := entry(o, value, true, nil)
		e.Synonyms = []SynonymEntry{{o.Name, e.Value, DynamicDefaultBroker}}
		e.finish()
		out = append(out, e)
	}
	return out
}

// TopicEntries describes the configs of a topic with the given overrides on this broker, all of them.
func TopicEntries(b *Broker, overrides map[string]string) []Entry {
	out := make([]Entry, 0, len(topicRows))
	for _, o := range topicRows {
		v, err := b.topicValue(o, overrides)
		e := entry(o, "", false, nil)
		if err == nil {
			text := format(v)
			e.Value = &text
		} else if text, ok := overrides[o.Name]; ok {
			e.Value = &text // stored by a version with other bounds: show what is there
		}
		if _, ok := overrides[o.Name]; ok {
			e.Synonyms = append(e.Synonyms, SynonymEntry{o.Name, e.Value, DynamicTopic})
		}
		e.Synonyms = append(e.Synonyms, b.topicSynonyms(o)...)
		e.ReadOnly = false
		e.finish()
		out = append(out, e)
	}
	return out
}

// topicSynonyms is the chain of the broker config behind a topic config. Kafka names only the first synonym; older
// ones (log.retention.hours) appear after it, and not at all if it is not set, which is kept for comparability.
func (b *Broker) topicSynonyms(o *Option) []SynonymEntry {
	if len(o.Synonyms) == 0 {
		return nil
	}
	names := make([]string, len(o.Synonyms))
	for i, s := range o.Synonyms {
		names[i] = s.Name
	}
	return b.chain(names[0], names)
}

// brokerSynonyms are the configs that stand in for a broker config, itself first; nil: only itself.
func brokerSynonyms(name string) []string {
	for _, o := range topicRows {
		if len(o.Synonyms) < 2 {
			continue
		}
		for i, s := range o.Synonyms {
			if s.Name != name {
				continue
			}
			var names []string
			for _, s := range o.Synonyms[i:] {
				names = append(names, s.Name)
			}
			return names
		}
	}
	return nil
}

// chain lists where the named configs are set, layer by layer, beginning with the first entry of first.
func (b *Broker) chain(first string, names []string) (out []SynonymEntry) {
	add := func(name, value string, source Source) {
		if len(out) == 0 && name != first {
			return
		}
		e := SynonymEntry{Name: name, Source: source}
		if !brokerByName[name].Sensitive() {
			e.Value = &value
		}
		out = append(out, e)
	}
	for _, layer := range []struct {
		values map[string]string
		source Source
	}{{b.perBroker, DynamicBroker}, {b.clusterDefault, DynamicDefaultBroker}, {b.static, StaticBroker}} {
		for _, name := range names {
			if v, ok := layer.values[name]; ok {
				add(name, v, layer.source)
			}
		}
	}
	for _, name := range names {
		if o := brokerByName[name]; !o.Null {
			add(name, o.Default, Default)
		}
	}
	return out
}

func entry(o *Option, value string, ok bool, synonyms []SynonymEntry) Entry {
	e := Entry{Name: o.Name, Type: o.Type, ReadOnly: o.Dynamic == ReadOnly, Sensitive: o.Sensitive(), Doc: o.Doc, Synonyms: synonyms}
	if ok && !e.Sensitive {
		e.Value = &value
	}
	return e
}

// finish takes the source from the head of the chain.
func (e *Entry) finish() {
	e.Source = Default
	if len(e.Synonyms) > 0 {
		e.Source = e.Synonyms[0].Source
	}
}

func selected(rows []*Option, names []string) []*Option {
	if names == nil {
		return rows
	}
	var out []*Option
	for _, name := range names {
		for _, o := range rows {
			if o.Name == name {
				out = append(out, o)
				break
			}
		}
	}
	return out
}
