package server

import (
	"fmt"
	"unsafe"

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
	if !l.resident(c, p, r.sent) {
		if !c.warm.reading {
			l.readCold(c, p, r.sent, p.Len-r.sent)
		}
		return 0, true, nil
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

// resident reports whether the next turn's piece of p is in the page cache, by its
// first and last byte, or was put there by a reader goroutine.
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
	if !l.probe(p.Fd, p.Off+int64(sent)) || !l.probe(p.Fd, p.Off+int64(sent+n-1)) {
		return false
	}
	if !c.warm.reading {
		c.warm = warmRange{part: p, end: sent + n}
	}
	return true
}

// probe reports whether the byte at off can be read without waiting. The end of the
// file counts as such: sendfile will tell. A file system that cannot say (tmpfs) does
// not count: its ranges go through the readers.
func (l *loop) probe(fd int, off int64) bool {
	_, err := l.readNow(fd, l.gather.byte1[:], off, false)
	return err == nil
}

// readNow reads into b what can be read without waiting for a disk; EAGAIN if nothing
// can, or if the file system does not know. With wait it may wait.
func (l *loop) readNow(fd int, b []byte, off int64, wait bool) (int, error) {
	g := &l.gather
	g.one[0].Base = unsafe.SliceData(b)
	g.one[0].SetLen(len(b))
	var flags uintptr = unix.RWF_NOWAIT
	if wait {
		flags = 0
	}
	for {
		n, _, errno := unix.Syscall6(unix.SYS_PREADV2, uintptr(fd), uintptr(unsafe.Pointer(&g.one[0])), 1, uintptr(off), 0, flags)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		case unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL:
			return 0, unix.EAGAIN
		default:
			return 0, errno
		}
	}
}
