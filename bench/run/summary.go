package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
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

// cell is what the rows of one case agree in.
type cell struct {
	scenario, phase string
	partitions      int
	peer            string
}

// of picks the rows of a case.
func (r *rows) of(c cell) []row {
	var out []row
	for _, x := range r.all {
		if x.Scenario == c.scenario && x.Phase.Phase == c.phase && x.Partitions == c.partitions && x.Peer == c.peer {
			out = append(out, x)
		}
	}
	return out
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
func mbPerS(x row) float64    { return x.MBPerS }
func cpuPerGB(x row) float64  { return x.BrokerCPUGB }
func userPerGB(x row) float64 { return x.BrokerUserS / max(x.GB(), 1e-9) }
func sysPerGB(x row) float64  { return x.BrokerSysS / max(x.GB(), 1e-9) }
func rssMiB(x row) float64    { return x.BrokerRSSMiB }
func peakMiB(x row) float64   { return x.BrokerPeakMiB }

func publishMs(q string) func(row) float64  { return func(x row) float64 { return x.LatencyMs[q] } }
func endToEndMs(q string) func(row) float64 { return func(x row) float64 { return x.E2EMs[q] } }

// print writes the tables: medians, with the lowest and the highest in parentheses.
func (r *rows) print(w io.Writer) {
	r.printThroughput(w)
	r.printLatency(w)
	r.printMemory(w)
	r.printDisturbed(w)
}

// quiet is the share of the machine that others may use before a phase counts as
// disturbed.
const quiet = 0.15

// printDisturbed names the phases that were not measured on a quiet machine.
func (r *rows) printDisturbed(w io.Writer) {
	n := 0
	for _, x := range r.all {
		if x.OtherCPUS > quiet*x.Seconds*float64(runtime.NumCPU()) {
			n++
		}
	}
	if n > 0 {
		fmt.Fprintf(w, "WARNING: in %d of %d phases other processes used more than %.0f %% of the machine; these figures are not to be relied on\n\n", n, len(r.all), 100*quiet)
	}
}

// cells are the cases that have rows, in the order in which they first came.
func (r *rows) cells(want func(row) bool) []cell {
	var out []cell
	for _, x := range r.all {
		c := cell{x.Scenario, x.Phase.Phase, x.Partitions, x.Peer}
		if want(x) && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b cell) int { // phases together, brokers under each other
		return cmpIndex(r, a) - cmpIndex(r, b)
	})
	return out
}

// cmpIndex is the position of the first row of a case's scenario, partitions and phase.
func cmpIndex(r *rows, c cell) int {
	return slices.IndexFunc(r.all, func(x row) bool {
		return x.Scenario == c.scenario && x.Partitions == c.partitions && x.Phase.Phase == c.phase
	})
}

func (r *rows) printThroughput(w io.Writer) {
	cells := r.cells(func(x row) bool { return x.Scenario == "short" || x.Scenario == "sustained" })
	if len(cells) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "scenario\tpartitions\tphase\tbroker\tMB/s\tof floor\tbroker CPU s/GB\tuser\tsys\tof floor\tp50 ms\tp99\tp99.9\tRSS MiB")
	for _, c := range cells {
		get := func(f func(row) float64) spread { s, _ := r.spread(c, f); return s }
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%s\t%s\t%s\t%s\t%.0f\n", c.scenario, c.partitions, c.phase, c.peer,
			get(mbPerS).format(0), r.ofFloor(c, mbPerS), get(cpuPerGB).format(2), get(userPerGB).median, get(sysPerGB).median, r.ofFloor(c, cpuPerGB),
			millis(get(publishMs("p50"))), millis(get(publishMs("p99"))), millis(get(publishMs("p99.9"))), get(rssMiB).median)
	}
	t.Flush()
	fmt.Fprintln(w)
}

// millis is a latency, or a dash where there is none.
func millis(s spread) string {
	if s.median == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", s.median)
}

// ofFloor is a median as a share of the floor's in the same case.
func (r *rows) ofFloor(c cell, figure func(row) float64) string {
	own, _ := r.spread(c, figure)
	c.peer = "floor"
	floor, ok := r.spread(c, figure)
	if !ok || floor.median == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", own.median/floor.median)
}

func (r *rows) printLatency(w io.Writer) {
	cells := r.cells(func(x row) bool { return x.Scenario == "latency" })
	if len(cells) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "latency, ms\tbroker\tp50\tp99\tp99.9\tmax\tbroker CPU s")
	for _, c := range cells {
		for _, kind := range []struct {
			name string
			ms   func(string) func(row) float64
		}{{"publish", publishMs}, {"end to end", endToEndMs}} {
			get := func(q string) string { s, _ := r.spread(c, kind.ms(q)); return s.format(2) }
			cpu, _ := r.spread(c, func(x row) float64 { return x.BrokerCPUS })
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%.2f\n", kind.name, c.peer, get("p50"), get("p99"), get("p99.9"), get("max"), cpu.median)
		}
	}
	t.Flush()
	fmt.Fprintln(w)
}

func (r *rows) printMemory(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "memory, MiB\tidle after start\tmost in this run")
	var seen []string
	for _, x := range r.all {
		if slices.Contains(seen, x.Peer) {
			continue
		}
		seen = append(seen, x.Peer)
		idle, ok := r.spread(cell{scenario: "idle", phase: "idle", peer: x.Peer}, rssMiB)
		text := "-"
		if ok {
			text = idle.format(0)
		}
		fmt.Fprintf(t, "%s\t%s\t%.0f\n", x.Peer, text, r.peak(x.Peer))
	}
	t.Flush()
	fmt.Fprintln(w)
}

// peak is the most memory a broker ever had in the run.
func (r *rows) peak(peer string) float64 {
	most := 0.0
	for _, x := range r.all {
		if x.Peer == peer {
			most = max(most, peakMiB(x))
		}
	}
	return most
}
