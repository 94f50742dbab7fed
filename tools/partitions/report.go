package main

import (
	"fmt"
	"time"
)

// Targets of what an idle partition may cost, for all of them together.
const (
	rssLimit   = 2000 // MB
	filesLimit = 20_000
)

// report prints measurements beside their targets and counts those that were missed.
type report struct{ missed int }

func (r *report) row(what, value, target string, missed bool) {
	switch {
	case missed:
		r.missed++
		target = "MISSED, target " + target
	case target != "":
		target = "target " + target
	}
	fmt.Printf("  %-48s %12s  %s\n", what, value, target)
}

// duration reports a time; a target of 0 is none.
func (r *report) duration(what string, took, target time.Duration) {
	text := ""
	if target > 0 {
		text = target.String()
	}
	r.row(what, took.Round(time.Millisecond).String(), text, target > 0 && took > target)
}

// number reports a number; a target of 0 is none.
func (r *report) number(what string, n, target int, unit string) {
	text := ""
	if target > 0 {
		text = fmt.Sprint(target, unit)
	}
	r.row(what, fmt.Sprint(n, unit), text, target > 0 && n > target)
}
