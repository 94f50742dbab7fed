package inspect

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"sort"
)

const (
	offsetEntry = 8
	timeEntry   = 12
	txnEntry    = 34
	maxIndex    = 1 << 30 // more than segment.index.bytes can sensibly be
)

// readIndex reads a whole index file: indexes are small.
func readIndex(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxIndex {
		return nil, fmt.Errorf("%s: %d bytes, too large for an index", path, info.Size())
	}
	return os.ReadFile(path)
}

// eachEntry calls f with each entry up to the zeros that follow the last one, and returns where those begin. An index
// that a broker did not close ends in its preallocated space.
func eachEntry(b []byte, size int, f func(pos int, entry []byte)) (end int) {
	used := len(b) / size * size
	for used > 0 && allZero(b[used-size:used]) {
		used -= size
	}
	// Offset 0 of the segment at position 0, or at time 0, is an entry of zeros. It is only ever the first one, and
	// then nothing is lost by leaving it out.
	for pos := 0; pos < used; pos += size {
		f(pos, b[pos:pos+size])
	}
	return used
}

func dumpOffsetIndex(w io.Writer, path string) error {
	b, err := readIndex(path)
	if err != nil {
		return err
	}
	base, _ := baseOffset(path)
	end := eachEntry(b, offsetEntry, func(_ int, e []byte) {
		fmt.Fprintf(w, "offset: %d position: %d\n", base+int64(binary.BigEndian.Uint32(e)), binary.BigEndian.Uint32(e[4:]))
	})
	dumpRest(w, len(b), end)
	return nil
}

func dumpTimeIndex(w io.Writer, path string) error {
	b, err := readIndex(path)
	if err != nil {
		return err
	}
	base, _ := baseOffset(path)
	end := eachEntry(b, timeEntry, func(_ int, e []byte) {
		fmt.Fprintf(w, "timestamp: %d offset: %d\n", int64(binary.BigEndian.Uint64(e)), base+int64(binary.BigEndian.Uint32(e[8:])))
	})
	dumpRest(w, len(b), end)
	return nil
}

func dumpRest(w io.Writer, size, end int) {
	if size > end {
		fmt.Fprintf(w, "end at position: %d, %d bytes follow\n", end, size-end)
	}
}

// verifyOffsetIndex holds each entry against the batch it points to. log may be nil.
func verifyOffsetIndex(path string, log *segmentLog, r *Report) error {
	b, err := readIndex(path)
	if err != nil {
		return err
	}
	r.Files++
	verifyLength(path, b, offsetEntry, r)
	base, _ := baseOffset(path)
	lastOffset, lastPosition := int64(-1), int64(-1)
	eachEntry(b, offsetEntry, func(pos int, e []byte) {
		offset, position := base+int64(binary.BigEndian.Uint32(e)), int64(binary.BigEndian.Uint32(e[4:]))
		if offset <= lastOffset || position < lastPosition {
			r.damage(path, int64(pos), "offset %d at %d comes after offset %d at %d", offset, position, lastOffset, lastPosition)
		}
		lastOffset, lastPosition = offset, position
		if log == nil {
			return
		}
		switch x, ok := log.at(position); {
		case !ok && (log.whole || position < log.end):
			r.damage(path, int64(pos), "offset %d: no batch begins at position %d of the log", offset, position)
		case ok && (offset < x.base || offset > x.last):
			r.damage(path, int64(pos), "offset %d: the batch at position %d has offsets %d to %d", offset, position, x.base, x.last)
		}
	})
	return nil
}

// verifyTimeIndex checks that times and offsets rise and that no record before an entry's offset is newer than its
// time. log may be nil.
func verifyTimeIndex(path string, log *segmentLog, r *Report) error {
	b, err := readIndex(path)
	if err != nil {
		return err
	}
	r.Files++
	verifyLength(path, b, timeEntry, r)
	base, _ := baseOffset(path)
	lastTime, lastOffset := int64(-1), int64(-1)
	newest, seen := int64(-1), 0 // of the batches up to the entry
	emptied := int64(-1)         // of those that compaction has emptied: Kafka counts them, Millrace does not
	eachEntry(b, timeEntry, func(pos int, e []byte) {
		timestamp, offset := int64(binary.BigEndian.Uint64(e)), base+int64(binary.BigEndian.Uint32(e[8:]))
		if timestamp <= lastTime || offset < lastOffset {
			r.damage(path, int64(pos), "time %d, offset %d comes after time %d, offset %d", timestamp, offset, lastTime, lastOffset)
		}
		lastTime, lastOffset = timestamp, offset
		if log == nil {
			return
		}
		for ; seen < len(log.batches) && log.batches[seen].base <= offset; seen++ {
			if x := &log.batches[seen]; x.emptied {
				emptied = max(emptied, x.maxTimestamp)
			} else {
				newest = max(newest, x.maxTimestamp)
			}
		}
		switch _, ok := log.holding(offset); {
		case !ok && log.whole:
			r.damage(path, int64(pos), "time %d: the log has no offset %d", timestamp, offset)
		case ok && newest != timestamp && max(newest, emptied) != timestamp:
			r.damage(path, int64(pos), "time %d, offset %d: the newest record up to that offset has time %d", timestamp, offset, newest)
		}
	})
	return nil
}

func verifyLength(path string, b []byte, entry int, r *Report) {
	if rest := len(b) % entry; rest != 0 && !allZero(b[len(b)-rest:]) {
		r.damage(path, int64(len(b)-rest), "the file ends inside an entry")
	}
}

// at finds the batch that begins at a position.
func (s *segmentLog) at(position int64) (extent, bool) {
	i := sort.Search(len(s.batches), func(i int) bool { return s.batches[i].pos >= position })
	if i == len(s.batches) || s.batches[i].pos != position {
		return extent{}, false
	}
	return s.batches[i], true
}

// holding finds the batch that has an offset.
func (s *segmentLog) holding(offset int64) (extent, bool) {
	i := sort.Search(len(s.batches), func(i int) bool { return s.batches[i].last >= offset })
	if i == len(s.batches) || s.batches[i].base > offset {
		return extent{}, false
	}
	return s.batches[i], true
}
