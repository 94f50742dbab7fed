package server

import "sync/atomic"

// expectDepth is how many goroutines read for an expectation at once.
const expectDepth = 2

// expectation is where a client will read on that was sent ranges of several files in one response: behind each of them. It is
// read while the client is busy with the response, so that what it asks for next is in memory. Loop only, but while
// reading is not 0 the places are the readers'.
type expectation struct {
	places  [16]place
	fds     [16]int
	n       int
	met     bool // what was noted has been handed to the readers
	reading atomic.Int32
}

// settled reports whether the places are the loop's.
func (e *expectation) settled() bool {
	if e.reading.Load() != 0 {
		return false
	}
	if e.met {
		e.met, e.n = false, 0
	}
	return true
}

// add notes the end of a range that was sent, whose reference the caller still has.
func (e *expectation) add(p *Part) {
	f := p.cold()
	if f == nil || !e.settled() || e.n == len(e.places) {
		return
	}
	f.Retain()
	e.places[e.n], e.fds[e.n] = place{f, p.Off + int64(p.Len)}, p.Fd
	e.n++
}

// forget lets go of what was noted and is not being read.
func (e *expectation) forget() {
	if !e.settled() {
		return
	}
	for i := range e.n {
		e.places[i].file.Release()
		e.places[i] = place{}
	}
	e.n = 0
}

// meet has what was noted read, at the end of a response. A single range was read ahead of while it was sent.
func (l *loop) meet(c *Conn) {
	e := &c.cold.expect
	if !e.settled() || e.n < 2 {
		e.forget()
		return
	}
	e.met = true
	e.reading.Store(expectDepth)
	for i := range expectDepth {
		l.s.readers.submit(coldRead{c: c, expect: e, off: int64(i)})
	}
}

// load reads every expectDepth-th of the places, from the given one on.
func (e *expectation) load(first int, p *prober) {
	for i := first; i < e.n; i += expectDepth {
		at := e.places[i]
		next := at.block().off + aheadBlock
		if n := int(next - at.off); !p.resident(e.fds[i], at.off, n) {
			loadAhead(at, n)
		}
		if !p.resident(e.fds[i], next, aheadBlock) {
			loadAhead(place{at.file, next}, aheadBlock)
		}
		at.file.Release()
		e.places[i] = place{}
	}
	e.reading.Add(-1)
}

// loadAhead reads bytes into where Cached finds them.
func loadAhead(at place, n int) {
	if _, hold := at.file.Load(at.off, n, true); hold != nil {
		hold.Release()
	}
}
