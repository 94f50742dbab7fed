package config

import (
	"maps"
	"slices"
	"strings"
)

// WithDynamic returns a Broker with the same static configuration and the given dynamic ones: those of this broker,
// and the defaults of all brokers. It fails if a value is not allowed; b is not changed.
func (b *Broker) WithDynamic(perBroker, clusterDefault map[string]string) (*Broker, error) {
	n := &Broker{static: b.static, perBroker: known(perBroker), clusterDefault: known(clusterDefault)}
	for _, layer := range []map[string]string{n.perBroker, n.clusterDefault} {
		if err := check(layer); err != nil {
			return nil, err
		}
	}
	if _, err := n.fill(); err != nil {
		return nil, err
	}
	return n, nil
}

// known copies the keys of a layer that are in the table: another version may have stored others.
func known(layer map[string]string) map[string]string {
	m := make(map[string]string, len(layer))
	for k, v := range layer {
		if brokerByName[k] != nil {
			m[k] = v
		}
	}
	return m
}

// ValidateDynamic checks dynamic configs before they are stored: whether they may be altered at run time on one
// broker (perBroker) or for all, and whether the values are allowed, alone and together with what is set already.
func (b *Broker) ValidateDynamic(changes map[string]string, perBroker bool) error {
	var unknown, fixed, local []string
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		switch o := brokerByName[name]; {
		case o == nil:
			unknown = append(unknown, name)
		case o.Dynamic == ReadOnly:
			fixed = append(fixed, name)
		case o.Dynamic == PerBroker && !perBroker:
			local = append(local, name)
		}
	}
	switch {
	case len(unknown) > 0:
		return Refusal("Unknown broker config name: [" + strings.Join(unknown, ", ") + "]")
	case len(fixed) > 0:
		return Refusal("Cannot update these configs dynamically: [" + strings.Join(fixed, ", ") + "]")
	case len(local) > 0:
		return Refusal("Cannot update these configs at default cluster level, broker id must be specified: [" + strings.Join(local, ", ") + "]")
	}
	own, all := maps.Clone(b.perBroker), maps.Clone(b.clusterDefault)
	if own == nil {
		own = map[string]string{}
	}
	if all == nil {
		all = map[string]string{}
	}
	if perBroker {
		maps.Copy(own, changes)
	} else {
		maps.Copy(all, changes)
	}
	n, err := b.WithDynamic(own, all)
	if _, ok := changes["cordoned.log.dirs"]; ok && err == nil {
		_, err = n.cordonedDirs()
	}
	return err
}
