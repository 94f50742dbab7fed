package coordinator

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"millrace/segment/batch"
)

// log is a Partition whose appends complete when the test says.
type log struct {
	mu      sync.Mutex
	batches []batch.Batch
	waiting []func()
	err     error
}

func (l *log) LeaderEpoch() int32 { return 4 }

func (l *log) Append(b batch.Batch, done func(int64, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b = slices.Clone(b)
	err := l.err
	l.waiting = append(l.waiting, func() {
		if err == nil {
			l.batches = append(l.batches, b)
		}
		done(int64(len(l.batches)), err)
	})
}

func (l *log) ReadAll(f func(batch.Batch) error) error {
	for _, b := range l.batches {
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}

// complete finishes appends until none are left.
func (l *log) complete() {
	for {
		l.mu.Lock()
		w := l.waiting
		l.waiting = nil
		l.mu.Unlock()
		if len(w) == 0 {
			return
		}
		for _, f := range w {
			f()
		}
	}
}

func now() time.Time { return time.UnixMilli(1_700_000_000_000) }

func records(n, size int) []Record {
	out := make([]Record, n)
	for i := range out {
		out[i] = Record{Key: []byte(fmt.Sprint("key", i)), Value: bytes.Repeat([]byte{'x'}, size)}
	}
	return out
}

func TestAppendsThatWaitBecomeOneBatch(t *testing.T) {
	l := &log{}
	w := NewWriter(l, now)
	var order []int
	for i := range 10 {
		w.Append(records(2, 10), func(err error) {
			if err != nil {
				t.Error(err)
			}
			order = append(order, i)
		})
		w.Flush()
	}
	w.Append(nil, func(error) { order = append(order, 10) })
	w.Flush()
	l.complete()
	if !slices.Equal(order, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
		t.Fatalf("callbacks in order %v", order)
	}
	if len(l.batches) != 2 || l.batches[0].Count() != 2 || l.batches[1].Count() != 18 {
		t.Fatalf("%d batches", len(l.batches))
	}
	if b := l.batches[1]; b.LeaderEpoch() != 4 || b.BaseTimestamp() != now().UnixMilli() || b.HasProducer() {
		t.Fatalf("header of %v", b[:batch.HeaderSize])
	}
}

// A48: closed by an upper bound of the bytes, never by an estimate.
func TestBatchesStayBelowTheBound(t *testing.T) {
	l := &log{}
	w := NewWriter(l, now)
	done := 0
	for range 500 {
		w.Append(records(3, 5000), func(err error) {
			if err != nil {
				t.Error(err)
			}
			done++
		})
	}
	w.Flush()
	l.complete()
	total := 0
	for _, b := range l.batches {
		if b.Size() > DefaultMaxBatchBytes+batch.HeaderSize {
			t.Errorf("batch of %d bytes", b.Size())
		}
		if b.Count()%3 != 0 {
			t.Errorf("an append that fits was split: %d records", b.Count())
		}
		total += int(b.Count())
	}
	if done != 500 || total != 1500 || len(l.batches) > 9 {
		t.Fatalf("%d done, %d records in %d batches", done, total, len(l.batches))
	}
}

// A47: larger than any bound, a record travels alone; larger than a batch, an
// append is cut.
func TestLargeRecordsAndAppends(t *testing.T) {
	l := &log{}
	w := NewWriter(l, now)
	var order []string
	note := func(s string) func(error) {
		return func(err error) {
			if err != nil {
				t.Error(err)
			}
			order = append(order, s)
		}
	}
	w.Append(records(1, 10), note("small"))
	w.Append(records(1, 5<<20), note("huge"))
	w.Append(records(3000, 1000), note("many"))
	w.Append(records(1, 10), note("last"))
	w.Flush()
	l.complete()
	if fmt.Sprint(order) != "[small huge many last]" {
		t.Fatalf("order %v", order)
	}
	n := 0
	if err := Load(l, func(key, value []byte) error { n++; return nil }); err != nil || n != 3003 {
		t.Fatalf("loaded %d records, error %v", n, err)
	}
}

func TestFailedBatchFailsItsAppendsAlone(t *testing.T) {
	l := &log{err: errors.New("disk")}
	w := NewWriter(l, now)
	var got []error
	note := func(err error) { got = append(got, err) }
	w.Append(records(3000, 1000), note) // cut: the rest must not be written
	w.Flush()
	l.err = nil
	w.Append(records(1, 1), note)
	l.complete()
	if len(got) != 2 || got[0] == nil || got[1] != nil {
		t.Fatalf("errors %v", got)
	}
	if len(l.batches) != 1 || l.batches[0].Count() != 1 {
		t.Fatalf("%d batches", len(l.batches))
	}
}

func TestClosedWriterFailsWhatIsNotOnItsWay(t *testing.T) {
	l := &log{}
	w := NewWriter(l, now)
	gone := errors.New("gone")
	var got []error
	for range 3 {
		w.Append(records(1, 1), func(err error) { got = append(got, err) })
		w.Flush()
	}
	w.Close(gone)
	l.complete()
	w.Append(records(1, 1), func(err error) { got = append(got, err) })
	w.Flush()
	if fmt.Sprint(got) != "[<nil> gone gone gone]" {
		t.Fatalf("errors %v", got)
	}
}

func TestConcurrentAppendsKeepTheirOrder(t *testing.T) {
	l := &log{}
	w := NewWriter(l, now)
	var mu sync.Mutex
	var queued, called []int
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				id := g*1000 + i
				mu.Lock()
				queued = append(queued, id)
				w.Append(records(1, 1), func(error) { called = append(called, id) })
				mu.Unlock()
				w.Flush()
			}
		})
	}
	stop := make(chan struct{})
	var disk sync.WaitGroup
	disk.Go(func() {
		for {
			l.complete()
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	wg.Wait()
	close(stop)
	disk.Wait()
	l.complete()
	if !slices.Equal(queued, called) {
		t.Fatalf("%d queued, %d called, or in another order", len(queued), len(called))
	}
}

func BenchmarkWriter(b *testing.B) {
	l := &log{}
	w := NewWriter(l, now)
	r := records(1, 60)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		w.Append(r, func(error) {})
		if i%64 == 0 {
			w.Flush()
			l.complete()
			l.batches = nil
		}
	}
}
