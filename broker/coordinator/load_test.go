package coordinator

import (
	"fmt"
	"testing"

	"millrace/segment/batch"
)

func (l *log) add(t *testing.T, change func(*batch.Builder), pairs ...string) {
	t.Helper()
	w := batch.NewBuilder()
	change(w)
	for i := 0; i < len(pairs); i += 2 {
		value := []byte(pairs[i+1])
		if pairs[i+1] == "-" {
			value = nil
		}
		w.Add(1, []byte(pairs[i]), value)
	}
	b, err := w.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	l.batches = append(l.batches, b)
}

func plain(*batch.Builder) {}

func transaction(id int64) func(*batch.Builder) {
	return func(w *batch.Builder) {
		w.ProducerID, w.ProducerEpoch, w.BaseSequence, w.Transactional = id, 0, 0, true
	}
}

func marker(id int64) func(*batch.Builder) {
	return func(w *batch.Builder) { w.ProducerID, w.ProducerEpoch, w.Transactional, w.Control = id, 0, true, true }
}

const commit, abort = "\x00\x00\x00\x01", "\x00\x00\x00\x00"

func TestLoadGivesWhatIsInEffectInOrder(t *testing.T) {
	l := &log{}
	l.add(t, plain, "a", "1", "b", "1")
	l.add(t, transaction(7), "a", "7")
	l.add(t, transaction(8), "b", "8")
	l.add(t, plain, "a", "2", "b", "-")
	l.add(t, marker(7), commit, "x")
	l.add(t, marker(8), abort, "x")
	l.add(t, transaction(9), "a", "9")
	l.add(t, func(w *batch.Builder) { w.Codec = batch.Zstd }, "c", "z")
	var got []string
	err := Load(l, func(key, value []byte) error {
		if value == nil {
			value = []byte("-")
		}
		got = append(got, string(key)+"="+string(value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(got); s != "[a=1 b=1 a=2 b=- a=7 c=z]" {
		t.Fatalf("loaded %s", s)
	}
}

func FuzzLoad(f *testing.F) {
	l := &log{}
	var t testing.T
	l.add(&t, plain, "a", "1", "b", "-")
	l.add(&t, marker(7), commit, "x")
	for _, b := range l.batches {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < batch.HeaderSize || batch.Batch(b).Size() != len(b) {
			return // the log hands out whole batches
		}
		_ = Load(&log{batches: []batch.Batch{b}}, func(key, value []byte) error { return nil })
	})
}
