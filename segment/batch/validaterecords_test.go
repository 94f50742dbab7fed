package batch

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

const now = 1_700_000_000_000

func TestTimestampLimits(t *testing.T) {
	w := NewBuilder()
	for _, ts := range []int64{now, now - 5000, now + 5000, NoTimestamp, now - 5001, now + 5001} {
		w.Add(ts, []byte("k"), nil)
	}
	for _, codec := range []Codec{None, Gzip, Zstd} {
		w.Codec = codec
		b, err := w.Build(nil)
		if err != nil {
			t.Fatal(err)
		}
		bad, err := ValidateRecords(b, DeepOptions{NowMs: now, BeforeMaxMs: 5000, AfterMaxMs: 5000, MaxDecompressedBytes: testLimit})
		if !errors.Is(err, ErrInvalidTimestamp) || err.Error() != "One or more records have been rejected due to invalid timestamp" {
			t.Errorf("%v: %v", codec, err)
		}
		if len(bad) != 2 || bad[0].Index != 4 || bad[1].Index != 5 || !errors.Is(bad[0].Err, ErrInvalidTimestamp) {
			t.Fatalf("%v: %v", codec, bad)
		}
		want := fmt.Sprintf("Timestamp %d of message with offset 4 is out of range. The timestamp should be within [%d, %d]", int64(now-5001), int64(now-5000), int64(now+5000))
		if bad[0].Message != want {
			t.Errorf("message %q, want %q", bad[0].Message, want)
		}
		if _, err := ValidateRecords(b, DeepOptions{NowMs: now, LogAppendTime: true, MaxDecompressedBytes: testLimit}); err != nil {
			t.Errorf("log append time: %v", err)
		}
		if _, err := ValidateRecords(b, DeepOptions{NowMs: now, BeforeMaxMs: math.MaxInt64, AfterMaxMs: math.MaxInt64}); err != nil {
			t.Errorf("no limits: %v", err)
		}
	}
}

func TestOnlyTheBrokerStampsABatch(t *testing.T) {
	for _, codec := range []Codec{None, Gzip} {
		b := build(t, 3, func(w *Builder) { w.Codec = codec })
		b[posAttributes+1] |= attrLogAppendTime
		b.FixCRC()
		o := anyTime
		if bad, err := ValidateRecords(b, o); err != nil || bad != nil {
			t.Errorf("%v, create time: %v, %v; want the bit to be no fault", codec, bad, err)
		}
		o.LogAppendTime = true
		if bad, err := ValidateRecords(b, o); !errors.Is(err, ErrInvalidTimestamp) || len(bad) != 3 || bad[2].Index != 2 {
			t.Errorf("%v, log append time: %v, %v; want each record refused", codec, bad, err)
		}
		b.ClearLogAppendTime()
		if b.IsLogAppendTime() || !b.ValidCRC() || b.Codec() != codec {
			t.Errorf("%v: cleared to attributes %#04x, CRC valid %v", codec, b.Attributes(), b.ValidCRC())
		}
	}
}

func TestCompactedTopicWantsKeys(t *testing.T) {
	w := NewBuilder()
	for i := 0; i < 2*maxRecordErrors; i++ {
		w.Add(now, nil, []byte("x"))
	}
	w.Add(now, []byte{}, nil) // an empty key is a key
	for _, codec := range []Codec{None, LZ4} {
		w.Codec = codec
		b, err := w.Build(nil)
		if err != nil {
			t.Fatal(err)
		}
		o := anyTime
		o.Compacted = true
		bad, err := ValidateRecords(b, o)
		if !errors.Is(err, ErrInvalidRecord) || !strings.Contains(err.Error(), "200 record errors") {
			t.Errorf("%v: %v", codec, err)
		}
		if len(bad) != maxRecordErrors || !errors.Is(bad[3].Err, ErrInvalidRecord) || bad[3].Index != 3 {
			t.Errorf("%v: %d errors", codec, len(bad))
		}
	}
}

func TestLyingMaxTimestampIsPutRight(t *testing.T) {
	for _, lie := range []int64{5, -1, now * 2} {
		b := build(t, 3)
		want := b.MaxTimestamp()
		b.SetMaxTimestamp(lie)
		b.FixCRC()
		if _, err := ValidateRecords(b, anyTime); err != nil {
			t.Fatal(err)
		}
		if b.MaxTimestamp() != want || !b.ValidCRC() {
			t.Errorf("max timestamp %d, CRC valid: %v", b.MaxTimestamp(), b.ValidCRC())
		}
	}
}

func TestRecordStructureIsChecked(t *testing.T) {
	record := func(fields ...byte) []byte { return fields }
	for _, c := range []struct {
		name    string
		records []byte
		count   uint32
		ok      bool
	}{
		{"smallest record", record(12, 0, 0, 0, 1, 1, 0), 1, true},
		{"empty key and value", record(12, 0, 0, 0, 0, 0, 0), 1, true},
		{"too few records", record(12, 0, 0, 0, 1, 1, 0, 12, 0, 0, 2, 1, 1, 0), 1, false},
		{"two records", record(12, 0, 0, 0, 1, 1, 0, 12, 0, 0, 2, 1, 1, 0), 2, true},
		{"offset delta repeats", record(12, 0, 0, 0, 1, 1, 0, 12, 0, 0, 0, 1, 1, 0), 2, false},
		{"length beyond the batch", record(14, 0, 0, 0, 1, 1, 0), 1, false},
		{"length 0", record(0, 0, 0, 0, 1, 1, 0), 1, false},
		{"length negative", record(11, 0, 0, 0, 1, 1, 0), 1, false},
		{"length varint of ten bytes", append([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0, 0, 0, 1, 1, 0), 1, false},
		{"varint without end", []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), 1, false},
		{"key beyond the record", record(12, 0, 0, 0, 20, 1, 0), 1, false},
		{"key length -2", record(12, 0, 0, 0, 3, 1, 0), 1, false},
		{"value beyond the record", record(12, 0, 0, 0, 1, 4, 0), 1, false},
		{"bytes after the headers", record(14, 0, 0, 0, 1, 1, 0, 0), 1, false},
		{"header", record(18, 0, 0, 0, 1, 1, 2, 2, 'a', 1), 1, true},
		{"headers of which there is one", record(18, 0, 0, 0, 1, 1, 4, 2, 'a', 1), 1, false},
		{"header without key", record(16, 0, 0, 0, 1, 1, 2, 1, 1), 1, false},
		{"headers negative", record(12, 0, 0, 0, 1, 1, 1), 1, false},
		{"2^30 headers", append(record(20, 0, 0, 0, 1, 1), 0x80, 0x80, 0x80, 0x80, 0x08), 1, false},
	} {
		b := build(t, 1)[:HeaderSize:HeaderSize]
		b = append(b, c.records...)
		be.PutUint32(b[posCount:], c.count)
		be.PutUint32(b[posLastOffsetDelta:], c.count-1)
		b.finish()
		if err := Validate(b, Limits{}); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		_, err := ValidateRecords(b, anyTime)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, codec := range []Codec{Gzip, Snappy, LZ4, Zstd} {
			packed, err := Recompress(nil, b, codec, DefaultLevel, testLimit)
			if err != nil {
				t.Fatal(err)
			}
			o := anyTime
			o.BeforeMaxMs, o.NowMs = math.MaxInt64-1, math.MaxInt64 // walk it
			if _, err := ValidateRecords(packed, o); (err == nil) != c.ok {
				t.Errorf("%s in %v: %v", c.name, codec, err)
			}
		}
	}
}

func TestLogAppendTime(t *testing.T) {
	b := build(t, 3)
	b.SetLogAppendTime(now)
	if !b.IsLogAppendTime() || b.MaxTimestamp() != now || !b.ValidCRC() {
		t.Errorf("header %x", b[:HeaderSize])
	}
}
