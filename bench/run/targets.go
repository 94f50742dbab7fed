package main

import (
	"fmt"
	"io"
)

// verdict is a target with what was measured.
type verdict struct {
	target string
	have   string
	met    bool
}

// target compares a median of a contender, in every case of a scenario's phase, with a
// multiple of another median, or with a bound.
type target struct {
	scenario, phase string
	figure          func(row) float64
	name, unit      string
	atLeast         bool
	factor          float64
	// than is who is compared with in the same case. Nobody: factor is the bound itself.
	than string
	// who is whom the target is for; empty is Millrace as it comes.
	who string
	// only picks cases; nil is all of them.
	only func(cell) bool
	// against changes the case that is compared with, e.g. to that of one topic; may be nil.
	against func(cell) cell
	// limitOf names a contender that shows what the client can do: whoever reaches
	// clientShare of its figure meets the target, too. Empty: nobody.
	limitOf string
}

// clientShare is how near to the client's own limit counts as having reached it.
const clientShare = 0.97

// judge evaluates every target in every case that this run has figures for.
func (r *rows) judge(targets []target) []verdict {
	var out []verdict
	for _, t := range targets {
		if t.who == "" {
			t.who = ours
		}
		cells := r.cells(func(x row) bool { return x.Scenario == t.scenario && x.Phase.Phase == t.phase && x.Peer == t.who })
		for _, c := range cells {
			if t.only != nil && !t.only(c) {
				continue
			}
			if v, ok := r.compare(t, c); ok {
				out = append(out, v)
			}
		}
	}
	return out
}

// compare evaluates one target in one case; ok is false if either side was not measured.
func (r *rows) compare(t target, c cell) (v verdict, ok bool) {
	have, ok := r.spread(c, t.figure)
	if !ok {
		return verdict{}, false
	}
	word := "at most"
	if t.atLeast {
		word = "at least"
	}
	name := fmt.Sprintf("%s, %s", t.name, caseText(c.partitions, c.setting))
	if t.than == "" {
		return verdict{
			target: fmt.Sprintf("%s: %s %.2f %s", name, word, t.factor, t.unit),
			have:   fmt.Sprintf("%.2f", have.median), met: t.met(have.median, t.factor),
		}, true
	}
	reference := c.with(t.than)
	if t.against != nil {
		reference = t.against(reference)
	}
	other, ok := r.spread(reference, t.figure)
	if !ok || reference == c {
		return verdict{}, false
	}
	than := t.than + "'s"
	if t.against != nil {
		than = fmt.Sprintf("%s's of %s, %s", t.than, caseText(reference.partitions, reference.setting), reference.phase)
	}
	v = verdict{
		target: fmt.Sprintf("%s: %s %.2f x %s %s (%.2f)", name, word, t.factor, than, t.unit, other.median),
		have:   fmt.Sprintf("%.2f, %.2f x", have.median, have.median/max(other.median, 1e-9)),
		met:    t.met(have.median, t.factor*other.median),
	}
	if limit, ok := r.spread(c.with(t.limitOf), t.figure); ok && t.limitOf != "" {
		v.target += fmt.Sprintf(" or the client's limit (%s: %.2f)", t.limitOf, limit.median)
		v.met = v.met || t.met(have.median, clientShare*limit.median)
	}
	return v, true
}

func (t target) met(have, bound float64) bool {
	if t.atLeast {
		return have >= bound
	}
	return have <= bound
}

// printVerdicts writes a line for each target and returns how many are missed.
func printVerdicts(w io.Writer, verdicts []verdict) (missed int) {
	for _, v := range verdicts {
		word := "met"
		if !v.met {
			word = "MISSED"
			missed++
		}
		fmt.Fprintf(w, "target %s: have %s: %s\n", v.target, v.have, word)
	}
	return missed
}
