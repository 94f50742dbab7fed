package server

import "sync/atomic"

// ColdFile is what the Ref of a file range may be as well: a file whose owner reads past the page cache, into bounded
// memory, what is not in it. Any goroutine may call; the caller has a reference.
type ColdFile interface {
	// Retain takes one more reference, and Release gives it back; the latter may be called on a reader goroutine.
	Retain()
	Release()
	// Cached returns the bytes at off, as many as are in memory, nil if they are not. It does not wait.
	Cached(off int64) ([]byte, Hold)
	// Load is Cached but reads what is not in memory, need bytes or more, waiting for the disk. Nil: the page cache is
	// to be used, for want of memory, or because the file is read often or cannot be read so. With ahead the bytes are
	// for later and must not displace what others have read for later.
	Load(off int64, need int, ahead bool) ([]byte, Hold)
}

// Hold keeps memory as it is until it is released, by one of these. Spent says that the bytes were used to the end.
type Hold = interface {
	Release()
	Spent()
}

const (
	// aheadBlock is the alignment of pieces that are read past the page cache, and their size at most, bytes.
	aheadBlock = 1 << 20
	// aheadDepth is how many of them a connection has being read at a time.
	aheadDepth = 2
)

// coldStream is a connection that is being sent what is not in the page cache. The piece being sent is held while
// the socket is full; what was read ahead is not, it lies where Cached finds it unless memory is short. So a slow client
// holds one piece, and aheadDepth for as long as they are being read. Loop only.
type coldStream struct {
	on      bool  // what comes next is likely in memory
	held    piece // what is being sent
	jobs    [aheadDepth]coldJob
	refused *Part                 // goes by way of the page cache
	asked   [2 * aheadDepth]place // pieces that were asked for lately
	askedAt int
	planned place // the block behind which everything that is wanted was asked for
	expect  expectation
	last    place // end of what was sent from memory last
}

// place is a position in a file. The file is for comparing only: nothing says that it is still open.
type place struct {
	file ColdFile
	off  int64
}

// block is the place of the block that has it.
func (p place) block() place { return place{p.file, p.off &^ (aheadBlock - 1)} }

// piece is bytes of a file in memory, from off on.
type piece struct {
	place
	mem  []byte
	hold Hold
}

func (p *piece) end() int64 { return p.off + int64(len(p.mem)) }

// from returns the bytes at the place, nil if they are not among the piece's.
func (p *piece) from(at place) []byte {
	if p.hold == nil || p.file != at.file || at.off < p.off || at.off >= p.end() {
		return nil
	}
	return p.mem[at.off-p.off:]
}

// coldJob is one piece being read, with a reference to its file. Loop only, but between jobReading and jobDone mem and hold
// are the reader's.
type coldJob struct {
	piece
	fd    int
	need  int
	ahead bool          // Cached will find it; mem and hold are not used
	part  *Part         // what the connection goes on with when it is done
	state atomic.Uint32 // of the below
}

const (
	jobFree uint32 = iota
	jobReading
	jobWanted // the same, and the loop is to be woken
	jobDone
)

// cold returns the part's file as one that is read past the page cache, nil if it is not.
func (p *Part) cold() ColdFile {
	f, _ := p.Ref.(ColdFile)
	return f
}

// memory returns bytes of part i of r from sent on, as many as are in memory in one piece, valid until the gather is reset;
// nil if there are none.
func (l *loop) memory(c *Conn, r *Request, i, sent int) []byte {
	s, p := c.cold, &r.parts[i]
	if s == nil || !s.on || c.warm.reading && c.warm.part == p { // the part ends after the reader
		return nil
	}
	f := p.cold()
	if f == nil {
		return nil
	}
	at := place{f, p.Off + int64(sent)}
	mem := s.held.from(at)
	if mem == nil {
		got, hold := f.Cached(at.off)
		if hold == nil {
			return nil
		}
		l.gather.retire(&s.held, s.held.file == f && s.held.end() == at.off && at == at.block())
		s.held = piece{at, got, hold}
		mem = got
	}
	if b := at.block(); s.planned != b && l.readAhead(c, r, i, at) {
		s.planned = b
	}
	mem = mem[:min(len(mem), p.Len-sent)]
	s.last = place{f, at.off + int64(len(mem))}
	return mem
}

// retire has a piece released with the gather, which may point into it.
func (g *gather) retire(p *piece, spent bool) {
	switch {
	case p.hold == nil:
	case spent:
		g.spent = append(g.spent, p.hold)
	default:
		g.holds = append(g.holds, p.hold)
	}
	*p = piece{}
}

// underWay looks whether the piece of p at sent is being read: then the connection waits for it, and is woken.
// arrived says that it has just come, so that the next look may find it in memory.
func (l *loop) underWay(c *Conn, f ColdFile, p *Part, sent int) (waits, arrived bool) {
	if c.cold == nil {
		return false, false
	}
	at := place{f, p.Off + int64(sent)}.block()
	for i := range c.cold.jobs {
		j := &c.cold.jobs[i]
		if j.state.Load() == jobFree || j.block() != at {
			continue
		}
		j.part = p
		if j.await() {
			return true, false
		}
		l.pieceDone(c, j)
		return false, true
	}
	return false, false
}

// await has the loop woken when the piece is done; false if it is.
func (j *coldJob) await() bool {
	return j.state.CompareAndSwap(jobReading, jobWanted) || j.state.Load() == jobWanted
}

// demand has the piece of p at sent read, for the connection to go on.
func (l *loop) demand(c *Conn, f ColdFile, p *Part, sent int) {
	if c.cold == nil {
		c.cold = new(coldStream)
	}
	c.cold.on = true
	c.cold.drop()
	at := place{f, p.Off + int64(sent)}
	for !l.startRead(c, at, p, min(p.Len-sent, aheadBlock), false) {
		// All jobs are reading something else: the end of one brings the connection back here.
		waits := false
		for i := range c.cold.jobs {
			waits = c.cold.jobs[i].await() || waits
		}
		if waits {
			return
		}
	}
	l.n.coldReads.Add(1)
}

// startRead gives a piece, of the file of p, to the readers if the connection may have another: for later, or to go on with p.
func (l *loop) startRead(c *Conn, at place, p *Part, need int, ahead bool) bool {
	for i := range c.cold.jobs {
		j := &c.cold.jobs[i]
		if j.state.Load() == jobDone {
			l.pieceDone(c, j)
		}
		if j.state.Load() != jobFree {
			continue
		}
		j.piece, j.fd, j.need, j.ahead = piece{place: at}, p.Fd, need, ahead
		if ahead {
			j.state.Store(jobReading)
		} else {
			j.part = p
			j.state.Store(jobWanted)
		}
		at.file.Retain()
		l.s.readers.submit(coldRead{c: c, into: j})
		return true
	}
	return false
}

// readAhead has the pieces behind a place in part i of r read, while what is in memory is being sent: of the same range,
// of those that follow, and, if the client reads on from where it was, behind the last of them. It reports whether the
// connection could ask for all of it.
func (l *loop) readAhead(c *Conn, r *Request, i int, at place) bool {
	s, p := c.cold, &r.parts[i]
	onwards := at.off > p.Off || s.last.file == at.file && s.last.off >= at.off-aheadBlock && s.last.off <= at.off+aheadBlock
	next := at.block()
	next.off += aheadBlock
	for range aheadDepth {
		if next.off >= p.Off+int64(p.Len) {
			if q := nextRange(&r, &i); q != nil {
				p, next = q, place{q.cold(), q.Off}
			} else if !onwards {
				return true
			}
		}
		if next.file == nil {
			return true
		}
		if !s.wasAsked(next) {
			if !l.startRead(c, next, p, aheadBlock, true) {
				return false
			}
			s.asked[s.askedAt%len(s.asked)] = next
			s.askedAt++
		}
		next = next.block()
		next.off += aheadBlock
	}
	return true
}

func (s *coldStream) wasAsked(at place) bool {
	for i := range s.asked {
		if s.asked[i] == at {
			return true
		}
	}
	return false
}

// nextRange moves on to the next large file range that is ready to be sent; nil, with both as they are, if there is none.
func nextRange(r **Request, i *int) *Part {
	k := *i + 1
	for q := *r; q != nil && q.ready && !q.failed; q, k = q.next, 0 {
		for ; k < len(q.parts); k++ {
			if p := &q.parts[k]; p.Fd != 0 && p.Len > smallRange {
				*r, *i = q, k
				return p
			}
		}
	}
	return nil
}

// load reads the piece and lets go of the file. What is in the page cache is not read ahead: it goes by sendfile.
// It reports whether the loop is to be woken.
func (j *coldJob) load(p *prober) (wake bool) {
	if !j.ahead {
		j.mem, j.hold = j.file.Load(j.off, j.need, false)
	} else if !p.resident(j.fd, j.off, j.need) {
		loadAhead(j.place, j.need)
	}
	j.file.Release()
	return j.state.Swap(jobDone) == jobWanted
}

// piecesDone takes the pieces that were read.
func (l *loop) piecesDone(c *Conn) {
	for i := range c.cold.jobs {
		if j := &c.cold.jobs[i]; j.state.Load() == jobDone {
			l.pieceDone(c, j)
		}
	}
}

// pieceDone is the loop's side of a piece that was read, or could not be.
func (l *loop) pieceDone(c *Conn, j *coldJob) {
	s := c.cold
	got, part, ahead := j.piece, j.part, j.ahead
	j.piece, j.part = piece{}, nil
	j.state.Store(jobFree)
	switch {
	case ahead:
	case got.hold == nil:
		s.refused = part
	case c.gone.Load():
		got.hold.Release()
	default:
		s.drop()
		s.held = got
	}
}

// drop lets go of the piece that is held.
func (s *coldStream) drop() {
	if s.held.hold != nil {
		s.held.hold.Release()
		s.held = piece{}
	}
}

// settle lets go of the piece that is held, at the end of a flush, unless the socket is full in the middle of it.
func (c *Conn) settle() {
	if c.cold != nil && !(c.armed && c.head != nil) {
		c.cold.drop()
	}
}
