package main

import (
	"fmt"
	"strings"
	"sync"
)

// report prints and counts cells. Safe for several goroutines.
type report struct {
	mu             sync.Mutex
	passed, failed int
}

// cell prints one result; a nil error passes.
func (r *report) cell(name, detail string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.passed++
		fmt.Printf("ok    %-46s %s\n", name, detail)
		return
	}
	r.failed++
	fmt.Printf("FAIL  %-46s %s\n      %s\n", name, detail, strings.ReplaceAll(err.Error(), "\n", "\n      "))
}

func (r *report) failures() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// close prints what clients cannot express, and the sum.
func (r *report) close(clients []client) {
	for _, c := range clients {
		for _, limit := range c.limits {
			fmt.Printf("limit %s: %s\n", c.name, limit.reason)
		}
	}
	fmt.Printf("%d passed, %d failed\n", r.passed, r.failed)
}
