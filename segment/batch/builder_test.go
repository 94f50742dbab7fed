package batch

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// What goes into a Builder comes out of ForEach, in every codec.
func TestBuilderRoundTrip(t *testing.T) {
	type record struct {
		ts         int64
		key, value []byte
		headers    []Header
	}
	nullable := rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOfN(rapid.Byte(), 0, 300))
	rapid.Check(t, func(t *rapid.T) {
		w := NewBuilder()
		w.Codec = Codec(rapid.IntRange(0, 4).Draw(t, "codec"))
		w.BaseOffset = rapid.Int64Range(0, math.MaxInt64).Draw(t, "base offset")
		if rapid.Bool().Draw(t, "idempotent") {
			w.ProducerID, w.ProducerEpoch = rapid.Int64Range(0, math.MaxInt64).Draw(t, "id"), rapid.Int16Range(0, math.MaxInt16).Draw(t, "epoch")
			w.BaseSequence = rapid.Int32Range(0, math.MaxInt32).Draw(t, "seq")
			w.Transactional = rapid.Bool().Draw(t, "transactional")
		}
		want := make([]record, rapid.IntRange(1, 20).Draw(t, "n"))
		maxTs := int64(math.MinInt64)
		for i := range want {
			r := &want[i]
			r.ts = rapid.Int64Range(-1, 1<<42).Draw(t, "ts")
			r.key, r.value = nullable.Draw(t, "key"), nullable.Draw(t, "value")
			for range rapid.IntRange(0, 3).Draw(t, "headers") {
				r.headers = append(r.headers, Header{rapid.String().Draw(t, "name"), nullable.Draw(t, "header")})
			}
			maxTs = max(maxTs, r.ts)
			w.Add(r.ts, r.key, r.value, r.headers...)
		}
		b, err := w.Build([]byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		if b.BaseOffset() != w.BaseOffset || b.MaxTimestamp() != maxTs || b.ProducerID() != w.ProducerID ||
			b.ProducerEpoch() != w.ProducerEpoch || b.BaseSequence() != w.BaseSequence || b.IsTransactional() != w.Transactional {
			t.Errorf("header %x", b[:HeaderSize])
		}
		b.SetBaseOffset(0)
		if err := Validate(b, Limits{}); err != nil {
			t.Error(err)
		}
		if _, err := ValidateRecords(b, anyTime); err != nil {
			t.Error(err)
		}
		same := func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
		i := 0
		err = ForEach(b, testLimit, func(r *Record) error {
			x := want[i]
			h, err := r.Headers(nil)
			if err != nil || len(h) != len(x.headers) {
				t.Fatalf("record %d: headers %v, %v", i, h, err)
			}
			for j := range h {
				if h[j].Key != x.headers[j].Key || !same(h[j].Value, x.headers[j].Value) {
					t.Errorf("record %d: header %v, want %v", i, h[j], x.headers[j])
				}
			}
			if b.BaseTimestamp()+r.TimestampDelta != x.ts || !same(r.Key, x.key) || !same(r.Value, x.value) {
				t.Errorf("record %d: %v, want %v", i, r, x)
			}
			i++
			return nil
		})
		if err != nil || i != len(want) {
			t.Errorf("%d records, %v", i, err)
		}
	})
}

func TestBuilderOfNothing(t *testing.T) {
	if _, err := NewBuilder().Build(nil); err == nil {
		t.Error("a batch without records was built")
	}
}

func TestSequencesWrap(t *testing.T) {
	for _, c := range []struct{ seq, n, want int32 }{
		{0, 0, 0}, {5, 3, 8}, {math.MaxInt32, 0, math.MaxInt32}, {math.MaxInt32, 1, 0},
		{math.MaxInt32 - 1, 4, 2}, {math.MaxInt32, math.MaxInt32, math.MaxInt32 - 1},
	} {
		if got := IncrementSequence(c.seq, c.n); got != c.want {
			t.Errorf("IncrementSequence(%d, %d) = %d, want %d", c.seq, c.n, got, c.want)
		}
	}
}
