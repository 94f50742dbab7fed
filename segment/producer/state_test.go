package producer

import (
	"errors"
	"math"
	"testing"

	"millrace/segment/batch"

	"pgregory.net/rapid"
)

// data is a batch of n records.
func data(t testing.TB, id int64, epoch int16, seq int32, n int, change ...func(*batch.Builder)) batch.Batch {
	t.Helper()
	w := batch.NewBuilder()
	w.ProducerID, w.ProducerEpoch, w.BaseSequence = id, epoch, seq
	for _, f := range change {
		f(w)
	}
	for i := 0; i < n; i++ {
		w.Add(1000+int64(i), nil, []byte("v"))
	}
	b, err := w.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func transactional(w *batch.Builder) { w.Transactional = true }

// endTxn is the marker that ends a transaction.
func endTxn(t testing.TB, id int64, epoch int16, kind byte, coordinatorEpoch byte) batch.Batch {
	t.Helper()
	w := batch.NewBuilder()
	w.ProducerID, w.ProducerEpoch, w.Transactional, w.Control = id, epoch, true, true
	w.Add(1, []byte{0, 0, 0, kind}, []byte{0, 0, 0, 0, 0, coordinatorEpoch})
	b, err := w.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// log is a state with the offsets of its log.
type log struct {
	*State
	end int64
	now int64
}

func newLog() *log { return &log{State: New(1000)} }

func (l *log) append(b batch.Batch) {
	l.Update(b, l.end, l.now)
	l.end += int64(b.LastOffsetDelta()) + 1
}

// The transcript of a session with Apache Kafka 4.4, with its answers.
func TestAnswersAsKafkaDoes(t *testing.T) {
	const ok, outOfOrder, oldEpoch = 0, 45, 47
	l := newLog()
	for i, c := range []struct {
		id     int64
		epoch  int16
		seq    int32
		n      int
		code   int
		base   int64 // of the answer
		repeat bool
		why    string
	}{
		{1, 0, 50, 3, ok, 0, false, "unknown producer may start anywhere"},
		{1, 0, 50, 3, ok, 0, true, "repeat"},
		{1, 0, 50, 2, outOfOrder, 0, false, "part of a batch"},
		{1, 0, 52, 2, outOfOrder, 0, false, "half-overlap"},
		{1, 0, 54, 1, outOfOrder, 0, false, "gap"},
		{1, 0, 53, 1, ok, 3, false, ""},
		{1, 0, 54, 1, ok, 4, false, ""},
		{1, 0, 55, 1, ok, 5, false, ""},
		{1, 0, 56, 1, ok, 6, false, ""},
		{1, 0, 57, 1, ok, 7, false, ""},
		{1, 0, 50, 3, outOfOrder, 0, false, "6th-last batch"},
		{1, 0, 53, 1, ok, 3, true, "5th-last batch"},
		{1, 1, 58, 1, outOfOrder, 0, false, "new epoch does not start at 0"},
		{1, 1, 0, 1, ok, 8, false, "new epoch"},
		{1, 0, 58, 1, oldEpoch, 0, false, "old epoch"},
		{1, 0, 57, 1, oldEpoch, 0, false, "repeat in an old epoch"},
		{2, 0, math.MaxInt32 - 1, 2, ok, 9, false, "up to the last sequence"},
		{2, 0, 0, 1, ok, 11, false, "0 follows 2^31-1"},
		{3, 0, math.MaxInt32 - 1, 5, ok, 12, false, "batch across the wrap"},
		{3, 0, math.MaxInt32 - 1, 5, ok, 12, true, "its repeat"},
		{3, 0, 3, 1, ok, 17, false, "what follows it"},
	} {
		b := data(t, c.id, c.epoch, c.seq, c.n)
		dup, err := l.Check(b)
		code := ok
		switch {
		case errors.Is(err, ErrOutOfOrderSequence):
			code = outOfOrder
		case errors.Is(err, ErrInvalidProducerEpoch):
			code = oldEpoch
		case err != nil:
			t.Fatal(err)
		}
		if code != c.code || (dup != nil) != c.repeat {
			t.Fatalf("line %d (%s): %d, duplicate %v; want %d, %v", i, c.why, code, dup != nil, c.code, c.repeat)
		}
		base := l.end
		if dup != nil {
			base = dup.BaseOffset
			if dup.TimestampMs != b.MaxTimestamp() || dup.LastOffset != base+int64(c.n)-1 {
				t.Errorf("line %d: %+v", i, *dup)
			}
		}
		if code != ok {
			continue
		}
		if base != c.base {
			t.Errorf("line %d (%s): base offset %d, want %d", i, c.why, base, c.base)
		}
		if dup == nil {
			l.append(b)
		}
	}
}

func TestBatchWithoutProducerLeavesNoTrace(t *testing.T) {
	l := newLog()
	b := data(t, -1, -1, -1, 3)
	if dup, err := l.Check(b); dup != nil || err != nil {
		t.Error(dup, err)
	}
	l.append(b)
	if l.Len() != 0 {
		t.Errorf("%d producers", l.Len())
	}
}

func TestTransactions(t *testing.T) {
	l := newLog()
	unstable := func(want int64) {
		t.Helper()
		if o, ok := l.FirstUnstableOffset(); ok != (want >= 0) || ok && o != want {
			t.Errorf("first unstable offset %d, %v; want %d", o, ok, want)
		}
	}
	unstable(-1)
	l.append(data(t, 9, 0, 0, 4)) // 0 to 3, plain
	l.append(data(t, 1, 0, 0, 2, transactional))
	l.append(data(t, 2, 0, 0, 1, transactional))
	l.append(data(t, 1, 0, 2, 1, transactional))
	unstable(4)
	if _, err := l.Check(data(t, 1, 0, 3, 1)); !errors.Is(err, ErrInvalidTxnState) {
		t.Errorf("plain batch in a transaction: %v", err)
	}
	done, ok := l.Update(endTxn(t, 1, 0, controlAbort, 3), l.end, 0)
	if want := (CompletedTxn{1, 4, 8, true}); !ok || done != want {
		t.Errorf("completed %+v, %v; want %+v", done, ok, want)
	}
	l.end++
	unstable(6)
	if _, err := l.Check(endTxn(t, 1, 0, controlAbort, 2)); !errors.Is(err, ErrCoordinatorFenced) {
		t.Errorf("marker of an old coordinator: %v", err)
	}
	if _, err := l.Check(data(t, 1, 0, 3, 1)); err != nil {
		t.Errorf("plain batch after the transaction: %v", err)
	}
	done, ok = l.Update(endTxn(t, 2, 1, controlCommit, 3), l.end, 0) // with a new epoch, as KIP-890 does
	if want := (CompletedTxn{2, 6, 9, false}); !ok || done != want {
		t.Errorf("completed %+v, %v; want %+v", done, ok, want)
	}
	unstable(-1)
	if _, err := l.Check(endTxn(t, 2, 0, controlCommit, 3)); !errors.Is(err, ErrInvalidProducerEpoch) {
		t.Errorf("marker of an old epoch: %v", err)
	}
	if _, err := l.Check(data(t, 2, 1, 1, 1, transactional)); !errors.Is(err, ErrOutOfOrderSequence) {
		t.Errorf("first batch of the new epoch at sequence 1: %v", err)
	}
	for _, p := range l.Producers() {
		if p.ProducerID == 2 && p != (Info{2, 1, -1, 1, 3, -1}) {
			t.Errorf("%+v", p)
		}
	}
}

func TestDamagedMarkerIsNoMarker(t *testing.T) {
	good := endTxn(t, 1, 0, controlCommit, 0)
	for cut := batch.HeaderSize; cut < len(good)-1; cut++ {
		b := append(batch.Batch(nil), good[:cut]...)
		b[8], b[9], b[10], b[11] = 0, 0, 0, byte(cut-batch.LogOverhead)
		if _, ok := parseMarker(b); ok {
			t.Errorf("marker out of %d of %d bytes", cut, len(good))
		}
	}
}

func TestExpireForgetsTheSilent(t *testing.T) {
	l := newLog()
	for id := int64(1); id <= 3; id++ {
		l.now = id * 100
		l.append(data(t, id, 0, 0, 1))
	}
	l.append(data(t, 4, 0, 0, 1, transactional))
	l.now = 1150
	l.append(data(t, 1, 0, 1, 1))
	l.Expire(1299)
	ids := []int64{}
	for _, p := range l.Producers() {
		ids = append(ids, p.ProducerID)
	}
	if len(ids) != 3 || ids[0] != 3 || ids[1] != 4 || ids[2] != 1 {
		t.Errorf("producers %v, want 3 4 1", ids)
	}
	l.Expire(10000)
	if p := l.Producers(); len(p) != 1 || p[0].ProducerID != 4 {
		t.Errorf("producers %v, want 4, which has a transaction", p)
	}
	if _, err := l.Check(data(t, 1, 0, 77, 1)); err != nil {
		t.Errorf("forgotten producer: %v", err)
	}
}

func TestNumberOfProducersIsBounded(t *testing.T) {
	s := New(1000)
	b := data(t, 0, 0, 0, 1, transactional)
	s.Update(b, 0, 0)
	b = data(t, 0, 0, 0, 1)
	for id := int64(1); id < maxProducers+10; id++ {
		b[46], b[47], b[48], b[49], b[50] = byte(id>>32), byte(id>>24), byte(id>>16), byte(id>>8), byte(id)
		s.Update(b, id, 0)
	}
	if s.Len() != maxProducers {
		t.Errorf("%d producers", s.Len())
	}
	if o, ok := s.FirstUnstableOffset(); !ok || o != 0 {
		t.Error("the open transaction was forgotten")
	}
}

// For any history: what was appended is recognised while it is among the last five
// of its epoch, the next in sequence passes, nothing else does; and a snapshot at
// any time changes none of it.
func TestStateMatchesModel(t *testing.T) {
	type appended struct {
		epoch     int16
		seq, last int32
		base      int64
	}
	rapid.Check(t, func(rt *rapid.T) {
		l := newLog()
		history := map[int64][]appended{}
		rt.Repeat(map[string]func(*rapid.T){
			"produce": func(rt *rapid.T) {
				id := rapid.Int64Range(0, 2).Draw(rt, "id")
				n := rapid.IntRange(1, 3).Draw(rt, "n")
				epoch := rapid.Int16Range(0, 2).Draw(rt, "epoch")
				h := history[id]
				seq := rapid.SampledFrom([]int32{0, 1, 5, math.MaxInt32 - 1}).Draw(rt, "seq")
				if len(h) > 0 && rapid.Bool().Draw(rt, "follow") {
					epoch = h[len(h)-1].epoch
					seq = batch.IncrementSequence(h[len(h)-1].last, 1)
				} else if len(h) > 0 && rapid.Bool().Draw(rt, "again") {
					e := rapid.SampledFrom(h).Draw(rt, "which")
					epoch, seq = e.epoch, e.seq
				}
				b := data(t, id, epoch, seq, n)
				var want *appended
				legal := len(h) == 0
				if !legal {
					newest := h[len(h)-1]
					for i := len(h) - 1; i >= 0 && i >= len(h)-Window && h[i].epoch == newest.epoch; i-- {
						if e := h[i]; want == nil && e.epoch == epoch && e.seq == seq && e.last == b.LastSequence() {
							want = &e
						}
					}
					legal = epoch > newest.epoch && seq == 0 ||
						epoch == newest.epoch && seq == batch.IncrementSequence(newest.last, 1)
				}
				dup, err := l.Check(b)
				if (dup != nil) != (want != nil) || dup != nil && dup.BaseOffset != want.base {
					rt.Fatalf("duplicate %+v, want %+v", dup, want)
				}
				if (err == nil) != (legal || want != nil) {
					rt.Fatalf("error %v, legal %v", err, legal)
				}
				if err == nil && dup == nil {
					history[id] = append(h, appended{epoch, seq, b.LastSequence(), l.end})
					l.append(b)
				}
			},
			"restart": func(rt *rapid.T) {
				s := New(1000)
				if err := s.DecodeSnapshot(l.AppendSnapshot(nil)); err != nil {
					rt.Fatal(err)
				}
				l.State = s
			},
		})
	})
}

func BenchmarkCheckAndUpdate(b *testing.B) {
	s := New(1000)
	d := data(b, 1, 0, 0, 1)
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		seq := uint32(i) & math.MaxInt32
		d[53], d[54], d[55], d[56] = byte(seq>>24), byte(seq>>16), byte(seq>>8), byte(seq)
		if _, err := s.Check(d); err != nil {
			b.Fatal(err)
		}
		s.Update(d, int64(i), int64(i))
	}
}
