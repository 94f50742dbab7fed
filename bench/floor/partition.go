package main

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// block is the unit of direct writes in bytes.
	block = 4096
	// bufferBytes is the size of each of a partition's two write buffers.
	bufferBytes = 8 << 20
	// extent is how much of a file is allocated at a time; the first comes with the file,
	// so that no record has to wait for it.
	extent = 256 << 20
)

var errClosed = errors.New("partition is closed")

// span is where a batch is: bytes [pos, pos+size) hold offsets up to last.
type span struct {
	pos, size, last int64
}

// partition is one file and the two buffers it is written from: appends fill one while
// the writer goroutine writes the other.
type partition struct {
	path   string
	direct bool
	out    *os.File // written, with O_DIRECT if direct
	in     *os.File // sent from, through the page cache
	grown  func()
	// sending is held shared by a response while it goes out from in.
	sending sync.RWMutex

	mu        sync.Mutex
	cond      sync.Cond // fill has room or has bytes, or closed
	fill      buffer
	spare     []byte
	spans     []span
	visible   int   // spans that are written
	next      int64 // offset of the next record
	allocated int64
	err       error
	waiting   []func(error)
}

// buffer is bytes that belong at a block-aligned position of the file. Bytes before
// dirty are on disk already: the head of a block that the next write completes.
type buffer struct {
	mem      []byte
	pos      int64
	n, dirty int
}

func openPartition(path string, direct bool, grown func()) (*partition, error) {
	flags := os.O_CREATE | os.O_TRUNC | os.O_RDWR
	if direct {
		flags |= unix.O_DIRECT
	}
	out, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return nil, err
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	p := &partition{path: path, direct: direct, out: out, in: in, grown: grown}
	p.cond.L = &p.mu
	for _, mem := range []*[]byte{&p.fill.mem, &p.spare} {
		if *mem, err = unix.Mmap(-1, 0, bufferBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE); err != nil {
			return nil, errors.Join(fmt.Errorf("map write buffer: %w", err), out.Close(), in.Close())
		}
	}
	if err := p.allocate(extent); err != nil {
		return nil, errors.Join(err, out.Close(), in.Close())
	}
	go p.write()
	return p, nil
}

// append copies a batch of count records into the buffer and returns its base offset;
// written is called when the batch is in the file. It waits while both buffers are full.
func (p *partition) append(batch []byte, count int64, written func(error)) (base int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(batch) > bufferBytes-block {
		return 0, fmt.Errorf("batch of %d bytes is larger than the write buffer", len(batch))
	}
	for p.err == nil && p.fill.n+len(batch) > bufferBytes {
		p.cond.Wait()
	}
	if p.err != nil {
		return 0, p.err
	}
	base = p.next
	p.next += count
	setBaseOffset(batch, base)
	p.spans = append(p.spans, span{pos: p.fill.pos + int64(p.fill.n), size: int64(len(batch)), last: p.next - 1})
	p.fill.n += copy(p.fill.mem[p.fill.n:], batch)
	p.waiting = append(p.waiting, written)
	p.cond.Broadcast()
	return base, nil
}

// write is the writer goroutine: it takes whatever has been appended, as one write.
func (p *partition) write() {
	for {
		full, spans, waiting, ok := p.take()
		if !ok {
			return
		}
		err := p.flush(full)
		p.mu.Lock()
		p.spare = full.mem
		if err == nil {
			p.visible = spans
		} else if p.err == nil {
			p.err = err
		}
		p.cond.Broadcast()
		p.mu.Unlock()
		for _, w := range waiting {
			w(err)
		}
		p.grown()
	}
}

// take swaps the buffers. The new one begins with the block that the old one leaves
// incomplete, since direct writes are of whole blocks.
func (p *partition) take() (full buffer, spans int, waiting []func(error), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.err == nil && p.fill.n == p.fill.dirty {
		p.cond.Wait()
	}
	if p.err != nil {
		for _, w := range p.waiting {
			w(p.err)
		}
		p.waiting = nil
		p.release()
		return buffer{}, 0, nil, false
	}
	full, waiting, p.waiting = p.fill, p.waiting, nil
	tail := full.n % block
	p.fill = buffer{mem: p.spare, pos: full.pos + int64(full.n-tail), n: tail, dirty: tail}
	copy(p.fill.mem, full.mem[full.n-tail:full.n])
	return full, len(p.spans), waiting, true
}

// flush writes a buffer, in whole blocks and durable if the partition is direct.
func (p *partition) flush(b buffer) error {
	end, flags := b.n, 0
	if p.direct {
		end, flags = (b.n+block-1)/block*block, unix.RWF_DSYNC
		clear(b.mem[b.n:end])
	}
	if err := p.allocate(b.pos + int64(end)); err != nil {
		return err
	}
	for done := 0; done < end; {
		n, err := unix.Pwritev2(int(p.out.Fd()), [][]byte{b.mem[done:end]}, b.pos+int64(done), flags)
		if err != nil {
			return fmt.Errorf("write %s at %d: %w", p.path, b.pos+int64(done), err)
		}
		done += n
	}
	return nil
}

// allocate makes the file's blocks up to a position, so that writes do not change its size.
func (p *partition) allocate(to int64) error {
	for p.allocated < to {
		if err := unix.Fallocate(int(p.out.Fd()), 0, p.allocated, extent); err != nil {
			return fmt.Errorf("allocate %s at %d: %w", p.path, p.allocated, err)
		}
		p.allocated += extent
	}
	return nil
}

// read finds the written batches from offset on: as many whole ones as fit into limit
// bytes, but at least one. It returns the range in the file and the end offset.
func (p *partition) read(offset, limit int64) (pos, size, end int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	spans := p.spans[:p.visible]
	if len(spans) > 0 {
		end = spans[len(spans)-1].last + 1
	}
	i := sort.Search(len(spans), func(i int) bool { return spans[i].last >= offset })
	if i == len(spans) {
		return 0, 0, end
	}
	pos = spans[i].pos
	for ; i < len(spans) && (size == 0 || size+spans[i].size <= limit); i++ {
		size += spans[i].size
	}
	return pos, size, end
}

// end is the offset after the last written record.
func (p *partition) end() int64 {
	_, _, end := p.read(1<<62, 0)
	return end
}

// close removes the file and ends the writer goroutine, which frees what it writes with.
// The file is closed when the last response has been sent from it.
func (p *partition) close() {
	p.mu.Lock()
	if p.err == nil {
		p.err = errClosed
	}
	p.cond.Broadcast()
	p.mu.Unlock()
	_ = os.Remove(p.path)
	go func() {
		p.sending.Lock()
		defer p.sending.Unlock()
		_ = p.in.Close()
	}()
}

// release frees the write buffers and the written file; the writer goroutine's last act.
func (p *partition) release() {
	_ = unix.Munmap(p.fill.mem)
	_ = unix.Munmap(p.spare)
	p.fill, p.spare = buffer{}, nil
	_ = p.out.Close()
}
