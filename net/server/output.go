package server

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// turnBytes is what one connection may send before others have a turn: a MiB, which
	// is what a consumer asks for, and what goes with it.
	turnBytes = 1<<20 + 64<<10
	// passBytes is what a pass may send before the loop looks at its sockets again.
	passBytes = 4 << 20
	// gatherParts is the most pieces in one sendmsg.
	gatherParts = 128
	// smallRange is the size up to which a file range is copied into the sendmsg
	// that carries its header, rather than sent by a sendfile of its own.
	smallRange  = 8 << 10
	scratchSize = 64 << 10
)

var errDrained = errors.New("server is shutting down")

// gather is what one sendmsg sends: pieces of memory, of one or more responses. One
// per loop; it is empty between flushes.
type gather struct {
	iov     [gatherParts]unix.Iovec
	n       int // pieces
	bytes   int
	more    bool // a file range follows at once
	scratch []byte
	used    int    // bytes of scratch
	holds   []Hold // of memory that pieces are of
	spent   []Hold // and of memory that ends with them
	msg     unix.Msghdr
}

func (g *gather) reset() {
	clear(g.iov[:g.n])
	for _, h := range g.holds {
		h.Release()
	}
	for _, h := range g.spent {
		h.Spent()
	}
	clear(g.holds)
	clear(g.spent)
	g.holds, g.spent = g.holds[:0], g.spent[:0]
	g.n, g.bytes, g.more, g.used = 0, 0, false, 0
}

func (g *gather) add(b []byte) {
	g.iov[g.n].Base = unsafe.SliceData(b)
	g.iov[g.n].SetLen(len(b))
	g.n++
	g.bytes += len(b)
}

// flush sends the answered requests at the head of c's queue, until they are sent, the
// socket is full, a file range must be read first, or the turn is over; whatever stops
// it has arranged for the next flush. An error means that c is to be closed.
func (l *loop) flush(c *Conn) error {
	for left := turnBytes; !c.armed; {
		l.popSent(c)
		r := c.head
		if r == nil || !r.ready {
			c.stall = stall{}
			break
		}
		if r.failed {
			l.n.failed.Add(1)
			return errors.New(r.reason)
		}
		if left <= 0 {
			l.requeue(c)
			break
		}
		n, wait, err := l.sendSome(c, left)
		if err != nil {
			return err
		}
		left -= n
		if wait {
			break
		}
	}
	return l.flushed(c)
}

// flushed looks what the flush that just ended allows.
func (l *loop) flushed(c *Conn) error {
	c.settle()
	if c.paused && l.resumable(c) {
		l.requeue(c)
	}
	if l.draining && c.head == nil {
		return errDrained
	}
	return nil
}

// sendSome sends the next bytes of c, at most left: a gathered sendmsg, or a piece of
// a file that is not in memory of ours. wait says that nothing more can be sent now.
func (l *loop) sendSome(c *Conn, left int) (n int, wait bool, err error) {
	r := c.head
	if p := &r.parts[r.part]; p.Fd != 0 && p.Len-r.sent > smallRange && l.memory(c, r, r.part, r.sent) == nil {
		return l.sendFile(c, p, left)
	}
	g := &l.gather
	err = l.collect(c, left)
	if err == nil && g.n > 0 {
		n, wait, err = l.sendGathered(c)
	} else if err == nil {
		wait = true // the first piece is a small range that is being read
	}
	g.reset()
	return n, wait, err
}

// collect fills the gather with pieces from the head of c's queue: memory, and small
// file ranges that are in the page cache. It stops before a large range.
func (l *loop) collect(c *Conn, left int) error {
	g := &l.gather
	for r := c.head; r != nil && r.ready && !r.failed; r = r.next {
		sent := r.sent
		for i := r.part; i < len(r.parts); i++ {
			p := &r.parts[i]
			if g.n == gatherParts || g.bytes >= left {
				return nil
			}
			if p.Fd != 0 {
				sent = l.collectMemory(c, r, i, sent, left)
				if sent < p.Len && (g.n == gatherParts || g.bytes >= left) {
					return nil
				}
			}
			switch {
			case p.Fd == 0:
				b := p.Bytes[sent:]
				if b = b[:min(len(b), left-g.bytes)]; len(b) > 0 {
					g.add(b)
				}
			case p.Len-sent > smallRange:
				g.more = l.resident(c, p, sent)
				return nil
			case p.Len > sent:
				ok, err := l.collectRange(c, p, sent)
				if !ok || err != nil {
					return err
				}
			}
			sent = 0
		}
	}
	return nil
}

// collectMemory adds what of the range is in memory, and returns how far it came.
func (l *loop) collectMemory(c *Conn, r *Request, i, sent, left int) int {
	g, p := &l.gather, &r.parts[i]
	for sent < p.Len && g.n < gatherParts && g.bytes < left {
		b := l.memory(c, r, i, sent)
		if b == nil {
			break
		}
		b = b[:min(len(b), left-g.bytes)]
		g.add(b)
		sent += len(b)
	}
	return sent
}

// collectRange copies a small range that is in the page cache. ok is false if the
// gather must end before it.
func (l *loop) collectRange(c *Conn, p *Part, sent int) (ok bool, err error) {
	g := &l.gather
	n := p.Len - sent
	if c.warm.reading && c.warm.part == p {
		return false, nil // the part ends, and its file with it, after the reader
	}
	if g.scratch == nil {
		g.scratch = make([]byte, scratchSize)
	}
	if n > len(g.scratch)-g.used {
		return false, nil
	}
	into := g.scratch[g.used : g.used+n]
	warm := c.warm.covers(p, sent, n)
	got, err := l.prober.readNow(p.Fd, into, p.Off+int64(sent), warm)
	switch {
	case err == unix.EAGAIN || err == nil && got > 0 && got < n && !warm:
		if g.n == 0 {
			l.readCold(c, p, sent, n)
		}
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read range of a response at %d: %w", p.Off+int64(sent), err)
	case got < n:
		return false, errShortFile(p, sent+got)
	}
	g.used += n
	g.add(into)
	return true, nil
}

// sendGathered sends the gather and moves c's queue on by what the socket took.
func (l *loop) sendGathered(c *Conn) (n int, wait bool, err error) {
	g := &l.gather
	flags := unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL
	if g.more {
		flags |= unix.MSG_MORE // header and records share a segment
	}
	for {
		n, err = g.sendmsg(c.fd, flags)
		if err != unix.EINTR {
			break
		}
	}
	switch {
	case err == unix.EAGAIN:
		return 0, true, l.s.writable.arm(c)
	case err != nil:
		return 0, false, fmt.Errorf("sendmsg: %w", err)
	}
	whole := n == g.bytes
	l.moved(c, n)
	if !whole {
		return n, true, l.s.writable.arm(c)
	}
	return n, false, nil
}

// sendmsg is the bare system call: unix.SendmsgBuffers allocates its iovecs.
func (g *gather) sendmsg(fd, flags int) (int, error) {
	g.msg.Iov = &g.iov[0]
	g.msg.SetIovlen(g.n)
	n, _, errno := unix.Syscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&g.msg)), uintptr(flags))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// moved moves the head of c's queue on by n bytes that are sent, releasing the parts
// that are complete.
func (l *loop) moved(c *Conn, n int) {
	l.n.bytesOut.Add(int64(n))
	l.passSent += n
	c.stall.sent += n
	if n > 0 {
		c.stall.moved = l.now
		c.active = l.now
	}
	for n > 0 {
		l.popSent(c) // what is empty has no bytes among the n
		r := c.head
		p := &r.parts[r.part]
		step := min(n, p.size()-r.sent)
		r.sent += step
		n -= step
		if r.sent == p.size() {
			if c.warm.part == p {
				c.warm = warmRange{} // the memory of p is used again
			}
			if c.cold != nil && c.cold.refused == p {
				c.cold.refused = nil
			}
			if c.cold != nil && c.cold.on && p.Fd != 0 {
				c.cold.expect.add(p)
			}
			p.release()
			r.part++
			r.sent = 0
		}
	}
}

// popSent skips empty parts and takes requests with nothing left to send off the
// queue.
func (l *loop) popSent(c *Conn) {
	for r := c.head; r != nil && r.ready && !r.failed; r = c.head {
		for r.part < len(r.parts) && r.parts[r.part].size() == 0 {
			r.parts[r.part].release()
			r.part++
		}
		if r.part < len(r.parts) {
			return
		}
		if c.cold != nil && c.cold.expect.n > 0 {
			l.meet(c)
		}
		c.pop()
	}
}
