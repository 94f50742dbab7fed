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
	// ReadHistogram stands in the place of Read, and of Kind, in a row that is a histogram.
	ReadHistogram func(emit func(h Histogram, labels ...string))
}

// Histogram is how often a value was in each of its buckets.
type Histogram struct {
	Count   uint64
	Sum     float64
	Buckets map[float64]uint64 // by upper bound, cumulative; the one without a bound is Count
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
		send := func(c prometheus.Metric, err error) {
			if err != nil {
				c = prometheus.NewInvalidMetric(t.descs[i], err)
			}
			out <- c
		}
		if m.ReadHistogram != nil {
			m.ReadHistogram(func(h Histogram, labels ...string) {
				send(prometheus.NewConstHistogram(t.descs[i], h.Count, h.Sum, h.Buckets, labels...))
			})
			continue
		}
		kind := prometheus.CounterValue
		if m.Kind == Gauge {
			kind = prometheus.GaugeValue
		}
		m.Read(func(value float64, labels ...string) {
			send(prometheus.NewConstMetric(t.descs[i], kind, value, labels...))
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
