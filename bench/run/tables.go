package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// Tables give medians, with the lowest and the highest in parentheses.

// quiet is the share of the machine that others may use before a phase counts as
// disturbed.
const quiet = 0.15

// printDisturbed names the phases that were not measured on a quiet machine.
func (r *rows) printDisturbed(w io.Writer) {
	n := 0
	for _, x := range r.all {
		if !x.Together && x.OtherCPUS > quiet*x.Seconds*float64(runtime.NumCPU()) {
			n++
		}
	}
	if n > 0 {
		fmt.Fprintf(w, "WARNING: in %d of %d phases other processes used more than %.0f %% of the machine; these figures are not to be relied on\n\n", n, len(r.all), 100*quiet)
	}
}

// printNotes tells of phases that had errors or no time to finish.
func (r *rows) printNotes(w io.Writer) {
	any := false
	for _, x := range r.all {
		var what string
		switch {
		case x.Errors > 0:
			what = fmt.Sprintf("%d errors, the first: %s", x.Errors, x.FirstError)
		case x.CutShort && !x.Together:
			what = fmt.Sprintf("cut after %.0f s with %.2f GB, %d batches refused and sent again", x.Seconds, x.GB(), x.Retries)
		case x.Retries > 0:
			what = fmt.Sprintf("%d batches refused and sent again", x.Retries)
		default:
			continue
		}
		any = true
		fmt.Fprintf(w, "%s, %s, %s, round %d, %s: %s\n", x.Scenario, caseText(x.Partitions, x.Setting), x.Phase.Phase, x.Round, x.Peer, what)
	}
	for _, text := range r.notes {
		any = true
		fmt.Fprintln(w, text)
	}
	if any {
		fmt.Fprintln(w)
	}
}

// printThroughput shows the rows that are wanted with their share of the floor's, which
// is that of whom floorOf names.
func (r *rows) printThroughput(w io.Writer, want func(row) bool, floorOf func(peer string) string) {
	cells := r.cells(want)
	if len(cells) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "scenario\tcase\tphase\tbroker\tMB/s\tof floor\tbroker CPU s/GB\tuser\tsys\tof floor\tp50 ms\tp99\tp99.9\tclient CPU s\tRSS MiB")
	for _, c := range cells {
		get := func(f func(row) float64) spread { s, _ := r.spread(c, f); return s }
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%s\t%s\t%s\t%s\t%.1f\t%.0f\n", c.scenario, caseText(c.partitions, c.setting), c.phase, c.peer,
			get(mbPerS).format(0), r.ofFloor(c, floorOf(c.peer), mbPerS), get(cpuPerGB).format(2), get(userPerGB).median, get(sysPerGB).median, r.ofFloor(c, floorOf(c.peer), cpuPerGB),
			millis(get(publishMs("p50"))), millis(get(publishMs("p99"))), millis(get(publishMs("p99.9"))),
			get(func(x row) float64 { return x.ClientCPUS }).median, get(rssMiB).median)
	}
	t.Flush()
	fmt.Fprintln(w)
}

// theFloor is the floor of everyone in suites that have one.
func theFloor(string) string { return floor }

// millis is a latency, or a dash where there is none.
func millis(s spread) string {
	if s.median == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", s.median)
}

// ofFloor is a median as a share of a floor's in the same case.
func (r *rows) ofFloor(c cell, floor string, figure func(row) float64) string {
	return r.share(c, c.with(floor), figure)
}

// share is a median as a share of another case's; a dash if there is none.
func (r *rows) share(c, of cell, figure func(row) float64) string {
	own, _ := r.spread(c, figure)
	its, ok := r.spread(of, figure)
	if !ok || its.median == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", own.median/its.median)
}

func (r *rows) printLatency(w io.Writer, want func(row) bool) {
	cells := r.cells(want)
	if len(cells) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "latency, ms\tcase\tbroker\tp50\tp99\tp99.9\tmax\tbroker CPU s\tuser\tsys\tRSS MiB")
	for _, c := range cells {
		for _, kind := range []struct {
			name string
			ms   func(string) func(row) float64
		}{{"publish", publishMs}, {"end to end", endToEndMs}} {
			median := func(f func(row) float64) float64 { s, _ := r.spread(c, f); return s.median }
			get := func(q string) string {
				s, _ := r.spread(c, kind.ms(q))
				if s.high == 0 {
					return "-"
				}
				return s.format(2)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%.2f\t%.0f\n", kind.name, caseText(c.partitions, c.setting), c.peer,
				get("p50"), get("p99"), get("p99.9"), get("max"), median(cpuSeconds),
				median(func(x row) float64 { return x.BrokerUserS }), median(func(x row) float64 { return x.BrokerSysS }), median(rssMiB))
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

// inScenarios picks rows for a table.
func inScenarios(names ...string) func(row) bool {
	return func(x row) bool { return slices.Contains(names, x.Scenario) }
}

// withCommas writes 10000 as 10,000.
func withCommas(n int) string {
	s := fmt.Sprint(n)
	var parts []string
	for len(s) > 3 {
		parts = append([]string{s[len(s)-3:]}, parts...)
		s = s[:len(s)-3]
	}
	return strings.Join(append([]string{s}, parts...), ",")
}
