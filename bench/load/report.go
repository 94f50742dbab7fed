package main

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"sync/atomic"
	"time"

	"millrace/bench/internal/histogram"
	"millrace/bench/internal/proc"
	"millrace/bench/internal/result"
)

// phase accounts for one measured stretch. Any goroutine may add to done and fail;
// begin and end belong to the one that runs the phase.
type phase struct {
	o      *options
	start  time.Time
	broker proc.Usage
	client proc.Usage
	// machine is the processor time of everything, in seconds.
	machine float64

	done  atomic.Int64
	fails atomic.Int64
	first atomic.Pointer[string]
}

// begin starts the clock, after the processes have been looked at.
func (o *options) begin() (*phase, error) {
	broker, err := proc.Of(o.brokers...)
	if err != nil {
		return nil, err
	}
	client, err := proc.Of(os.Getpid())
	if err != nil {
		return nil, err
	}
	machine, err := proc.MachineBusySeconds()
	if err != nil {
		return nil, err
	}
	return &phase{o: o, broker: broker, client: client, machine: machine, start: time.Now()}, nil
}

// fail counts an error; the text of the first one goes into the report.
func (p *phase) fail(err error) {
	p.fails.Add(1)
	s := err.Error()
	p.first.CompareAndSwap(nil, &s)
}

// end stops the clock and writes the phase's line to w. Publish and endToEnd may be nil.
func (p *phase) end(w io.Writer, name string, publish, endToEnd *histogram.Histogram) error {
	seconds := time.Since(p.start).Seconds()
	broker, err := proc.Of(p.o.brokers...)
	if err != nil {
		return err
	}
	client, err := proc.Of(os.Getpid())
	if err != nil {
		return err
	}
	machine, err := proc.MachineBusySeconds()
	if err != nil {
		return err
	}
	used, own := broker.Since(p.broker), client.Since(p.client)
	n := p.done.Load()
	r := result.Phase{
		Label: p.o.label, Phase: name, Topics: p.o.topics, Partitions: p.o.partitions, Size: p.o.size, Acks: p.o.acks,
		Compression: p.o.compression, Idempotent: p.o.idempotent, Rate: p.o.rate,
		Records: n, Errors: p.fails.Load(), Seconds: round(seconds, 3), RecordsPerS: round(float64(n)/seconds, 0),
		BrokerCPUS: round(used.CPUSeconds(), 2), BrokerUserS: round(used.UserSeconds, 2), BrokerSysS: round(used.SysSeconds, 2),
		BrokerRSSMiB: round(used.RSSMiB, 1), BrokerPeakMiB: round(used.PeakMiB, 1),
		ClientCPUS: round(own.CPUSeconds(), 2),
		OtherCPUS:  round(max(machine-p.machine-used.CPUSeconds()-own.CPUSeconds(), 0), 2),
	}
	r.MBPerS = round(r.GB()*1000/seconds, 2)
	if gb := r.GB(); gb > 0 {
		r.BrokerCPUGB = round(used.CPUSeconds()/gb, 3)
	}
	if s := p.first.Load(); s != nil {
		r.FirstError = *s
	}
	if publish != nil {
		r.LatencyMs = publish.Millis()
	}
	if endToEnd != nil {
		r.E2EMs = endToEnd.Millis()
	}
	return json.NewEncoder(w).Encode(r)
}

func round(v float64, places int) float64 {
	scale := math.Pow10(places)
	return math.Round(v*scale) / scale
}
