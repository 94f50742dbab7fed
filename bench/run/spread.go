package main

import (
	"fmt"
	"slices"
)

// spread is the median, the lowest and the highest of some values.
type spread struct{ median, low, high float64 }

// spreadOf is the spread of values; all zero if there are none.
func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	s := slices.Sorted(slices.Values(values))
	m := s[len(s)/2]
	if len(s)%2 == 0 {
		m = (s[len(s)/2-1] + m) / 2
	}
	return spread{m, s[0], s[len(s)-1]}
}

func (s spread) format(places int) string {
	if s.low == s.high {
		return fmt.Sprintf("%.*f", places, s.median)
	}
	return fmt.Sprintf("%.*f (%.*f-%.*f)", places, s.median, places, s.low, places, s.high)
}

// spread is that of one figure over the rows of a case; ok is false if there are none.
func (r *rows) spread(c cell, figure func(row) float64) (s spread, ok bool) {
	var values []float64
	for _, x := range r.of(c) {
		values = append(values, figure(x))
	}
	return spreadOf(values), len(values) > 0
}

// The figures that tables and targets are made of.
func mbPerS(x row) float64     { return x.MBPerS }
func cpuPerGB(x row) float64   { return x.BrokerCPUGB }
func cpuSeconds(x row) float64 { return x.BrokerCPUS }
func userPerGB(x row) float64  { return x.BrokerUserS / max(x.GB(), 1e-9) }
func sysPerGB(x row) float64   { return x.BrokerSysS / max(x.GB(), 1e-9) }
func rssMiB(x row) float64     { return x.BrokerRSSMiB }
func peakMiB(x row) float64    { return x.BrokerPeakMiB }

func publishMs(q string) func(row) float64  { return func(x row) float64 { return x.LatencyMs[q] } }
func endToEndMs(q string) func(row) float64 { return func(x row) float64 { return x.E2EMs[q] } }
