package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// figure is one of the things that must not grow, with its limit: a later median may exceed an earlier one by the factor
// and, on top of that, by slack. The slack is for what a small figure varies by from one third of a minute to the next;
// what grows without bound passes both sooner or later, and in an hour sooner.
type figure struct {
	name   string
	of     func(sample) int64
	factor float64
	slack  int64
}

var figures = []figure{
	{"resident bytes", func(s sample) int64 { return s.rssBytes }, 1.15, 16 << 20},
	{"open files", func(s sample) int64 { return s.files }, 1.10, 20},
	{"memory maps", func(s sample) int64 { return s.maps }, 1.10, 30},
	{"goroutines", func(s sample) int64 { return s.goroutines }, 1.10, 10},
}

// entries is judged over the whole run: the data dir outlives the process.
var entries = figure{"entries of the data dir", func(s sample) int64 { return s.entries }, 1.15, 60}

func (f figure) exceeds(early, late int64) bool {
	return late > int64(float64(early)*f.factor)+f.slack
}

// median of a figure, 0 without samples.
func (f figure) median(samples []sample) int64 {
	if len(samples) == 0 {
		return 0
	}
	values := make([]int64, len(samples))
	for i, s := range samples {
		values[i] = f.of(s)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// grows compares the first and the last third of the samples, after warm-up.
func (f figure) grows(samples []sample) (early, late int64, err error) {
	samples = warm(samples)
	third := len(samples) / 3
	if third < minThird {
		return 0, 0, fmt.Errorf("%s: %d samples after warm-up are too few to judge", f.name, len(samples))
	}
	early, late = f.median(samples[:third]), f.median(samples[len(samples)-third:])
	if f.exceeds(early, late) {
		err = fmt.Errorf("%s grow: median of the first third %d, of the last %d", f.name, early, late)
	}
	return early, late, err
}

// minThird is the fewest samples in a third that say anything.
const minThird = 5

// warm leaves the first quarter out.
func warm(samples []sample) []sample { return samples[len(samples)/4:] }

// judge holds the long lives, each by itself and the last against the first, and the whole run to the limits, and
// prints the figures.
func judge(all []sample, long []int, out io.Writer) error {
	byLife := map[int][]sample{}
	for _, s := range all {
		byLife[s.life] = append(byLife[s.life], s)
	}
	var errs []error
	for _, f := range figures {
		for _, i := range long {
			early, late, err := f.grows(byLife[i])
			if err != nil {
				errs = append(errs, fmt.Errorf("in life %d: %w", i, err))
			}
			fmt.Fprintf(out, "%s, life %d: median of the first third %d, of the last %d\n", f.name, i, early, late)
		}
		first, last := byLife[long[0]], byLife[long[len(long)-1]]
		if a, b := f.median(warm(first)), f.median(warm(last)); f.exceeds(a, b) {
			errs = append(errs, fmt.Errorf("%s grow from life to life: median of the first long one %d, of the last %d", f.name, a, b))
		}
	}
	early, late, err := entries.grows(all)
	fmt.Fprintf(out, "%s, whole run: median of the first third %d, of the last %d\n", entries.name, early, late)
	return errors.Join(append(errs, err)...)
}
