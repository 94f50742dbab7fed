package batch

import (
	"fmt"
	"testing"
)

// listed is a batch in words: its header, then each record.
func listed(t *testing.T, b Batch) string {
	t.Helper()
	if !b.ValidCRC() {
		t.Errorf("CRC of %x", []byte(b))
	}
	out := fmt.Sprintf("%d-%d seq %d producer %d codec %s max %d", b.BaseOffset(), b.LastOffset(), b.BaseSequence(), b.ProducerID(), b.Codec(), b.MaxTimestamp())
	if b.HasDeleteHorizon() {
		out += fmt.Sprintf(" horizon %d", b.BaseTimestamp())
	}
	n := int32(0)
	err := ForEach(b, 1<<20, func(r *Record) error {
		value := "null"
		if r.Value != nil {
			value = string(r.Value)
		}
		headers, err := r.Headers(nil)
		out += fmt.Sprintf("; %d@%d %s=%s %d", b.BaseOffset()+int64(r.OffsetDelta), b.BaseTimestamp()+r.TimestampDelta, r.Key, value, len(headers))
		n++
		return err
	})
	if err != nil || n != b.Count() {
		t.Errorf("%d records of %d: %v", n, b.Count(), err)
	}
	return out
}

func TestRetainKeepsOffsetsTimesAndCodec(t *testing.T) {
	for _, codec := range []Codec{None, Gzip, Snappy, LZ4, Zstd} {
		w := NewBuilder()
		w.BaseOffset, w.ProducerID, w.ProducerEpoch, w.BaseSequence, w.Codec = 100, 7, 1, 40, codec
		w.Add(1000, []byte("a"), []byte("1"))
		w.Add(3000, []byte("b"), []byte{}, Header{Key: "h"})
		w.Add(2000, []byte("c"), nil)
		b, err := w.Build(nil)
		if err != nil {
			t.Fatal(err)
		}
		head := "100-102 seq 40 producer 7 codec " + codec.String() + " max "
		for _, c := range []struct {
			name    string
			keep    string
			horizon int64
			expires bool
			want    string
		}{
			{"all", "abc", NoTimestamp, false, "same"},
			{"all, and a tombstone among them", "abc", 9000, false, head + "3000 horizon 9000; 100@1000 a=1 0; 101@3000 b= 1; 102@2000 c=null 0"},
			{"the first", "a", 9000, false, head + "1000; 100@1000 a=1 0"},
			{"the last", "c", NoTimestamp, false, head + "2000; 102@2000 c=null 0"},
			{"an empty value is none", "b", 9000, false, head + "3000; 101@3000 b= 1"},
			{"a marker", "b", 9000, true, head + "3000 horizon 9000; 101@3000 b= 1"},
			{"none", "", 9000, true, ""},
		} {
			t.Run(codec.String()+" "+c.name, func(t *testing.T) {
				kept := map[string]bool{}
				for _, k := range c.keep {
					kept[string(k)] = true
				}
				out, n, err := Retain(nil, b, RetainOptions{
					Keep:      func(r *Record) bool { return kept[string(r.Key)] },
					HorizonMs: c.horizon, Expires: c.expires, Level: DefaultLevel, Limit: 1 << 20,
				})
				if err != nil || int(n) != len(c.keep) {
					t.Fatalf("%d kept, %v", n, err)
				}
				switch {
				case c.want == "":
					if out != nil {
						t.Errorf("%x is left", []byte(out))
					}
				case c.want == "same":
					if &out[0] != &b[0] {
						t.Error("not the same batch")
					}
				case listed(t, out) != c.want:
					t.Errorf("got  %s\nwant %s", listed(t, out), c.want)
				}
			})
		}
		if got := listed(t, Empty(nil, b)); got != "100-102 seq 40 producer 7 codec none max 3000" {
			t.Errorf("emptied: %s", got)
		}
	}
	if got := listed(t, Filler(nil, 5, 9, 3)); got != "5-9 seq -1 producer -1 codec none max -1" {
		t.Errorf("filler: %s", got)
	}
}

// A horizon is set once: later passes leave it.
func TestRetainLeavesAHorizon(t *testing.T) {
	w := NewBuilder()
	w.Add(1000, []byte("a"), nil)
	w.Add(1000, []byte("b"), nil)
	b, err := w.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	all := func(*Record) bool { return true }
	first, _, err := Retain(nil, b, RetainOptions{Keep: all, HorizonMs: 5000, Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := Retain(nil, first, RetainOptions{Keep: func(r *Record) bool { return r.OffsetDelta == 1 }, HorizonMs: 8000, Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if got := listed(t, again); got != "0-1 seq -1 producer -1 codec none max 1000 horizon 5000; 1@1000 b=null 0" {
		t.Error(got)
	}
}

func TestRetainRefusesBombsAndDamage(t *testing.T) {
	w := NewBuilder()
	w.Codec = Gzip
	w.Add(0, []byte("k"), make([]byte, 1<<20))
	b, err := w.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	all := func(*Record) bool { return true }
	if _, _, err := Retain(nil, b, RetainOptions{Keep: all, HorizonMs: NoTimestamp, Limit: 1 << 19}); err == nil {
		t.Error("a bomb is unpacked")
	}
	plain := build(t, 3)
	plain = plain[:len(plain)-1]
	plain.finish()
	if _, _, err := Retain(nil, plain, RetainOptions{Keep: all, HorizonMs: NoTimestamp, Limit: 1 << 19}); err == nil {
		t.Error("half a record is taken")
	}
}
