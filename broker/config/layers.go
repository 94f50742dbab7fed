package config

import "fmt"

// Value returns the value in effect of a broker config and where it comes from. ok is false if the name is not in
// the table or the config has no value.
func (b *Broker) Value(name string) (value string, source Source, ok bool) {
	o := brokerByName[name]
	if o == nil {
		return "", Default, false
	}
	return b.effective(o)
}

func (b *Broker) effective(o *Option) (string, Source, bool) {
	if v, ok := b.perBroker[o.Name]; ok {
		return v, DynamicBroker, true
	}
	if v, ok := b.clusterDefault[o.Name]; ok {
		return v, DynamicDefaultBroker, true
	}
	if v, ok := b.static[o.Name]; ok {
		return v, StaticBroker, true
	}
	return o.Default, Default, !o.Null
}

// parsed returns the value in effect of a row, nil if there is none. All layers were checked when the Broker was
// made, so that a name or a value that does not parse is an error in this package.
func (b *Broker) parsed(name string) any {
	o := brokerByName[name]
	if o == nil {
		panic("config: no row for " + name)
	}
	text, _, ok := b.effective(o)
	if !ok {
		return nil
	}
	v, err := o.Parse(text)
	if err != nil {
		panic(fmt.Sprintf("config: unchecked value: %v", err))
	}
	return v
}

func (b *Broker) num(name string) int64 { v, _ := b.parsed(name).(int64); return v }
func (b *Broker) float(name string) float64 {
	v, _ := b.parsed(name).(float64)
	return v
}
func (b *Broker) yes(name string) bool { v, _ := b.parsed(name).(bool); return v }
func (b *Broker) str(name string) string {
	v, _ := b.parsed(name).(string)
	return v
}
func (b *Broker) list(name string) []string { v, _ := b.parsed(name).([]string); return v }

// invalid is an InvalidError for the value in effect.
func (b *Broker) invalid(name, reason string) error {
	value, _, _ := b.Value(name)
	return &InvalidError{name, value, reason}
}
