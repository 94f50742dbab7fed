package rig

import (
	"slices"
	"sync"
	"time"

	"millrace/tools/rig/history"
)

// Findings collects violations from all goroutines of a run.
type Findings struct {
	mu  sync.Mutex
	all []history.Violation
}

// Add notes violations.
func (f *Findings) Add(vs ...history.Violation) {
	f.mu.Lock()
	f.all = append(f.all, vs...)
	f.mu.Unlock()
}

// List is what was noted so far.
func (f *Findings) List() []history.Violation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all)
}

// Restarts are the times from the start of the process until it served.
type Restarts []time.Duration

// Median is the middle one, 0 if there are none.
func (r Restarts) Median() time.Duration {
	if len(r) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(r))
	return s[len(s)/2]
}

// Max is the longest, 0 if there are none.
func (r Restarts) Max() time.Duration {
	if len(r) == 0 {
		return 0
	}
	return slices.Max(r)
}
