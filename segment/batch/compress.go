package batch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// DefaultLevel asks for the default of the codec, as Kafka's compression.*.level
// options have it: gzip -1, lz4 9, zstd 3.
const DefaultLevel = -1 << 31

// xerialBlock is how much snappy-java compresses at once.
const xerialBlock = 32 << 10

// Recompress appends b to dst with its records in another codec at a level of
// compression.gzip.level, compression.lz4.level or compression.zstd.level; the
// rest of the header is kept and the CRC set. limit bounds the decompressed size,
// ErrBomb beyond it.
func Recompress(dst []byte, b Batch, codec Codec, level, limit int) (Batch, error) {
	records := b.Records()
	if c := b.Codec(); c != None {
		buf, err := decompress(c, records, limit)
		if err != nil {
			return nil, err
		}
		defer putBuffer(buf)
		records = *buf
	}
	start := len(dst)
	dst = append(dst, b[:HeaderSize]...)
	dst, err := appendCompressed(dst, codec, level, records)
	if err != nil {
		return nil, err
	}
	out := Batch(dst[start:])
	out[posAttributes+1] = out[posAttributes+1]&^codecMask | byte(codec)
	out.finish()
	return out, nil
}

// finish sets length and CRC of a batch that fills b.
func (b Batch) finish() {
	binary.BigEndian.PutUint32(b[posLength:], uint32(len(b)-LogOverhead))
	b.FixCRC()
}

// appendCompressed appends src in the framing that Kafka's Java consumer reads.
func appendCompressed(dst []byte, codec Codec, level int, src []byte) ([]byte, error) {
	switch codec {
	case None:
		return append(dst, src...), nil
	case Gzip:
		return appendGzip(dst, level, src)
	case Snappy:
		return appendSnappy(dst, src), nil
	case LZ4:
		return appendLZ4(dst, level, src)
	case Zstd:
		return appendZstd(dst, level, src)
	}
	return nil, fmt.Errorf("%w: %d", ErrUnsupportedCodec, codec)
}

// gzipWriters has a pool for each level from -1 on.
var gzipWriters [gzip.BestCompression + 2]sync.Pool

func appendGzip(dst []byte, level int, src []byte) ([]byte, error) {
	if level == DefaultLevel {
		level = gzip.DefaultCompression
	}
	if level < gzip.DefaultCompression || level > gzip.BestCompression {
		return nil, fmt.Errorf("compress gzip: level %d", level)
	}
	out := bytes.NewBuffer(dst)
	pool := &gzipWriters[level+1]
	w, _ := pool.Get().(*gzip.Writer)
	if w == nil {
		var err error
		if w, err = gzip.NewWriterLevel(out, level); err != nil {
			return nil, fmt.Errorf("compress gzip: %w", err)
		}
	}
	defer pool.Put(w)
	w.Reset(out)
	if _, err := w.Write(src); err != nil {
		return nil, fmt.Errorf("compress gzip: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress gzip: %w", err)
	}
	return out.Bytes(), nil
}

// appendSnappy writes xerial framing with 32 KiB blocks, as Java producers do: the
// Java consumer reads raw blocks, too, but some clients know only this.
func appendSnappy(dst, src []byte) []byte {
	dst = append(dst, xerialHeader...)
	for len(src) > 0 {
		block := src[:min(xerialBlock, len(src))]
		src = src[len(block):]
		at := len(dst)
		dst = append(dst, make([]byte, 4+snappy.MaxEncodedLen(len(block)))...)
		enc := snappy.Encode(dst[at+4:], block)
		binary.BigEndian.PutUint32(dst[at:], uint32(len(enc)))
		dst = dst[:at+4+len(enc)]
	}
	return dst
}

var lz4Writers = sync.Pool{New: func() any { return lz4.NewWriter(nil) }}

// lz4Level maps Kafka's levels 1 to 17 to those of the library: both trade time
// for size in steps, and 9 is Kafka's default.
func lz4Level(level int) lz4.CompressionLevel {
	if level <= 1 {
		return lz4.Fast
	}
	return lz4.CompressionLevel(1 << (8 + min(level, 9)))
}

// appendLZ4 writes a frame as Java producers do: independent blocks of 64 KiB (the
// Java consumer refuses dependent ones), no checksums.
func appendLZ4(dst []byte, level int, src []byte) ([]byte, error) {
	if level == DefaultLevel {
		level = 9
	}
	out := bytes.NewBuffer(dst)
	w := lz4Writers.Get().(*lz4.Writer)
	defer lz4Writers.Put(w)
	w.Reset(out)
	err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false),
		lz4.CompressionLevelOption(lz4Level(level)))
	if err == nil {
		_, err = w.Write(src)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("compress lz4: %w", err)
	}
	return out.Bytes(), nil
}

// zstdEncoders has an encoder for each of the library's levels, made when first
// used; each serves all goroutines.
var zstdEncoders [zstd.SpeedBestCompression + 1]struct {
	once sync.Once
	enc  *zstd.Encoder
	err  error
}

func appendZstd(dst []byte, level int, src []byte) ([]byte, error) {
	if level == DefaultLevel {
		level = 3
	}
	speed := zstd.EncoderLevelFromZstd(level)
	e := &zstdEncoders[speed]
	e.once.Do(func() {
		e.enc, e.err = zstd.NewWriter(nil, zstd.WithEncoderLevel(speed), zstd.WithLowerEncoderMem(true))
	})
	if e.err != nil {
		return nil, fmt.Errorf("compress zstd: %w", e.err)
	}
	return e.enc.EncodeAll(src, dst), nil
}
