package broker

import (
	"slices"
	"sync"
	"testing"
)

func TestSerialKeepsTheOrderOfAConnection(t *testing.T) {
	var s serial
	var mu sync.Mutex
	var got []int
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Add(1)
		s.push(func() {
			mu.Lock()
			got = append(got, i)
			mu.Unlock()
			wg.Done()
		})
	}
	wg.Wait()
	if !slices.IsSorted(got) || len(got) != 1000 {
		t.Fatalf("%d functions ran, in order: %v", len(got), slices.IsSorted(got))
	}
}

func TestSerialIsIdleOnlyWhenNothingRuns(t *testing.T) {
	var s serial
	if !s.idle() {
		t.Fatal("not idle before the first push")
	}
	started, finish := make(chan struct{}), make(chan struct{})
	s.push(func() { close(started); <-finish })
	<-started
	if s.idle() {
		t.Fatal("idle while a function runs")
	}
	close(finish)
}
