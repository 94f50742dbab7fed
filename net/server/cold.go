package server

import (
	"sync"

	"golang.org/x/sys/unix"
)

// readers wait for the disk for loops, which must not. A few goroutines read pieces of
// files: into the memory of the file's owner, if it has that (ahead.go), else into the
// page cache, where a slow client may leave them at no cost but the kernel's. A
// connection has one of the latter, aheadDepth of the former and expectDepth for what
// it may ask next under way at most, so the queue is bounded by their number.
type readers struct {
	mu    sync.Mutex
	some  sync.Cond // queue is not empty, or stopping
	queue []coldRead
	stop  bool
	wg    sync.WaitGroup
}

// coldRead is one piece to be read. If it goes to the page cache, the part's reference
// is held by the connection until the loop has heard that the read is over; a coldJob
// has one of its own.
type coldRead struct {
	c   *Conn
	fd  int
	off int64
	n   int

	into   *coldJob     // nil: the page cache, or
	expect *expectation // places to be read, from number off on
}

func startReaders(n int) *readers {
	p := new(readers)
	p.some.L = &p.mu
	for range n {
		p.wg.Add(1)
		go p.run()
	}
	return p
}

func (p *readers) submit(job coldRead) {
	p.mu.Lock()
	p.queue = append(p.queue, job)
	p.mu.Unlock()
	p.some.Signal()
}

// run reads until stopped; what is queued then is still read, for the connections to
// be released.
func (p *readers) run() {
	defer p.wg.Done()
	pr := new(prober)
	for {
		p.mu.Lock()
		for len(p.queue) == 0 && !p.stop {
			p.some.Wait()
		}
		if len(p.queue) == 0 {
			p.mu.Unlock()
			return
		}
		job := p.queue[0]
		p.queue[0] = coldRead{}
		p.queue = p.queue[1:]
		p.mu.Unlock()
		if j := job.into; j != nil {
			if j.load(pr) {
				job.c.loop.wake(job.c, wakePiece)
			}
			continue
		}
		if job.expect != nil {
			job.expect.load(int(job.off), pr)
			continue
		}
		job.read(pr.byte1[:])
		job.c.loop.wake(job.c, wakeRead)
	}
}

// coldStep is how far apart the bytes are that read waits for.
const coldStep = 128 << 10

// read brings the piece into the page cache: it asks for all of it, and then reads a
// byte here and there, which waits for the page that has it. That spares copying what
// nobody looks at. Errors and the end of the file are left for sendfile to find,
// which is on the loop and can close the connection.
func (job coldRead) read(into []byte) {
	// Without the advice the reads below would fetch their own neighbourhoods.
	_ = unix.Fadvise(job.fd, job.off, int64(job.n), unix.FADV_WILLNEED)
	for n := 0; n < job.n; {
		at := min(n+coldStep, job.n)
		m, err := unix.Pread(job.fd, into[:1], job.off+int64(at)-1)
		if err == unix.EINTR {
			continue
		}
		if err != nil || m == 0 {
			return
		}
		n = at
	}
}

// close ends the goroutines once the queue is empty.
func (p *readers) close() {
	p.mu.Lock()
	p.stop = true
	p.mu.Unlock()
	p.some.Broadcast()
	p.wg.Wait()
}

// readCold has n bytes of p from sent on read, one piece at most; the connection is
// woken when they are there.
func (l *loop) readCold(c *Conn, p *Part, sent, n int) {
	if c.warm.reading {
		return
	}
	n = min(n, coldPiece)
	if c.warm.part != p {
		c.warm = warmRange{part: p, end: sent}
	}
	c.warm.cold, c.warm.reading, c.warm.next = true, true, sent+n
	l.n.coldReads.Add(1)
	l.s.readers.submit(coldRead{c: c, fd: p.Fd, off: p.Off + int64(sent), n: n})
}

// readDone is the loop's side of a piece that was read.
func (l *loop) readDone(c *Conn) {
	c.warm.reading = false
	c.warm.end = c.warm.next
	if c.gone.Load() {
		l.discard(c.orphans)
		c.orphans = nil
	}
}
