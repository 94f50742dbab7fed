package segment

import (
	"math"
	"time"

	"millrace/segment/slab"
)

// tailSlab is a slab that holds a piece of the log.
type tailSlab struct {
	slab *slab.Slab
	gen  uint32
	seg  *segment
	pos  int64 // position in the file of the slab's first byte; a multiple of 4 KiB with direct I/O
	used int   // bytes of it that are filled
	mem  []byte
}

func (t *tailSlab) end() int64 { return t.pos + int64(t.used) }

// tail is the run of slabs at a log's end. Guarded by Log.mu.
//
//	slabs  [ parked | parked | ... | owned | owned | current ]
//	                                 ^ owned
//
// Parked slabs may have been recycled behind our back; TryRetain tells.
type tail struct {
	pool  *slab.Pool
	align int64 // slabs begin at multiples of this in the file
	// urgent: the node does not go on without this log.
	urgent bool

	slabs   []tailSlab
	owned   int  // index of the first slab the log still holds a reference to
	current bool // the last slab takes more bytes

	// partial is the log's last, partial block while no slab is current (direct I/O only): bytes
	// [alignDown(size), size) of the active segment.
	partial []byte

	class    slab.Class // of the next slab
	openedAt time.Time  // when the current slab was taken
	spare    []*slab.Slab
}

// room is how many bytes the current slab still takes.
func (t *tail) room() int {
	if !t.current {
		return 0
	}
	last := &t.slabs[len(t.slabs)-1]
	return len(last.mem) - last.used
}

// fastFill is the time within which a slab has to be filled for the next one to be larger, if there is room.
const fastFill = time.Second

// reserve makes sure that n more bytes of seg can be copied in without asking for memory again. False: the
// budget is used up; nothing has changed.
func (t *tail) reserve(seg *segment, n int) bool {
	need := n
	if t.current && t.slabs[len(t.slabs)-1].seg == seg {
		need -= t.room()
		if need <= 0 {
			return true
		}
		switch filled := time.Since(t.openedAt); {
		case t.class > slab.Small && (filled > 8*fastFill || !t.pool.Roomy()):
			t.class--
		case t.class < slab.Large && filled < fastFill && t.pool.Roomy():
			t.class++
		}
	} else {
		need += int(seg.size % t.align)
	}
	for _, s := range t.spare {
		need -= len(s.Bytes())
	}
	class := t.class
	for class < slab.Large && class.Bytes() < need {
		class++
	}
	for need > 0 {
		s := t.get(class)
		if s == nil {
			for _, s := range t.spare {
				s.Release()
			}
			t.spare = t.spare[:0]
			return false
		}
		t.spare = append(t.spare, s)
		need -= len(s.Bytes())
	}
	return true
}

func (t *tail) get(c slab.Class) *slab.Slab {
	if t.urgent {
		return t.pool.GetUrgent(c)
	}
	return t.pool.Get(c)
}

// write copies p to the end of seg, which is at position pos. Reserve has been called.
func (t *tail) write(seg *segment, pos int64, p []byte) {
	for len(p) > 0 {
		if t.current && t.slabs[len(t.slabs)-1].seg != seg {
			t.close()
		}
		if t.room() == 0 {
			t.next(seg, pos)
		}
		last := &t.slabs[len(t.slabs)-1]
		n := copy(last.mem[last.used:], p)
		last.used += n
		pos += int64(n)
		p = p[n:]
	}
}

// next makes a spare slab the current one, beginning at pos or, if that is inside a block, at the block's start.
func (t *tail) next(seg *segment, pos int64) {
	s := t.spare[0]
	copy(t.spare, t.spare[1:])
	t.spare = t.spare[:len(t.spare)-1]
	t.compact()
	ts := tailSlab{slab: s, gen: s.Generation(), seg: seg, pos: pos - pos%t.align, mem: s.Bytes()}
	if ts.pos < pos {
		ts.used = copy(ts.mem, t.partial)
	}
	t.partial = nil
	t.slabs = append(t.slabs, ts)
	t.current = true
	t.openedAt = time.Now()
}

// close ends the current slab: it takes no more bytes.
func (t *tail) close() { t.current = false }

// compact forgets recycled slabs at the front when they are half of the list.
func (t *tail) compact() {
	if len(t.slabs) < cap(t.slabs) {
		return
	}
	dead := 0
	for dead < t.owned && t.slabs[dead].slab.Generation() != t.slabs[dead].gen {
		dead++
	}
	if dead*2 < len(t.slabs) {
		return
	}
	n := copy(t.slabs, t.slabs[dead:])
	clear(t.slabs[n:])
	t.slabs = t.slabs[:n]
	t.owned -= dead
}

// park gives slabs to the pool that are written: all bytes of those before the current one that are below
// seg.written. Caller has updated seg.written.
func (t *tail) park() {
	for t.owned < len(t.slabs) {
		ts := &t.slabs[t.owned]
		if t.current && t.owned == len(t.slabs)-1 && t.room() > 0 {
			return
		}
		if ts.end() > ts.seg.written {
			return
		}
		if t.owned == len(t.slabs)-1 {
			t.current = false
		}
		t.pool.Park(ts.slab)
		t.owned++
	}
}

// firstFull is how many bytes of seg, from seg.written on, the first slab that is not given up holds if it is full;
// more than there can be if it is not full or of another segment.
func (t *tail) firstFull(seg *segment) int64 {
	if t.owned == len(t.slabs) || t.current && t.owned == len(t.slabs)-1 || t.slabs[t.owned].seg != seg {
		return math.MaxInt64
	}
	return t.slabs[t.owned].end() - seg.written
}

// rest gives up the current slab of a log that has fallen idle, if everything in it is written. The partial
// block is kept aside for the next append.
func (t *tail) rest(idle time.Duration) {
	if !t.current || t.owned != len(t.slabs)-1 || time.Since(t.openedAt) < idle {
		return
	}
	last := &t.slabs[len(t.slabs)-1]
	if last.end() > last.seg.written {
		return
	}
	if part := last.end() % t.align; part != 0 {
		t.partial = append([]byte(nil), last.mem[last.used-int(part):last.used]...)
	}
	t.class = slab.Small
	t.current = false
	t.park()
}

// drop gives everything back at once: the log is deleted, truncated or closed. Nothing is in flight.
func (t *tail) drop() {
	for i := range t.slabs {
		if i < t.owned {
			t.pool.Drop(t.slabs[i].slab, t.slabs[i].gen)
		} else {
			t.slabs[i].slab.Release()
		}
	}
	clear(t.slabs)
	t.slabs, t.owned, t.current, t.partial = t.slabs[:0], 0, false, nil
}

// find returns the index of the slab that holds position pos of seg and takes a reference to it. If none does,
// ok is false and until is the position of the next slab of seg that is still there, or seg.size.
func (t *tail) find(seg *segment, pos int64) (i int, until int64, ok bool) {
	i = t.search(seg, pos)
	if i >= 0 && pos < t.slabs[i].end() && t.slabs[i].seg == seg {
		if t.retain(i) {
			return i, 0, true
		}
		t.pool.Missed()
	}
	for i++; i < len(t.slabs) && t.slabs[i].seg == seg; i++ {
		if t.retain(i) {
			t.slabs[i].slab.Release()
			if t.slabs[i].pos > pos {
				return -1, t.slabs[i].pos, false
			}
		}
	}
	return -1, seg.size, false
}

// search returns the last slab that begins at or before (seg, pos), -1 if there is none.
func (t *tail) search(seg *segment, pos int64) int {
	lo, hi := 0, len(t.slabs)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		ts := &t.slabs[mid]
		if ts.seg.baseOffset < seg.baseOffset || ts.seg == seg && ts.pos <= pos {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

func (t *tail) retain(i int) bool {
	return t.slabs[i].slab.TryRetain(t.slabs[i].gen)
}

// copyOut copies bytes of seg at pos that are in memory to b and says how many there were.
func (t *tail) copyOut(seg *segment, pos int64, b []byte) (n int) {
	for n < len(b) {
		i, _, ok := t.find(seg, pos+int64(n))
		if !ok {
			return n
		}
		ts := &t.slabs[i]
		n += copy(b[n:], ts.mem[pos+int64(n)-ts.pos:ts.used])
		ts.slab.Release()
	}
	return n
}
