package segment

import (
	"errors"
	"fmt"

	"millrace/segment/batch"
)

// Read appends to dst the ranges of batches from the one that holds offset on, at most maxBytes (the last range may end
// inside a batch), never past the batch that ends before upTo. The first batch comes whole: if it is larger than maxBytes
// alone if minOne, else there are no ranges, since a reader can do nothing with part of it. offset == upTo: no ranges, no error. With block false it never waits for the disk: ErrWouldBlock; then
// a caller that may wait asks again. Each range holds a reference until its holder releases it.
//
// upTo is a batch boundary; data above DurableOffset is served if it says so.
func (l *Log) Read(dst []Range, offset int64, maxBytes int, upTo int64, minOne, block bool) ([]Range, error) {
	end := l.end.Load()
	if offset < l.start.Load() || offset > end {
		return dst, ErrOffsetOutOfRange
	}
	upTo = min(upTo, end)
	if offset >= upTo {
		return dst, nil
	}
	for {
		dst, err := l.read(dst, offset, maxBytes, upTo, minOne, block)
		if !errors.Is(err, errReplaced) {
			return dst, err
		}
		if !block {
			return dst, ErrWouldBlock // the new segment's files are not open
		}
	}
}

func (l *Log) read(dst []Range, offset int64, maxBytes int, upTo int64, minOne, block bool) ([]Range, error) {
	at, err := l.locate(offset, block)
	if err != nil {
		return dst, l.unlessTrimmed(offset, err)
	}
	if at.base >= upTo {
		return dst, nil
	}
	limit, err := l.boundary(upTo, block)
	if err != nil {
		return dst, l.unlessTrimmed(offset, err)
	}
	budget := int64(maxBytes)
	if budget < at.size {
		if !minOne {
			return dst, nil
		}
		budget = at.size
	}
	found := len(dst)
	dst, err = l.collect(dst, at, limit, budget, block)
	if err != nil && len(dst) > found && errors.Is(err, ErrWouldBlock) {
		return dst, nil // what is in memory first
	}
	if err != nil {
		for _, r := range dst[found:] {
			r.Ref.Release()
		}
		return dst[:found], l.unlessTrimmed(offset, err)
	}
	return dst, nil
}

// unlessTrimmed turns what a read met because retention took the segment away into what it means.
func (l *Log) unlessTrimmed(offset int64, err error) error {
	if offset < l.start.Load() {
		return ErrOffsetOutOfRange
	}
	return err
}

// boundary is where the batches below upTo end.
func (l *Log) boundary(upTo int64, block bool) (mark, error) {
	l.mu.Lock()
	if len(l.segments) == 0 { // retention took them all meanwhile
		l.mu.Unlock()
		return mark{}, ErrOffsetOutOfRange
	}
	if upTo >= l.end.Load() {
		seg := l.segments[len(l.segments)-1]
		m := mark{seg, seg.size, upTo}
		l.mu.Unlock()
		return m, nil
	}
	m, ok := l.points.find(upTo)
	l.mu.Unlock()
	if ok && !m.seg.dropped {
		return m, nil
	}
	p, err := l.locate(upTo, block)
	return mark{p.seg, p.pos, upTo}, err
}

// collect appends ranges from at to limit, at most budget bytes.
func (l *Log) collect(dst []Range, at place, limit mark, budget int64, block bool) ([]Range, error) {
	seg, pos := at.seg, at.pos
	for budget > 0 {
		l.mu.Lock()
		if seg.replaced.Load() || limit.seg.replaced.Load() {
			l.mu.Unlock()
			return dst, errReplaced
		}
		end, last := seg.size, seg == limit.seg
		if last {
			end = min(end, limit.pos)
		}
		if bad, ok := seg.badAt(pos); ok {
			end, last = min(end, bad.from), true
		}
		last = last || seg.unread // the next read finds whether the next segment goes on where it ends
		if pos >= end {
			seg = l.after(seg)
			l.mu.Unlock()
			if last || seg == nil || seg.baseOffset >= limit.offset {
				return dst, nil
			}
			pos = 0
			continue
		}
		n := min(budget, end-pos)
		i, until, ok := 0, seg.written, false
		if pos >= seg.written || !l.tail.pool.Crowded() {
			i, until, ok = l.tail.find(seg, pos)
		}
		if ok {
			ts := &l.tail.slabs[i]
			n = min(n, ts.end()-pos)
			from := pos - ts.pos
			dst = append(dst, Range{Mem: ts.mem[from : from+n : from+n], Len: int(n), Ref: ts.slab})
			l.dir.stats.slabReadBytes.Add(n)
		}
		written := seg.written
		l.mu.Unlock()
		if !ok {
			n = min(n, until-pos)
			f, err := l.fileRange(seg, block)
			if err != nil {
				return dst, err
			}
			f.cold.Written(written)
			dst = append(dst, Range{Fd: f.fd, Off: pos, Len: int(n), Ref: f})
			l.dir.stats.fileReadBytes.Add(n)
		}
		pos += n
		budget -= n
	}
	return dst, nil
}

// after is the segment behind seg, nil if there is none. Under l.mu.
func (l *Log) after(seg *segment) *segment {
	i := l.segmentIndex(seg.baseOffset)
	if i+1 < len(l.segments) && l.segments[i] == seg {
		return l.segments[i+1]
	}
	return nil
}

// fileRange opens the file for a range of it. Whether its bytes are in memory is for those to ask who send them.
func (l *Log) fileRange(seg *segment, block bool) (*file, error) {
	f, err := seg.open(l.dir.files, block)
	if err != nil {
		return nil, l.gone(seg, err)
	}
	// The name may belong to the log of a successor by now; then this one was closed before.
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed {
		f.Release()
		seg.closeHandle()
		return nil, ErrClosed
	}
	return f, nil
}

// readChunk is how much ReadBatches asks for at a time, bytes.
const readChunk = 1 << 20

// ReadBatches calls f with each whole batch from the one that holds offset up to upTo, in order, checked by CRC. The
// batch is valid during the call only. It stops at the first error. Blocking.
func (l *Log) ReadBatches(offset, upTo int64, f func(batch.Batch) error) error {
	var ranges []Range
	var buf []byte
	for offset < upTo {
		var err error
		ranges, err = l.Read(ranges[:0], offset, readChunk, upTo, true, true)
		if err != nil {
			return err
		}
		if len(ranges) == 0 {
			return nil
		}
		if buf, err = copyRanges(buf[:0], ranges); err != nil {
			return err
		}
		next, err := eachBatch(buf, offset, f)
		if err != nil {
			return err
		}
		if next <= offset {
			return fmt.Errorf("%w: no batch for offset %d", ErrCorrupt, offset)
		}
		offset = next
	}
	return nil
}

// eachBatch calls f with the whole batches in b and returns the offset after the last, offset if there was none. The
// first one holds offset or comes after it.
func eachBatch(b []byte, offset int64, f func(batch.Batch) error) (next int64, err error) {
	next = offset
	first := true
	for len(b) >= headerSize {
		one := batch.Batch(b)
		size := one.Size()
		if size < headerSize {
			return next, fmt.Errorf("%w: batch of %d bytes", ErrCorrupt, size)
		}
		if size > len(b) {
			break
		}
		one = one[:size:size]
		if one.LastOffset() < next || !first && one.BaseOffset() < next || !one.ValidCRC() {
			return next, fmt.Errorf("%w: batch at offset %d, after %d", ErrCorrupt, one.BaseOffset(), next)
		}
		first = false
		if err := f(one); err != nil {
			return next, err
		}
		next = one.NextOffset()
		b = b[size:]
	}
	return next, nil
}

// copyRanges appends the bytes of all ranges to buf and releases them.
func copyRanges(buf []byte, ranges []Range) (_ []byte, err error) {
	for _, r := range ranges {
		switch {
		case err != nil:
		case r.Mem != nil:
			buf = append(buf, r.Mem...)
		default:
			n := len(buf)
			buf = append(buf, make([]byte, r.Len)...)
			err = readFull(r.Fd, buf[n:], r.Off)
		}
		r.Ref.Release()
	}
	return buf, err
}
