package http

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Kind is the kind of a metric.
type Kind int

const (
	Counter Kind = iota // only ever rises
	Gauge
)

// Metric is one row of /metrics: numbers that are read when somebody asks, so that counting costs nothing here.
type Metric struct {
	Name   string // without the prefix millrace_; a counter's ends in _total
	Help   string
	Kind   Kind
	Labels []string
	// Read emits each number, with a value for each label. Any goroutine; it must not block.
	Read func(emit func(value float64, labels ...string))
}

// Value is a Metric of one number without labels.
func Value(name, help string, kind Kind, read func() int64) Metric {
	return Metric{Name: name, Help: help, Kind: kind, Read: func(emit func(float64, ...string)) { emit(float64(read())) }}
}

// table is a prometheus.Collector over rows.
type table struct {
	rows  []Metric
	descs []*prometheus.Desc
}

func newTable(rows []Metric) *table {
	t := &table{rows: rows}
	for _, m := range rows {
		t.descs = append(t.descs, prometheus.NewDesc("millrace_"+m.Name, m.Help, m.Labels, nil))
	}
	return t
}

func (t *table) Describe(out chan<- *prometheus.Desc) {
	for _, d := range t.descs {
		out <- d
	}
}

func (t *table) Collect(out chan<- prometheus.Metric) {
	for i, m := range t.rows {
		kind := prometheus.CounterValue
		if m.Kind == Gauge {
			kind = prometheus.GaugeValue
		}
		m.Read(func(value float64, labels ...string) {
			c, err := prometheus.NewConstMetric(t.descs[i], kind, value, labels...)
			if err != nil {
				c = prometheus.NewInvalidMetric(t.descs[i], err)
			}
			out <- c
		})
	}
}

// registry has the rows, and Go's own metrics of the process.
func registry(rows []Metric) (*prometheus.Registry, error) {
	r := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newTable(rows),
	} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return r, nil
}
