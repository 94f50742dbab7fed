package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// A few KiB that become 3 MiB.
func TestBombsAreDefused(t *testing.T) {
	zeros := make([]byte, 3<<20)
	for _, codec := range []Codec{Gzip, Snappy, LZ4, Zstd} {
		packed, err := appendCompressed(nil, codec, DefaultLevel, zeros)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decompress(codec, packed, len(zeros)); err != nil {
			t.Errorf("%v, exactly at the limit: %v", codec, err)
		}
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = decompress(codec, packed, testLimit)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrBomb) || !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v: %v", codec, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 6*testLimit {
			t.Errorf("%v: %d bytes allocated for a limit of %d", codec, used, testLimit)
		}
	}
}

// Sizes that the input claims must not be allocated.
func TestClaimedSizesAreNotBelieved(t *testing.T) {
	const limit = 1 << 30
	zstdFrame := func(window byte, size uint64) []byte {
		f := append([]byte{}, zstdMagic...)
		f = append(f, 0xc0, window)
		f = binary.LittleEndian.AppendUint64(f, size)
		return append(f, 1, 0, 0) // last block, raw, empty
	}
	for name, c := range map[string]struct {
		codec Codec
		src   []byte
	}{
		"snappy":          {Snappy, binary.AppendUvarint(nil, 900<<20)},
		"snappy 4 GiB":    {Snappy, []byte("\xff\xff\xff\xff\x0f")},
		"xerial":          {Snappy, append(append([]byte{}, xerialHeader...), append([]byte{0, 0, 0, 5}, binary.AppendUvarint(nil, 900<<20)...)...)},
		"xerial length":   {Snappy, append(append([]byte{}, xerialHeader...), 0xff, 0xff, 0xff, 0xf0, 1)},
		"zstd content":    {Zstd, zstdFrame(0x58, 900<<20)},
		"zstd content 2":  {Zstd, zstdFrame(0x58, 1<<62)},
		"zstd window 2G":  {Zstd, zstdFrame(0xa8, 10)},
		"zstd window max": {Zstd, zstdFrame(0xff, 10)},
		"lz4":             {LZ4, []byte("\x04\x22\x4d\x18\x78\x70\x00\xff\xff\xff\x7f")},
		"gzip":            {Gzip, []byte("\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\x00\xff\xff")},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decompress(c.codec, c.src, limit)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s passed", name)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 12<<20 {
			t.Errorf("%s: %d bytes allocated", name, used)
		}
	}
}

func TestZstdFramesOneAfterAnother(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	src := enc.EncodeAll(bytes.Repeat([]byte("a"), 100000), nil)
	src = enc.EncodeAll(bytes.Repeat([]byte("b"), 100000), src)
	buf, err := decompress(Zstd, src, testLimit)
	if err != nil {
		t.Fatal(err)
	}
	if len(*buf) != 200000 || (*buf)[0] != 'a' || (*buf)[199999] != 'b' {
		t.Errorf("%d bytes", len(*buf))
	}
}

func TestXerialFraming(t *testing.T) {
	src := bytes.Repeat([]byte("0123456789abcdef"), 10000) // five blocks
	framed := appendSnappy(nil, src)
	if !bytes.HasPrefix(framed, []byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")) {
		t.Errorf("header %x", framed[:16])
	}
	for name, x := range map[string][]byte{"once": framed, "joined": append(framed, framed...)} {
		buf, err := decompress(Snappy, x, testLimit)
		if err != nil {
			t.Fatal(err)
		}
		if want := len(src) * (len(x) / len(framed)); len(*buf) != want || !bytes.HasPrefix(*buf, src) {
			t.Errorf("%s: %d bytes, want %d", name, len(*buf), want)
		}
	}
	for cut := len(xerialHeader) + 1; cut < len(framed); cut += 7 {
		buf, err := decompress(Snappy, framed[:cut], testLimit)
		if err == nil && len(*buf)%xerialBlock != 0 {
			t.Errorf("%d of %d bytes passed", cut, len(framed))
		}
	}
}
