package server

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// prober asks whether ranges of files are in the page cache, without allocating. One goroutine uses it.
type prober struct {
	one   [1]unix.Iovec
	byte1 [1]byte
	rng   unix.CachestatRange
	stat  unix.Cachestat_t
	blind bool // the kernel has no cachestat, or does not let us
}

var pageSize = int64(os.Getpagesize())

// resident reports whether n bytes at off are in the page cache: by their number of pages, where the kernel tells, since
// the first and the last may be there because somebody looked at a batch header; and by reading the last byte, since a page
// that is still being read counts as there.
func (p *prober) resident(fd int, off int64, n int) bool {
	if !p.blind {
		p.rng = unix.CachestatRange{Off: uint64(off), Len: uint64(n)}
		_, _, errno := unix.RawSyscall6(unix.SYS_CACHESTAT, uintptr(fd), uintptr(unsafe.Pointer(&p.rng)), uintptr(unsafe.Pointer(&p.stat)), 0, 0, 0)
		switch errno {
		case 0:
			pages := (off+int64(n)-1)/pageSize - off/pageSize + 1
			return int64(p.stat.Cache) >= pages && p.readable(fd, off+int64(n)-1)
		case unix.ENOSYS, unix.EPERM, unix.EOPNOTSUPP:
			p.blind = true
		}
	}
	return p.readable(fd, off) && p.readable(fd, off+int64(n)-1)
}

// readable reports whether the byte at off can be read without waiting. The end of the
// file counts as such: sendfile will tell. A file system that cannot say (tmpfs) does
// not count: its ranges go through the readers.
func (p *prober) readable(fd int, off int64) bool {
	_, err := p.readNow(fd, p.byte1[:], off, false)
	return err == nil
}

// readNow reads into b what can be read without waiting for a disk; EAGAIN if nothing
// can, or if the file system does not know. With wait it may wait.
func (p *prober) readNow(fd int, b []byte, off int64, wait bool) (int, error) {
	p.one[0].Base = unsafe.SliceData(b)
	p.one[0].SetLen(len(b))
	var flags uintptr = unix.RWF_NOWAIT
	if wait {
		flags = 0
	}
	for {
		n, _, errno := unix.Syscall6(unix.SYS_PREADV2, uintptr(fd), uintptr(unsafe.Pointer(&p.one[0])), 1, uintptr(off), 0, flags)
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
