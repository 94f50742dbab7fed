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
)

// report is one line of output.
type report struct {
	Label       string             `json:"label,omitempty"`
	Phase       string             `json:"phase"`
	Topics      int                `json:"topics"`
	Partitions  int                `json:"partitions"`
	Size        int                `json:"size"`
	Acks        string             `json:"acks"`
	Compression string             `json:"compression"`
	Idempotent  bool               `json:"idempotent"`
	Rate        float64            `json:"rate"`
	Records     int64              `json:"records"`
	Errors      int64              `json:"errors"`
	FirstError  string             `json:"first_error,omitempty"`
	Seconds     float64            `json:"seconds"`
	RecordsPerS float64            `json:"records_per_s"`
	MBPerS      float64            `json:"mb_per_s"`
	LatencyMs   map[string]float64 `json:"latency_ms,omitempty"`
	E2EMs       map[string]float64 `json:"e2e_ms,omitempty"`

	BrokerCPUS    float64 `json:"broker_cpu_s"`
	BrokerUserS   float64 `json:"broker_user_s"`
	BrokerSysS    float64 `json:"broker_sys_s"`
	BrokerCPUGB   float64 `json:"broker_cpu_s_per_gb"`
	BrokerRSSMiB  float64 `json:"broker_rss_mib"`
	BrokerPeakMiB float64 `json:"broker_peak_rss_mib"`
	ClientCPUS    float64 `json:"client_cpu_s"`
}

// phase accounts for one measured stretch. Any goroutine may add to done and fail;
// begin and end belong to the one that runs the phase.
type phase struct {
	o      *options
	start  time.Time
	broker proc.Usage
	client proc.Usage

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
	return &phase{o: o, broker: broker, client: client, start: time.Now()}, nil
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
	used := broker.Since(p.broker)
	n := p.done.Load()
	gb := float64(n) * float64(p.o.size) / 1e9
	r := report{
		Label: p.o.label, Phase: name, Topics: p.o.topics, Partitions: p.o.partitions, Size: p.o.size, Acks: p.o.acks,
		Compression: p.o.compression, Idempotent: p.o.idempotent, Rate: p.o.rate,
		Records: n, Errors: p.fails.Load(), Seconds: round(seconds, 3), RecordsPerS: round(float64(n)/seconds, 0), MBPerS: round(gb*1000/seconds, 2),
		BrokerCPUS: round(used.CPUSeconds(), 2), BrokerUserS: round(used.UserSeconds, 2), BrokerSysS: round(used.SysSeconds, 2),
		BrokerRSSMiB: round(used.RSSMiB, 1), BrokerPeakMiB: round(used.PeakMiB, 1),
		ClientCPUS: round(client.Since(p.client).CPUSeconds(), 2),
	}
	if gb > 0 {
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
