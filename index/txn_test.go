package index

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestTxnIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "00.txnindex")
	x, err := OpenTxn(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if found, complete, err := x.Collect(nil, 0, 100); len(found) != 0 || complete || err != nil {
		t.Errorf("empty: %v, %v, %v", found, complete, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("an empty index has a file")
	}
	// Two transactions that overlap, then one alone.
	a := AbortedTxn{ProducerID: 1, FirstOffset: 0, LastOffset: 10, LastStableOffset: 5}
	b := AbortedTxn{ProducerID: 2, FirstOffset: 5, LastOffset: 20, LastStableOffset: 21}
	c := AbortedTxn{ProducerID: 1, FirstOffset: 30, LastOffset: 40, LastStableOffset: 41}
	for _, e := range []AbortedTxn{a, b, c} {
		if err := x.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Append(c); err == nil {
		t.Error("the same last offset twice passed")
	}
	if err := x.Sync(); err != nil {
		t.Error(err)
	}
	if x, err = OpenTxn(path, 0); err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct {
		from, to int64
		want     []AbortedTxn
		complete bool
	}{
		{0, 100, []AbortedTxn{a, b, c}, false},
		{0, 20, []AbortedTxn{a, b}, true},
		{11, 21, []AbortedTxn{b}, true},
		{21, 35, []AbortedTxn{c}, true},
		{41, 100, nil, false},
	} {
		found, complete, err := x.Collect(nil, q.from, q.to)
		if !reflect.DeepEqual(found, q.want) || complete != q.complete || err != nil {
			t.Errorf("Collect(%d, %d) = %v, %v, %v; want %v, %v", q.from, q.to, found, complete, err, q.want, q.complete)
		}
	}
	if err := x.Truncate(20); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Size() != 34 || x.Entries() != 1 {
		t.Errorf("after Truncate: %v, %v, %d entries", fi, err, x.Entries())
	}
	if err := x.Append(b); err != nil {
		t.Error(err)
	}
	if err := x.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("file stays when the last entry is gone")
	}
}

func TestOpenTxnChecksTheFile(t *testing.T) {
	e := appendTxn(nil, AbortedTxn{1, 5, 10, 11})
	version := append([]byte{0, 1}, e[2:]...)
	for name, content := range map[string][]byte{
		"torn":          e[:33],
		"version":       version,
		"repeated":      append(append([]byte{}, e...), e...),
		"ends too soon": appendTxn(nil, AbortedTxn{1, 5, 4, 11}),
		"zeros":         make([]byte, 34), // last offset below the base
	} {
		path := filepath.Join(t.TempDir(), "00.txnindex")
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenTxn(path, 3); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
