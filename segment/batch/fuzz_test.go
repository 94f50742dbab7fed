package batch

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

func addSeeds(f *testing.F) {
	for _, b := range readClients(f) {
		x := append(Batch(nil), b...)
		x.SetBaseOffset(0)
		f.Add([]byte(x))
	}
	f.Add([]byte(build(f, 2)))
	f.Add(make([]byte, 100))
}

// withCRC is b with length and CRC made right, so that the fuzzer gets past them.
func withCRC(b []byte) Batch {
	if len(b) < HeaderSize {
		return nil
	}
	x := append(Batch(nil), b...)
	x.finish()
	return x
}

// What Validate and ValidateRecords let pass can be read whole, by the header's
// count, and decoding it again after building it anew gives the same.
func FuzzValidate(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = Validate(b, Limits{MaxBytes: 1 << 16})
		for x, err := range All(b) {
			if err == nil {
				_ = x.ValidCRC()
			}
		}
		x := withCRC(b)
		if x == nil || Validate(x, Limits{}) != nil {
			return
		}
		o := anyTime
		o.BeforeMaxMs, o.NowMs = math.MaxInt64-1, math.MaxInt64 // walk also what is compressed
		_, err := ValidateRecords(x, o)
		if err != nil && !errors.Is(err, ErrInvalidTimestamp) {
			return
		}
		if !x.ValidCRC() {
			t.Error("CRC is wrong after ValidateRecords")
		}
		n := int32(0)
		err = ForEach(x, testLimit, func(r *Record) error {
			if r.OffsetDelta != n {
				t.Errorf("record %d has offset delta %d", n, r.OffsetDelta)
			}
			n++
			_, err := r.Headers(nil)
			return err
		})
		if err != nil || n != x.Count() {
			t.Errorf("%d of %d records: %v", n, x.Count(), err)
		}
	})
}

func FuzzRecords(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		x := withCRC(b)
		if x == nil {
			return
		}
		w := NewBuilder()
		read := func(r *Record) error {
			h, err := r.Headers(nil)
			if err == nil && r.OffsetDelta == int32(w.Len()) {
				w.Add(r.TimestampDelta, r.Key, r.Value, h...)
			}
			return err
		}
		if err := ForEach(x, testLimit, read); err != nil || w.Len() == 0 || int32(w.Len()) != x.Count() {
			return
		}
		again, err := w.Build(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := Validate(again, Limits{}); err != nil {
			t.Error(err)
		}
		if got, want := dump(t, again), dump(t, x); got != want {
			t.Errorf("built\n%sfrom\n%s", got, want)
		}
	})
}

func FuzzXerial(f *testing.F) {
	f.Add(appendSnappy(nil, []byte("hello hello hello hello")))
	f.Add(appendSnappy(appendSnappy(nil, []byte("one")), bytes.Repeat([]byte("two"), 20000)))
	f.Add([]byte("\x05\x10hello"))
	f.Add(xerialHeader)
	f.Fuzz(func(t *testing.T, b []byte) {
		if buf, err := decompress(Snappy, b, testLimit); err == nil {
			if len(*buf) > testLimit {
				t.Errorf("%d bytes", len(*buf))
			}
			putBuffer(buf)
		}
		buf, err := decompress(Snappy, appendSnappy(nil, b), max(len(b), 1))
		if err != nil || !bytes.Equal(*buf, b) {
			t.Errorf("round trip: %v", err)
		}
	})
}
