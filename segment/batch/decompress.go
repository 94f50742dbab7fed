package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Buffers of more than keepBytes are left to the collector.
const keepBytes = 4 << 20

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func getBuffer() *[]byte {
	b := buffers.Get().(*[]byte)
	*b = (*b)[:0]
	return b
}

func putBuffer(b *[]byte) {
	if cap(*b) <= keepBytes {
		buffers.Put(b)
	}
}

// decompress returns at most limit bytes in a buffer that goes back by putBuffer.
// No size that the input claims is believed: memory grows with what has really
// been decompressed, or stays within what the input can possibly hold.
func decompress(c Codec, src []byte, limit int) (*[]byte, error) {
	buf := getBuffer()
	var err error
	switch c {
	case Gzip:
		err = gunzip(buf, src, limit)
	case Snappy:
		err = unsnappy(buf, src, limit)
	case LZ4:
		err = unlz4(buf, src, limit)
	case Zstd:
		err = unzstd(buf, src, limit)
	default:
		err = fmt.Errorf("%w: %d", ErrUnsupportedCodec, c)
	}
	if err == nil {
		return buf, nil
	}
	putBuffer(buf)
	if errors.Is(err, ErrBomb) {
		return nil, fmt.Errorf("%w of %d bytes", ErrBomb, limit)
	}
	if errors.Is(err, ErrUnsupportedCodec) {
		return nil, err
	}
	return nil, fmt.Errorf("%w: decompress %s: %w", ErrInvalidRecord, c, err)
}

// readAll appends r to buf until EOF, ErrBomb beyond limit.
func readAll(buf *[]byte, r io.Reader, limit int) error {
	b := *buf
	defer func() { *buf = b }()
	for {
		if len(b) > limit {
			return ErrBomb
		}
		if len(b) == cap(b) {
			b = append(b, make([]byte, max(len(b), 4096))...)[:len(b)]
		}
		n, err := r.Read(b[len(b):min(cap(b), limit+1)])
		b = b[:len(b)+n]
		switch {
		case len(b) > limit:
			return ErrBomb
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// gzipMagic, lz4Magic and zstdMagic begin what the codec writes. The LZ4 reader
// would take legacy and skippable frames, too, which Kafka's consumers do not.
var (
	gzipMagic = []byte{0x1f, 0x8b, 8}
	lz4Magic  = []byte{0x04, 0x22, 0x4d, 0x18}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// plausible is the part of decompressing that costs nothing: does src begin as the
// codec does? It keeps out a batch with the wrong codec in its attributes, which no
// consumer could read.
func plausible(c Codec, src []byte) bool {
	switch c {
	case Gzip:
		return bytes.HasPrefix(src, gzipMagic)
	case Snappy:
		n, err := snappy.DecodedLen(src)
		return bytes.HasPrefix(src, xerialHeader[:xerialMagicSize]) || err == nil && n <= maxSnappyRatio*len(src)
	case LZ4:
		return bytes.HasPrefix(src, lz4Magic)
	case Zstd:
		return bytes.HasPrefix(src, zstdMagic)
	}
	return true
}

var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

func gunzip(buf *[]byte, src []byte, limit int) error {
	r := gzipReaders.Get().(*gzip.Reader)
	defer gzipReaders.Put(r)
	if err := r.Reset(bytes.NewReader(src)); err != nil {
		return err
	}
	return readAll(buf, r, limit)
}

var lz4Readers = sync.Pool{New: func() any { return lz4.NewReader(nil) }}

func unlz4(buf *[]byte, src []byte, limit int) error {
	if !bytes.HasPrefix(src, lz4Magic) {
		return errors.New("no frame")
	}
	r := lz4Readers.Get().(*lz4.Reader)
	defer lz4Readers.Put(r)
	r.Reset(bytes.NewReader(src))
	return readAll(buf, r, limit)
}

// zstdDecoder serves all goroutines. Its window limit is what zstd itself accepts
// by default (level 22 asks for it); decoding into a slice allocates no window.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(0),
		zstd.WithDecoderMaxWindow(128<<20),
		zstd.WithDecodeAllCapLimit(true))
})

// zstdBlock is the most that a block can become; it takes at least 4 bytes.
const zstdBlock = 128 << 10

// unzstd decodes into what room there is and starts again with more when it was
// too little. The content size of the first frame is a hint for the first try. No
// try gets more room than the input can possibly fill, so that a size that is a
// plain lie costs nothing.
func unzstd(buf *[]byte, src []byte, limit int) error {
	d, err := zstdDecoder()
	if err != nil {
		return err
	}
	most := min(limit, (len(src)/4+1)*zstdBlock)
	room := max(cap(*buf), 4*len(src), 16<<10)
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return err
	}
	if h.HasFCS {
		if h.FrameContentSize > uint64(limit) {
			return ErrBomb
		}
		room = max(room, int(h.FrameContentSize))
	}
	for {
		room = min(room, most)
		if cap(*buf) < room {
			*buf = make([]byte, 0, room)
		}
		out, err := d.DecodeAll(src, (*buf)[:0:room])
		if err == nil {
			*buf = out
			return nil
		}
		switch {
		case !errors.Is(err, zstd.ErrDecoderSizeExceeded):
			return err
		case room == limit:
			return ErrBomb
		case room == most:
			return err
		}
		room *= 4
	}
}

// xerialHeader begins the framing of snappy-java, which Java clients write: the
// magic, version and lowest compatible version, both 1. Blocks follow, each with
// its length in 4 bytes, big-endian. Others write one raw snappy block.
var xerialHeader = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}

const xerialMagicSize = 8

func unsnappy(buf *[]byte, src []byte, limit int) error {
	if !bytes.HasPrefix(src, xerialHeader[:xerialMagicSize]) {
		return unsnappyBlock(buf, src, limit)
	}
	for len(src) > 0 {
		// Streams may be joined, header and all.
		if bytes.HasPrefix(src, xerialHeader[:xerialMagicSize]) {
			if len(src) < len(xerialHeader) {
				return io.ErrUnexpectedEOF
			}
			if v := binary.BigEndian.Uint32(src[12:]); v != 1 {
				return fmt.Errorf("xerial framing for version %d", v)
			}
			src = src[len(xerialHeader):]
			continue
		}
		if len(src) < 4 {
			return io.ErrUnexpectedEOF
		}
		n := int64(binary.BigEndian.Uint32(src))
		src = src[4:]
		if n > int64(len(src)) {
			return io.ErrUnexpectedEOF
		}
		if err := unsnappyBlock(buf, src[:n], limit); err != nil {
			return err
		}
		src = src[n:]
	}
	return nil
}

// maxSnappyRatio is above what snappy can reach: a copy of 64 bytes takes three.
const maxSnappyRatio = 22

// unsnappyBlock appends one raw block.
func unsnappyBlock(buf *[]byte, src []byte, limit int) error {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return err
	}
	b := *buf
	if n > limit-len(b) {
		return ErrBomb
	}
	if n > maxSnappyRatio*len(src) {
		return fmt.Errorf("%d bytes out of %d", n, len(src))
	}
	if cap(b)-len(b) < n {
		b = append(make([]byte, 0, max(len(b)+n, 2*cap(b))), b...)
	}
	out, err := snappy.Decode(b[len(b):len(b)+n], src)
	if err != nil {
		return err
	}
	*buf = b[:len(b)+len(out)]
	return nil
}
