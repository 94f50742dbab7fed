package segment

import (
	"errors"
	"fmt"
	"hash/crc32"

	"golang.org/x/sys/unix"

	"millrace/segment/batch"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// scanner reads a segment file from front to back through a window of aligned memory, so that it works on
// files opened with O_DIRECT, which keeps recovery from filling the page cache.
type scanner struct {
	fd   int
	size int64  // of the file
	buf  []byte // mapped
	from int64  // position of buf[0]
	have int
	// ahead is how much the next read takes; it grows, since most logs that are recovered have little to be read.
	ahead int
}

const (
	scanWindow = 1 << 20
	firstScan  = 32 << 10
)

// spareWindows keeps windows for the next scanners: a fresh one costs a page fault for each 4 KiB of it.
var spareWindows = make(chan []byte, openAtOnce)

func newScanner(fd int, size int64) (*scanner, error) {
	s := &scanner{fd: fd, size: size, ahead: firstScan}
	select {
	case s.buf = <-spareWindows:
		return s, nil
	default:
		return s, s.grow(scanWindow)
	}
}

func (s *scanner) grow(n int) error {
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("mmap %d bytes: %w", n, err)
	}
	s.close()
	s.buf, s.have = mem, 0
	return nil
}

func (s *scanner) close() {
	buf := s.buf
	s.buf = nil
	if len(buf) == scanWindow {
		select {
		case spareWindows <- buf:
			return
		default:
		}
	}
	if buf != nil {
		_ = unix.Munmap(buf)
	}
}

// forget makes the next read come from the file.
func (s *scanner) forget() { s.have = 0 }

// bytes returns n bytes at pos, or fewer if the file ends. They are valid until the next call.
func (s *scanner) bytes(pos int64, n int) ([]byte, error) {
	if pos >= s.from && pos+int64(n) <= s.from+int64(s.have) {
		return s.buf[pos-s.from:][:n], nil
	}
	n = int(max(min(int64(n), s.size-pos), 0))
	if n == 0 {
		return nil, nil
	}
	start := pos - pos%blockSize
	need := int(alignUp(pos-start+int64(n), blockSize))
	if need > len(s.buf) {
		if err := s.grow(int(alignUp(int64(need), scanWindow))); err != nil {
			return nil, err
		}
	}
	until := min(max(need, s.ahead), len(s.buf))
	s.ahead = min(s.ahead*4, scanWindow)
	s.from, s.have = start, 0
	for s.have < until && start+int64(s.have) < s.size {
		k, err := unix.Pread(s.fd, s.buf[s.have:until], start+int64(s.have))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read at %d: %w", start+int64(s.have), err)
		}
		if k == 0 {
			break
		}
		s.have += k
		if s.have%blockSize != 0 {
			break // the end of the file
		}
	}
	return s.buf[pos-start:][:max(min(n, s.have-int(pos-start)), 0)], nil
}

// batchAt returns the batch at pos if one is there: by length, magic and offsets at or above least, and by CRC if
// check says so; then all of it is in the result, else only the header. Nil: none. The length is believed only within the file.
func (s *scanner) batchAt(pos, least int64, leastEpoch int32, check bool) (batch.Batch, error) {
	h, err := s.bytes(pos, headerSize)
	if err != nil || len(h) < headerSize {
		return nil, err
	}
	b := batch.Batch(h)
	size := int64(b.Length()) + batch.LogOverhead
	if b.Magic() != 2 || size < headerSize || pos+size > s.size || b.LastOffsetDelta() < 0 ||
		b.BaseOffset() < least || b.LeaderEpoch() < leastEpoch {
		return nil, nil
	}
	if !check {
		return b, nil
	}
	whole, err := s.bytes(pos, int(size))
	if err != nil || int64(len(whole)) < size {
		return nil, err
	}
	b = batch.Batch(whole)
	if crc32.Checksum(b[21:], castagnoli) != b.CRC() {
		return nil, nil
	}
	return b, nil
}

// next looks for a valid batch behind pos, at any position. found is false if there is none up to the end of the
// file; zeros says that there is nothing at all from pos on but zeros.
func (s *scanner) next(pos, least int64, leastEpoch int32) (at int64, found, zeros bool, err error) {
	zeros = true
	for pos < s.size {
		chunk, err := s.bytes(pos, min(scanWindow/2, int(s.size-pos)))
		if err != nil {
			return 0, false, false, err
		}
		if len(chunk) == 0 {
			break
		}
		if allZero(chunk) {
			pos += max(int64(len(chunk)-headerSize), 1)
			continue
		}
		zeros = false
		// Candidates: magic 2 with plausible length and offsets. Reading them reuses the window, so collect first.
		var candidates []int64
		for i := 0; i+headerSize <= len(chunk); i++ {
			if chunk[i+16] != 2 {
				continue
			}
			b := batch.Batch(chunk[i:])
			size := int64(b.Length()) + batch.LogOverhead
			if size >= headerSize && pos+int64(i)+size <= s.size && b.BaseOffset() >= least && b.LastOffsetDelta() >= 0 {
				candidates = append(candidates, pos+int64(i))
			}
		}
		step := int64(max(len(chunk)-headerSize+1, 1))
		for _, c := range candidates {
			b, err := s.batchAt(c, least, leastEpoch, true)
			if err != nil {
				return 0, false, false, err
			}
			if b != nil {
				return c, true, false, nil
			}
		}
		pos += step
	}
	return 0, false, zeros, nil
}

func allZero(b []byte) bool {
	for len(b) >= 8 {
		if b[0]|b[1]|b[2]|b[3]|b[4]|b[5]|b[6]|b[7] != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
