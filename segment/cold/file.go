package cold

import (
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// directReads is how often all of a block is read past the page cache before that is given up: a file that is read again and
// again belongs into the page cache. A pass reads some blocks in overlapping pieces, so two passes are sure to be direct.
const directReads = 3

// File is a file that may be read past the page cache. The zero value is one that may not.
type File struct {
	cache   *Cache
	fd      int // the owner's descriptor
	written atomic.Int64

	direct  atomic.Int32 // descriptor with O_DIRECT; 0: not opened yet, -1: cannot be
	opening sync.Mutex

	reads []uint32 // bytes of each block that were read; guarded by cache.mu
}

// Open makes f the file that the descriptor fd, which stays the caller's, has open. cache nil: it is not read here. Before
// f is used by others.
func (f *File) Open(cache *Cache, fd int) { f.cache, f.fd = cache, fd }

// Close closes what f has opened. Nobody reads f any more.
func (f *File) Close() {
	if d := f.direct.Load(); d > 0 {
		_ = unix.Close(int(d))
	}
}

// Written says that bytes below n are in the file and stay as they are.
func (f *File) Written(n int64) {
	for f.cache != nil {
		old := f.written.Load()
		if n <= old || f.written.CompareAndSwap(old, n) {
			return
		}
	}
}

// Cached returns the bytes at off, as many as are in memory, up to BlockSize; nil if they are not. They may be used until
// the block is released. It does not wait.
func (f *File) Cached(off int64) ([]byte, *Block) {
	if f.cache == nil {
		return nil, nil
	}
	return f.cache.cached(f, off)
}

// Copy copies the bytes at off that are in memory, as Cached has them, and returns their number. It is for a look at a few,
// and does not count as a use of the block.
func (f *File) Copy(dst []byte, off int64) int {
	if f.cache == nil {
		return 0
	}
	return f.cache.copy(dst, f, off)
}

// Load is Cached, but what is not in memory is read, waiting for the disk: need bytes and more, at most to the end of the
// block. Nil: they cannot be read so; the page cache is left to be tried, and tells errors. With ahead the bytes are for later.
func (f *File) Load(off int64, need int, ahead bool) ([]byte, *Block) {
	if f.cache == nil {
		return nil, nil
	}
	fd := f.open()
	if fd < 0 {
		return nil, nil
	}
	return f.cache.load(f, fd, off, need, ahead)
}

// open returns the descriptor with O_DIRECT, -1 if there is none.
func (f *File) open() int {
	if d := f.direct.Load(); d != 0 {
		return int(d)
	}
	f.opening.Lock()
	defer f.opening.Unlock()
	if d := f.direct.Load(); d != 0 {
		return int(d)
	}
	// By the descriptor: the name may be another file's by now.
	d, err := unix.Open("/proc/self/fd/"+strconv.Itoa(f.fd), unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	switch err {
	case nil:
	case unix.EINTR, unix.EMFILE, unix.ENFILE, unix.ENOMEM:
		return -1 // perhaps the next time
	default:
		d = -1
	}
	if d == 0 { // means "not opened"
		_ = unix.Close(0)
		return -1
	}
	f.direct.Store(int32(d))
	return d
}

// admit says whether the block at may be read once more. Under cache.mu, like count.
func (f *File) admit(at int64) bool {
	i := int(at / BlockSize)
	return i >= len(f.reads) || f.reads[i] < directReads*BlockSize
}

// count adds what was read of the block at. Bytes and not readings: one pass over a file may come to a block twice, for a
// half each time.
func (f *File) count(at int64, n int) {
	i := int(at / BlockSize)
	if i >= len(f.reads) {
		f.reads = append(f.reads, make([]uint32, i+1-len(f.reads))...)
	}
	if f.reads[i] < directReads*BlockSize { // enough is enough: it must not begin again
		f.reads[i] += uint32(n)
	}
}

// readDirect reads up to len(b) bytes at off, fewer if the file ends or cannot be read.
func readDirect(fd int, b []byte, off int64) (n, reads int) {
	for n < len(b) {
		reads++
		m, err := unix.Pread(fd, b[n:], off+int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil || m == 0 {
			break
		}
		n += m
		if m%align != 0 { // the end of the file; what follows is not aligned
			break
		}
	}
	return n, reads
}
