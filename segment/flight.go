package segment

import (
	"time"

	"golang.org/x/sys/unix"

	"millrace/segment/uring"
)

// flight is one operation on a segment file under way.
type flight struct {
	op     uring.Op
	iov    []unix.Iovec
	bounce []byte // mapped memory: the last, partial block of a direct write, padded
	form   form
	log    *Log
	seg    *segment
	out    *file
	from   int64 // seg.written when it began
	upTo   mark  // what is written, or flushed, when it is done; of a spill the offset may be of a boundary before pos
	begun  time.Time
}

// begin takes hold of the segment's file. False: it is not open. Under Log.mu, like the functions that follow.
func (f *flight) begin(l *Log, seg *segment, k form) bool {
	if f.out = seg.retainOut(); f.out == nil {
		return false
	}
	f.form, f.log, f.seg, f.from = k, l, seg, seg.written
	f.op.Fd = f.out.fd
	return true
}

// prepareCommit fills in a durable write of the oldest segment with uncommitted bytes, with what the journal had of it
// before.
func (f *flight) prepareCommit(l *Log) bool {
	seg := l.firstUncommitted()
	if !f.begin(l, seg, viaSegment) {
		return false
	}
	f.upTo = l.marks.upTo(seg, max(seg.written+maxWrite, seg.committed+1))
	f.gather(l)
	f.op.Durable = true
	return true
}

// prepareSpill fills in a write of committed bytes of the oldest segment that has some not in its file.
func (f *flight) prepareSpill(l *Log) bool {
	seg := l.firstUnspilled()
	if !f.begin(l, seg, spilling) {
		return false
	}
	f.upTo = mark{seg, seg.committed, seg.committedOffset}
	if f.upTo.pos-seg.written > maxSpill {
		f.upTo = mark{seg, alignUp(seg.written, blockSize) + maxSpill - blockSize, seg.writtenOffset}
	}
	f.gather(l)
	f.op.Durable = false
	return true
}

// prepareFlush fills in a flush of the oldest segment with unflushed bytes.
func (f *flight) prepareFlush(l *Log) bool {
	seg := l.first(func(s *segment) bool { return s.flushed < s.written })
	if !f.begin(l, seg, flushOnly) {
		return false
	}
	f.upTo = mark{seg, seg.written, seg.writtenOffset}
	f.op.Kind = uring.Datasync
	return true
}

// gather builds the iovecs for bytes [seg.written, upTo.pos), widened to whole blocks with direct I/O.
func (f *flight) gather(l *Log) {
	from := f.seg.written - f.seg.written%l.dir.align
	end := f.upTo.pos
	whole := end - end%l.dir.align
	f.iov = f.iov[:0]
	i := l.tail.search(f.seg, from)
	for pos := from; pos < whole; i++ {
		ts := &l.tail.slabs[i]
		n := min(ts.end(), whole) - pos
		f.iov = append(f.iov, uring.Iovec(ts.mem[pos-ts.pos:pos-ts.pos+n]))
		pos += n
	}
	bytes := whole - from
	if whole < end {
		n := l.tail.copyOut(f.seg, whole, f.bounce[:end-whole])
		clear(f.bounce[n:])
		f.iov = append(f.iov, uring.Iovec(f.bounce))
		bytes += blockSize
	}
	f.op.Kind, f.op.Off, f.op.Iov, f.op.Bytes = uring.Write, from, f.iov, int(bytes)
}

// completed advances the log past the finished operation. It returns the new durable offset, -1 if that is as it was.
func (f *flight) completed() (durable int64) {
	l, seg := f.log, f.seg
	if f.form == flushOnly {
		seg.flushed = max(seg.flushed, f.upTo.pos)
		l.durable.Store(max(l.durable.Load(), f.upTo.offset))
		return f.upTo.offset
	}
	l.wrote(f.upTo)
	durable = -1
	if f.form == viaSegment {
		// Such a write may reach the disk without a flush of what the device holds of others: what was spilled before
		// it is on the disk only if it was flushed.
		if seg.flushed == f.from {
			seg.flushed = f.upTo.pos
		}
		l.committedTo(f.upTo)
		durable = f.upTo.offset
		l.dir.stats.directCommits.Add(1)
	} else {
		l.dir.stats.spills.Add(1)
		l.dir.stats.spilledBytes.Add(f.upTo.pos - f.from)
	}
	l.sealWhenWritten(seg)
	return durable
}

// wrote advances what is in the segment's file.
func (l *Log) wrote(m mark) {
	m.seg.written, m.seg.writtenOffset = m.pos, m.offset
	l.tail.park()
	if l.dir.pool.Tight() {
		l.tail.rest(0)
	}
}
