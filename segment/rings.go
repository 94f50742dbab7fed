package segment

// mark is a batch boundary in the active run: everything below offset is below pos of seg.
type mark struct {
	seg    *segment
	pos    int64
	offset int64
}

// markRing is a queue of batch boundaries not written yet, a few for each write of the largest size, so that a write
// can end at a batch. It does not allocate once it has grown.
type markRing struct {
	buf  []mark
	head int
	n    int
}

// markEvery is the least distance of two marks, bytes.
const markEvery = 64 << 10

// add enters a boundary unless the last one is close by, which it then replaces if that is not needed to bound
// a write.
func (r *markRing) add(m mark) {
	if r.n >= 2 {
		before, last := r.at(r.n-2), r.at(r.n-1)
		if before.seg == m.seg && last.seg == m.seg && m.pos-before.pos < markEvery {
			*last = m
			return
		}
	}
	if r.n == len(r.buf) {
		grown := make([]mark, max(16, 2*len(r.buf)))
		for i := range r.n {
			grown[i] = *r.at(i)
		}
		r.buf, r.head = grown, 0
	}
	r.n++
	*r.at(r.n - 1) = m
}

func (r *markRing) at(i int) *mark { return &r.buf[(r.head+i)%len(r.buf)] }

// upTo returns the last mark of seg at or before pos, or else the first one after it.
func (r *markRing) upTo(seg *segment, pos int64) mark {
	best := mark{}
	for i := range r.n {
		m := r.at(i)
		if m.seg != seg || best.seg != nil && m.pos > pos {
			break
		}
		best = *m
	}
	return best
}

// written forgets the marks up to and with m.
func (r *markRing) written(m mark) {
	for r.n > 0 {
		first := r.at(0)
		if first.offset > m.offset {
			return
		}
		*first = mark{}
		r.head = (r.head + 1) % len(r.buf)
		r.n--
	}
}

func (r *markRing) reset() {
	clear(r.buf)
	r.head, r.n = 0, 0
}

// pointRing remembers where the offsets are that were reported durable last: high watermarks and the positions
// of consumers at the tail are among them, so that most reads need no search.
type pointRing struct {
	points [8]mark
	next   int
}

func (r *pointRing) add(m mark) {
	r.points[r.next%len(r.points)] = m
	r.next++
}

func (r *pointRing) find(offset int64) (mark, bool) {
	for i := range r.points {
		if m := r.points[i]; m.seg != nil && m.offset == offset {
			return m, true
		}
	}
	return mark{}, false
}

func (r *pointRing) reset() { *r = pointRing{} }
