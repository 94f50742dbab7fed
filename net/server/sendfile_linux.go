package server

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// coldPiece is how much of a range is read into the page cache at a time, bytes.
const coldPiece = 1 << 20

// warmRange is what of the file range being sent is in the page cache: it was probed,
// or a reader goroutine has read it. It is sent without being probed again: if it was
// evicted in the meantime the loop waits for the disk once, but the connection moves on,
// whatever the pressure on the cache.
type warmRange struct {
	part    *Part
	end     int  // the part is warm up to here, from where it was asked for
	cold    bool // it was not when it was probed
	reading bool // a reader goroutine is at work
	next    int  // where it will have got to
}

func (w *warmRange) covers(p *Part, sent, n int) bool { return w.part == p && sent+n <= w.end }

// sendFile sends the next piece of a file range, at most left bytes.
func (l *loop) sendFile(c *Conn, p *Part, left int) (n int, wait bool, err error) {
	r := c.head
	f := p.cold()
	if f != nil {
		if waits, arrived := l.underWay(c, f, p, r.sent); waits || arrived {
			return 0, waits, nil
		}
	}
	if !l.resident(c, p, r.sent) {
		switch {
		case c.warm.reading:
		case f != nil && (c.cold == nil || c.cold.refused != p):
			l.demand(c, f, p, r.sent)
		default:
			l.readCold(c, p, r.sent, p.Len-r.sent)
		}
		return 0, true, nil
	}
	if c.cold != nil && !(c.warm.part == p && c.warm.cold) {
		c.cold.on = false
	}
	want := min(p.Len-r.sent, left)
	if c.warm.part == p {
		if c.warm.end > r.sent {
			want = min(want, c.warm.end-r.sent)
		}
		// Ahead of the sender, so that disk and socket work at the same time.
		if c.warm.cold && !c.warm.reading && c.warm.end < p.Len {
			l.readCold(c, p, c.warm.end, p.Len-c.warm.end)
		}
	}
	off := p.Off + int64(r.sent)
	for {
		n, err = unix.Sendfile(c.fd, p.Fd, &off, want)
		if err != unix.EINTR {
			break
		}
	}
	switch {
	case err == unix.EAGAIN:
		return 0, true, l.s.writable.arm(c)
	case err != nil:
		return 0, false, fmt.Errorf("sendfile at %d: %w", off, err)
	case n == 0:
		return 0, false, errShortFile(p, r.sent)
	}
	l.n.fileBytes.Add(int64(n))
	l.moved(c, n)
	return n, false, nil
}

// errShortFile is for a file that ends before the range that the response promised:
// the size is already sent, so the connection cannot go on.
func errShortFile(p *Part, sent int) error {
	return fmt.Errorf("file ends at %d, within a response range of %d bytes at %d", p.Off+int64(sent), p.Len, p.Off)
}

// resident reports whether the next turn's piece of p is in the page cache, or was put
// there by a reader goroutine.
func (l *loop) resident(c *Conn, p *Part, sent int) bool {
	if c.warm.part == p {
		if sent < c.warm.end {
			return true
		}
		if c.warm.reading {
			return false
		}
	}
	n := min(p.Len-sent, turnBytes)
	if !l.prober.resident(p.Fd, p.Off+int64(sent), n) {
		return false
	}
	if !c.warm.reading {
		c.warm = warmRange{part: p, end: sent + n}
	}
	return true
}
