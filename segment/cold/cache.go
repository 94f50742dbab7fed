package cold

import (
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// BlockSize is the size and the alignment of blocks, bytes.
const BlockSize = 1 << 20

const (
	align    = 4096      // of direct reads, bytes
	leastCut = 64 << 10  // the least that is read at a time, bytes
	wholeCut = 128 << 10 // who wants so much gets the rest of the block, bytes
	hugePage = 2 << 20
	// keepSpent is how many blocks are kept that a reader has gone past, for others close behind it, before one is taken
	// again rather than more memory.
	keepSpent = 8
	// idleAfter is how long memory is kept that nobody uses; up to twice as long.
	idleAfter = 10 * time.Second
)

// Cache is memory for blocks of files.
type Cache struct {
	max int

	mu       sync.Mutex
	loaded   sync.Cond // a block is not loading any more
	blocks   map[key]*Block
	all      []*Block
	memory   []byte // nil until the first block is loaded
	failed   bool   // there is none
	clock    uint64
	tickedAt uint64 // clock when trim last ran
	ticking  bool
	stats    Stats
}

// Stats counts what a cache did.
type Stats struct {
	Bytes    int64 // read from files
	Reads    int64 // system calls for that
	Full     int64 // loads for which there was no memory
	Often    int64 // loads that were left to the page cache
	Resident int64 // memory in use now, bytes
}

type key struct {
	file *File
	at   int64
}

// Block is a stretch of a file in memory. Its bytes may be used until Release.
type Block struct {
	cache *Cache
	mem   []byte // BlockSize of the cache's memory

	// Guarded by cache.mu.
	key       key
	from, end int // mem[from:end] is of the file
	pins      int
	loading   bool
	ahead     bool   // read for later, and not used yet
	spent     bool   // used to the end by its last user
	used      uint64 // clock of the last use
	resident  bool   // its memory was touched
}

// New makes a cache of at most bytes. Memory is taken when it is needed.
func New(bytes int64) *Cache {
	c := &Cache{max: int(max(bytes/BlockSize, 1)), blocks: map[key]*Block{}}
	c.loaded.L = &c.mu
	return c
}

// Stats returns the counters.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	for _, b := range c.all {
		if b.resident {
			s.Resident += BlockSize
		}
	}
	return s
}

// Release ends the use of the block's bytes.
func (b *Block) Release() {
	b.cache.mu.Lock()
	defer b.cache.mu.Unlock()
	if b.pins--; b.pins < 0 {
		panic("cold: block released more often than handed out")
	}
}

// Spent is Release of one who has used the bytes up to the end and does not come back.
func (b *Block) Spent() {
	b.cache.mu.Lock()
	b.spent = true
	b.cache.mu.Unlock()
	b.Release()
}

// get pins the block at off, which is in a block's stretch, or returns nil. Under mu.
func (c *Cache) get(b *Block, off int64) ([]byte, *Block) {
	at := int(off - b.key.at)
	if at < b.from || at >= b.end {
		return nil, nil
	}
	c.clock++
	b.used, b.ahead, b.spent = c.clock, false, false
	b.pins++
	return b.mem[at:b.end:b.end], b
}

// cached is File.Cached.
func (c *Cache) cached(f *File, off int64) ([]byte, *Block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.blocks[key{f, off &^ (BlockSize - 1)}]
	if b == nil || b.loading {
		return nil, nil
	}
	return c.get(b, off)
}

// copy is File.Copy.
func (c *Cache) copy(dst []byte, f *File, off int64) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.blocks[key{f, off &^ (BlockSize - 1)}]
	if b == nil || b.loading {
		return 0
	}
	at := int(off - b.key.at)
	if at < b.from || at >= b.end {
		return 0
	}
	return copy(dst, b.mem[at:b.end])
}

// load is File.Load; fd reads f past the page cache.
func (c *Cache) load(f *File, fd int, off int64, need int, ahead bool) ([]byte, *Block) {
	k := key{f, off &^ (BlockSize - 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.blocks[k]
	for b != nil && b.loading {
		c.loaded.Wait()
		b = c.blocks[k]
	}
	if b != nil {
		if mem, b := c.get(b, off); b != nil {
			return mem, b
		}
		if b.pins > 0 && !b.goesOn(off) {
			return nil, nil
		}
	}
	written := f.written.Load() - k.at
	if int64(off-k.at) >= written {
		return nil, nil
	}
	if b == nil {
		if !f.admit(k.at) {
			c.stats.Often++
			return nil, nil
		}
		if b = c.take(k, ahead); b == nil {
			c.stats.Full++
			return nil, nil
		}
	}
	start, upTo := b.stretch(int(off-k.at), need)
	upTo = int(min(int64(upTo), (written+align-1)&^(align-1)))
	b.loading = true
	b.pins++
	b.resident = true
	c.mu.Unlock()
	n, reads := readDirect(fd, b.mem[start:upTo], k.at+int64(start))
	c.mu.Lock()
	f.count(k.at, n)
	c.stats.Bytes += int64(n)
	c.stats.Reads += int64(reads)
	b.loading = false
	b.pins--
	b.end = max(b.end, int(min(int64(start+n), written)))
	c.loaded.Broadcast()
	c.tick()
	mem, got := c.get(b, off)
	if got == nil && b.end == b.from { // nothing could be read
		delete(c.blocks, k)
		b.key = key{}
		return nil, nil
	}
	if ahead && got != nil {
		b.ahead = true
	}
	return mem, got
}

// stretch says what is to be read for need bytes from at on: [start, upTo) of the block. What the block has stays if
// this goes on where it ends, and then all the rest is read: this reader reads on.
func (b *Block) stretch(at, need int) (start, upTo int) {
	start = at &^ (align - 1)
	upTo = BlockSize
	if b.goesOn(b.key.at + int64(at)) {
		return b.end &^ (align - 1), upTo
	}
	b.from, b.end = start, start
	if need < wholeCut {
		upTo = min(upTo, (at+max(need, leastCut)+align-1)&^(align-1))
	}
	return start, upTo
}

// goesOn reports whether a reading at off continues the block's stretch, whose bytes stay as they are.
func (b *Block) goesOn(off int64) bool {
	at := int(off - b.key.at)
	return b.end > b.from && at >= b.from && at&^(align-1) <= b.end
}

// take makes a block that nobody uses the one of k, nil if there is none. Under mu.
func (c *Cache) take(k key, ahead bool) *Block {
	var free, spent, oldest *Block
	spents := 0
	for _, b := range c.all {
		if b.pins > 0 || b.loading {
			continue
		}
		if b.key.file == nil {
			if free == nil || b.resident {
				free = b
			}
			continue
		}
		if b.spent {
			if spents++; spent == nil || b.used < spent.used {
				spent = b
			}
		}
		if b.ahead && ahead {
			continue
		}
		if oldest == nil || oldest.ahead && !b.ahead || oldest.ahead == b.ahead && b.used < oldest.used {
			oldest = b
		}
	}
	victim := free
	if spents > keepSpent {
		victim = spent // memory that is in use already, and likely in the processor's cache
	}
	if victim == nil && len(c.all) < c.max {
		victim = c.another()
	}
	if victim == nil {
		victim = oldest
	}
	if victim == nil {
		return nil
	}
	if victim.key.file != nil {
		delete(c.blocks, victim.key)
	}
	victim.key, victim.from, victim.end, victim.spent = k, 0, 0, false
	c.blocks[k] = victim
	return victim
}

// another makes one more block; nil if the system gives no memory. Under mu.
func (c *Cache) another() *Block {
	if c.memory == nil && !c.failed {
		// Address space only. Huge pages, because the kernel pins each page that it reads into.
		mem, err := unix.Mmap(-1, 0, c.max*BlockSize+hugePage, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
		c.failed = err != nil
		if err == nil {
			skip := -uintptr(unsafe.Pointer(&mem[0])) & (hugePage - 1)
			c.memory = mem[skip:][:c.max*BlockSize]
			_ = unix.Madvise(c.memory, unix.MADV_HUGEPAGE)
		}
	}
	if c.failed {
		return nil
	}
	n := len(c.all) * BlockSize
	b := &Block{cache: c, mem: c.memory[n : n+BlockSize : n+BlockSize]}
	c.all = append(c.all, b)
	return b
}

// tick has trim called later, if it will not be anyway. Under mu.
func (c *Cache) tick() {
	if !c.ticking {
		c.ticking = true
		time.AfterFunc(idleAfter, c.trim)
	}
}

// trim gives the memory of blocks back that nobody has used since it last ran.
func (c *Cache) trim() {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := false
	for _, b := range c.all {
		if !b.resident {
			continue
		}
		if b.pins > 0 || b.loading || b.used > c.tickedAt {
			left = true
			continue
		}
		if b.key.file != nil {
			delete(c.blocks, b.key)
			b.key = key{}
		}
		b.resident = false
		b.pins++ // nobody takes it meanwhile
		c.mu.Unlock()
		_ = unix.Madvise(b.mem, unix.MADV_DONTNEED)
		c.mu.Lock()
		b.pins--
	}
	c.tickedAt = c.clock
	if c.ticking = left; left {
		time.AfterFunc(idleAfter, c.trim)
	}
}
