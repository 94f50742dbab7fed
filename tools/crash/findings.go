package main

import (
	"slices"
	"sync"
	"time"

	"millrace/tools/crash/history"
)

// findings collects violations from all goroutines of a run.
type findings struct {
	mu  sync.Mutex
	all []history.Violation
}

func (f *findings) add(vs ...history.Violation) {
	f.mu.Lock()
	f.all = append(f.all, vs...)
	f.mu.Unlock()
}

func (f *findings) list() []history.Violation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all)
}

// restarts are the times from the start of the process until it served.
type restarts []time.Duration

func (r restarts) median() time.Duration {
	if len(r) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(r))
	return s[len(s)/2]
}

func (r restarts) max() time.Duration {
	if len(r) == 0 {
		return 0
	}
	return slices.Max(r)
}
