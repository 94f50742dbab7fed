package batch

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

var be = binary.BigEndian

// anyTime accepts every timestamp.
var anyTime = DeepOptions{BeforeMaxMs: math.MaxInt64, AfterMaxMs: math.MaxInt64, MaxDecompressedBytes: testLimit}

func build(t testing.TB, n int, change ...func(*Builder)) Batch {
	t.Helper()
	w := NewBuilder()
	for _, f := range change {
		f(w)
	}
	for i := 0; i < n; i++ {
		w.Add(1000+int64(i), []byte("k"), []byte("value"))
	}
	b, err := w.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Each row has Kafka 4.4's answer to the same bytes; where it is another, the
// reason is given.
func TestValidate(t *testing.T) {
	const pid, epoch, seq = posProducerID, posProducerEpoch, posBaseSequence
	crc := func(f func(b Batch)) func(b Batch) []byte {
		return func(b Batch) []byte { f(b); b.FixCRC(); return b }
	}
	length := func(n int32) func(b Batch) []byte {
		return func(b Batch) []byte { be.PutUint32(b[posLength:], uint32(n)); return b }
	}
	for _, c := range []struct {
		name string
		make func(b Batch) []byte // from a good batch of three records
		want error
	}{
		{"good", func(b Batch) []byte { return b }, nil},
		{"base offset", func(b Batch) []byte { b.SetBaseOffset(5); return b }, ErrInvalidRecord},
		{"any leader epoch", func(b Batch) []byte { b.SetLeaderEpoch(9); return b }, nil},
		{"magic 0", func(b Batch) []byte { b[posMagic] = 0; return b }, ErrUnsupportedMagic},
		{"magic 1", func(b Batch) []byte { b[posMagic] = 1; return b }, ErrUnsupportedMagic},
		{"magic 3", func(b Batch) []byte { b[posMagic] = 3; return b }, ErrCorrupt},
		{"CRC", func(b Batch) []byte { b[posCRC] ^= 1; return b }, ErrCorrupt},
		{"bit in a record", func(b Batch) []byte { b[len(b)-1] ^= 1; return b }, ErrCorrupt},
		{"length too long", length(500), ErrNotOneBatch},
		{"length of the largest", length(math.MaxInt32), ErrInvalidRecord},
		{"length within the header", length(48), ErrCorrupt},
		{"length 10", length(10), ErrCorrupt},
		{"length negative", length(-1), ErrCorrupt},
		{"cut", func(b Batch) []byte { return b[:70] }, ErrInvalidRecord},
		{"cut in the header", func(b Batch) []byte { return b[:30] }, ErrNotOneBatch},
		{"cut in the length", func(b Batch) []byte { return b[:5] }, ErrInvalidRecord},
		{"nothing", func(b Batch) []byte { return nil }, ErrNotOneBatch},
		// Kafka drops a tail that is too short for another batch.
		{"tail", func(b Batch) []byte { return append(b, 1, 2, 3) }, ErrInvalidRecord},
		{"tail of a batch that is too short", length(int32(len(build(t, 3))) - LogOverhead - 2), ErrCorrupt},
		{"two batches", func(b Batch) []byte { return append(b, b...) }, ErrNotOneBatch},
		{"two batches, bad CRC", func(b Batch) []byte { b[posCRC] ^= 1; return append(b, b...) }, ErrNotOneBatch},
		{"count 2 of 3", crc(func(b Batch) { be.PutUint32(b[posCount:], 2) }), ErrInvalidRecord},
		{"count 0", crc(func(b Batch) { be.PutUint32(b[posCount:], 0) }), ErrInvalidRecord},
		{"count -1", crc(func(b Batch) { be.PutUint32(b[posCount:], math.MaxUint32) }), ErrInvalidRecord},
		{"last offset delta", crc(func(b Batch) { be.PutUint32(b[posLastOffsetDelta:], 5) }), ErrInvalidRecord},
		{"lying count", crc(func(b Batch) { be.PutUint32(b[posCount:], 1<<30); be.PutUint32(b[posLastOffsetDelta:], 1<<30-1) }), ErrInvalidRecord},
		{"control batch", crc(func(b Batch) { b[posAttributes+1] |= attrControl }), ErrInvalidRecord},
		// Kafka answers UNKNOWN_SERVER_ERROR to the next two.
		{"codec 5", crc(func(b Batch) { b[posAttributes+1] |= 5 }), ErrUnsupportedCodec},
		{"plain bytes called gzip", crc(func(b Batch) { b[posAttributes+1] |= 1 }), ErrInvalidRecord},
		{"plain bytes called lz4", crc(func(b Batch) { b[posAttributes+1] |= 3 }), ErrInvalidRecord},
		{"plain bytes called zstd", crc(func(b Batch) { b[posAttributes+1] |= 4 }), ErrInvalidRecord},
		// Kafka stores unknown bits as they come; nobody knows what they will mean.
		{"delete horizon", crc(func(b Batch) { b[posAttributes+1] |= attrDeleteHorizon }), ErrInvalidRecord},
		{"unknown attribute", crc(func(b Batch) { b[posAttributes] |= 1 }), ErrInvalidRecord},
		{"log append time", crc(func(b Batch) { b[posAttributes+1] |= attrLogAppendTime }), nil},
		{"idempotent", crc(func(b Batch) { be.PutUint64(b[pid:], 7); be.PutUint16(b[epoch:], 0); be.PutUint32(b[seq:], 0) }), nil},
		{"no sequence", crc(func(b Batch) { be.PutUint64(b[pid:], 7); be.PutUint16(b[epoch:], 0) }), ErrInvalidRecord},
		// Kafka accepts it, and the next batch of the same producer with epoch 0 too.
		{"no epoch", crc(func(b Batch) { be.PutUint64(b[pid:], 7); be.PutUint32(b[seq:], 0) }), ErrInvalidRecord},
		{"transactional without producer", crc(func(b Batch) { b[posAttributes+1] |= attrTransactional }), ErrInvalidRecord},
		{"producer -2 is none", crc(func(b Batch) { be.PutUint64(b[pid:], math.MaxUint64-1) }), nil},
	} {
		err := Validate(c.make(build(t, 3)), Limits{MaxBytes: testLimit})
		if !errors.Is(err, c.want) && err != c.want {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	b := build(t, 3)
	b[posCRC] ^= 1
	if err := Validate(b, Limits{MaxBytes: len(b) - 1}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large, and with a bad CRC: %v", err)
	}
	if err := Validate(build(t, 3), Limits{MaxBytes: len(b)}); err != nil {
		t.Errorf("just as large as allowed: %v", err)
	}
}

func TestNextTrustsNoLength(t *testing.T) {
	b := build(t, 3)
	two := append(append([]byte{}, b...), build(t, 1)...)
	n := 0
	for x, err := range All(two) {
		if err != nil || !x.ValidCRC() {
			t.Error(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d batches", n)
	}
	if _, _, err := Next(nil); err != io.EOF {
		t.Error(err)
	}
	for cut := 1; cut < len(b); cut++ {
		_, size, err := Next(b[:cut:cut])
		if err != ErrShort || size != HeaderSize && size != len(b) || size <= cut {
			t.Fatalf("%d of %d bytes: size %d, %v", cut, len(b), size, err)
		}
	}
	for name, x := range map[string][]byte{
		"zeros":    make([]byte, 4096),
		"garbage":  []byte(strings.Repeat("GET / HTTP/1.1\r\n", 10)),
		"negative": append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0x80}, b[9:]...),
	} {
		if x[posMagic] == 2 {
			x[posMagic] = 1
		}
		if _, _, err := Next(x); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	for name, size := range map[string]int{"16KiB": 16 << 10, "1MiB": 1 << 20} {
		x := ofSize(b, size)
		b.Run(name+"/header+crc", func(b *testing.B) {
			b.SetBytes(int64(len(x)))
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				if err := Validate(x, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/records", func(b *testing.B) {
			b.SetBytes(int64(len(x)))
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				if _, err := ValidateRecords(x, anyTime); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// ofSize is a batch of 1 KiB records.
func ofSize(t testing.TB, size int) Batch {
	w := NewBuilder()
	value := make([]byte, 1024)
	for w.Size() < size {
		w.Add(1000+int64(w.Len()), nil, value)
	}
	b, err := w.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
