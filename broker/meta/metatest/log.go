// Package metatest is a metadata log in memory that can be told to fail, and a Store
// on it, for the tests of packages that read or change the cluster's state.
package metatest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"millrace/broker/config"
	"millrace/broker/meta"
	"millrace/segment/batch"
)

// ClusterID is the cluster id of Open's Stores.
const ClusterID = "AAAAAAAAAAAAAAAAAAAAAQ"

// Log is a meta.Log in memory. The exported fields are set between commits only.
type Log struct {
	AppendError  error // of every append after AppendsLeft more
	AppendsLeft  int
	DurableError error // of every wait
	Waits        int   // how many waits there were

	mu      sync.Mutex
	batches []batch.Batch
	end     int64
}

// Open makes a Store on an empty Log, with node 1 configured by props.
func Open(t testing.TB, props map[string]string) (*meta.Store, *Log) {
	t.Helper()
	l := &Log{}
	return Reopen(t, l, props), l
}

// Reopen makes a new Store from what l holds, as a restart does.
func Reopen(t testing.TB, l *Log, props map[string]string) *meta.Store {
	t.Helper()
	s, err := meta.OpenOn(l, Config(t, props), ClusterID, meta.Options{})
	if err != nil {
		t.Fatalf("open store: %v", err)
	}
	return s
}

// Config is the configuration of node 1 with props.
func Config(t testing.TB, props map[string]string) *config.Broker {
	t.Helper()
	all := map[string]string{"node.id": "1", "log.dirs": t.TempDir(), "listeners": "PLAINTEXT://127.0.0.1:9092"}
	for k, v := range props {
		all[k] = v
	}
	b, _, err := config.Load(all)
	if err != nil {
		t.Fatalf("load config: %v", err)
	}
	return b
}

// Append implements meta.Log.
func (l *Log) Append(b batch.Batch) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.AppendError != nil {
		if l.AppendsLeft == 0 {
			return 0, l.AppendError
		}
		l.AppendsLeft--
	}
	b = slices.Clone(b)
	b.SetBaseOffset(l.end)
	l.batches = append(l.batches, b)
	l.end = b.NextOffset()
	return b.BaseOffset(), nil
}

// WaitDurable implements meta.Log.
func (l *Log) WaitDurable(int64) error {
	l.Waits++
	return l.DurableError
}

// ReadBatches implements meta.Log.
func (l *Log) ReadBatches(offset, upTo int64, f func(batch.Batch) error) error {
	l.mu.Lock()
	batches := slices.Clone(l.batches)
	l.mu.Unlock()
	for i, b := range batches {
		if len(b) >= batch.HeaderSize && (b.BaseOffset() < offset || b.BaseOffset() >= upTo) {
			continue
		}
		if err := f(b); err != nil {
			return fmt.Errorf("batch %d: %w", i, err)
		}
	}
	return nil
}

// StartOffset implements meta.Log.
func (l *Log) StartOffset() int64 { return 0 }

// EndOffset implements meta.Log.
func (l *Log) EndOffset() int64 { l.mu.Lock(); defer l.mu.Unlock(); return l.end }

// Path implements meta.Log.
func (l *Log) Path() string { return "memory" }

// Batches is the batches in the log, its own: a test may damage them.
func (l *Log) Batches() []batch.Batch { return l.batches }

// Truncate keeps the first n batches, as a crash does that loses the others.
func (l *Log) Truncate(n int) {
	l.batches = l.batches[:n]
	l.end = 0
	if n > 0 {
		l.end = l.batches[n-1].NextOffset()
	}
}
