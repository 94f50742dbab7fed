package main

import (
	"fmt"
	"io"
)

// The broker that the targets are for, and those that it is compared with.
const (
	ours  = "millrace"
	rival = "kafka"
	floor = "floor"
)

// verdict is a target with what was measured.
type verdict struct {
	target string
	have   string
	met    bool
}

// target compares a median of ours with a multiple of another broker's in the same case.
type target struct {
	scenario, phase string
	figure          func(row) float64
	name, unit      string
	atLeast         bool
	factor          float64
	than            string
}

// targets are what Millrace is to reach as one node, for each number of partitions.
var targets = []target{
	{"short", "produce", mbPerS, "produce, short and warm", "MB/s", true, 1.2, rival},
	{"short", "produce", cpuPerGB, "produce, short and warm", "broker CPU s/GB", false, 0.5, rival},
	{"sustained", "produce", mbPerS, "produce, sustained", "MB/s", true, 2.5, rival},
	{"sustained", "produce", cpuPerGB, "produce, sustained", "broker CPU s/GB", false, 0.25, rival},
	{"short", "consume", mbPerS, "consume", "MB/s", true, 1, rival},
	{"short", "consume", cpuPerGB, "consume", "broker CPU s/GB", false, 1.25, floor},
	{"short", "consume again", mbPerS, "consume again", "MB/s", true, 1, rival},
	{"short", "consume again", cpuPerGB, "consume again", "broker CPU s/GB", false, 1.25, floor},
	{"latency", "e2e", endToEndMs("p50"), "end to end p50", "ms", false, 1, rival},
	{"latency", "e2e", endToEndMs("p99"), "end to end p99", "ms", false, 0.5, rival},
}

// Memory targets are in MB of 10^6 bytes, what the kernel tells in MiB.
const (
	idleTargetMiB      = 60 * 1e6 / (1 << 20)
	aboveSlabTargetMiB = 150 * 1e6 / (1 << 20)
)

// judge evaluates every target that this run has figures for. slabMiB is Millrace's slab
// budget.
func (r *rows) judge(partitions []int, slabMiB float64) []verdict {
	var out []verdict
	for _, t := range targets {
		for _, n := range partitions {
			if t.scenario == "latency" && n != 1 {
				continue
			}
			if v, ok := r.compare(t, n); ok {
				out = append(out, v)
			}
		}
	}
	if idle, ok := r.spread(cell{scenario: "idle", phase: "idle", peer: ours}, rssMiB); ok {
		out = append(out, verdict{"idle RSS under 60 MB", fmt.Sprintf("%.1f MB", idle.median*(1<<20)/1e6), idle.median < idleTargetMiB})
	}
	if most := r.peak(ours); most > 0 {
		out = append(out, verdict{
			fmt.Sprintf("RSS in this run under the slab budget (%.0f MB) plus 150 MB", slabMiB*(1<<20)/1e6),
			fmt.Sprintf("%.1f MB", most*(1<<20)/1e6), most < slabMiB+aboveSlabTargetMiB,
		})
	}
	return out
}

// compare evaluates one target for one number of partitions; ok is false if either side
// was not measured.
func (r *rows) compare(t target, partitions int) (v verdict, ok bool) {
	have, ok1 := r.spread(cell{t.scenario, t.phase, partitions, ours}, t.figure)
	other, ok2 := r.spread(cell{t.scenario, t.phase, partitions, t.than}, t.figure)
	if !ok1 || !ok2 {
		return verdict{}, false
	}
	bound := t.factor * other.median
	word, met := "at most", have.median <= bound
	if t.atLeast {
		word, met = "at least", have.median >= bound
	}
	ratio := have.median / max(other.median, 1e-9)
	return verdict{
		target: fmt.Sprintf("%s, %d partitions: %s %.2f x %s's %s (%.2f)", t.name, partitions, word, t.factor, t.than, t.unit, other.median),
		have:   fmt.Sprintf("%.2f, %.2f x", have.median, ratio),
		met:    met,
	}, true
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
