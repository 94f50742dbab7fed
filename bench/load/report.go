package main

import (
	"encoding/json"
	"io"

	"millrace/bench/internal/histogram"
	"millrace/bench/internal/measure"
	"millrace/bench/internal/result"
)

// begin starts the clock of a phase.
func (o *options) begin() (*measure.Stretch, error) { return measure.Begin(o.brokers) }

// end stops it and writes the phase's line to w. Publish and endToEnd may be nil.
func (o *options) end(w io.Writer, ph *measure.Stretch, name string, publish, endToEnd *histogram.Histogram) error {
	x, err := ph.End(result.Phase{
		Label: o.label, Phase: name, Topics: o.topics, Partitions: o.partitions, Producers: o.producers, Consumers: o.consumers, Keys: o.keys,
		Size: o.size, Acks: o.acks, Compression: o.compression, Idempotent: o.idempotent, Rate: o.rate,
	}, o.records, publish, endToEnd)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(x)
}
