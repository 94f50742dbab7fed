package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// slabBytes is the size of a slab, and the most that a frame may have.
	slabBytes = 32 << 20
	// slabCount is how many slabs there are before a new frame waits for the disk.
	slabCount = 8
	// sinkBytes is where the sink's file begins again.
	sinkBytes = 8 << 30
)

// slab is memory that frames are read into. It is written when nothing more is added and
// every frame in it is complete.
type slab struct {
	mem []byte
	n   int
	// refs is the frames being read, and one for being the current slab.
	refs atomic.Int32
}

// slabs are what frames are read into, and the file that full ones are written to.
type slabs struct {
	file *os.File // nil: nothing is written
	free chan *slab
	full chan *slab
	// failed is the first error of the file; nothing is accepted after it.
	failed atomic.Pointer[error]

	mu      sync.Mutex
	current *slab
}

// newSlabs opens the file (none if path is empty) and starts its writer.
func newSlabs(path string) (*slabs, error) {
	s := &slabs{free: make(chan *slab, 1024), full: make(chan *slab, 1024)}
	for range slabCount {
		sl, err := newSlab()
		if err != nil {
			return nil, err
		}
		s.free <- sl
	}
	if path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR|unix.O_DIRECT, 0o644)
		if err != nil {
			return nil, err
		}
		s.file = f
	}
	go s.write()
	return s, nil
}

func newSlab() (*slab, error) {
	mem, err := unix.Mmap(-1, 0, slabBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map a slab: %w", err)
	}
	return &slab{mem: mem}, nil
}

// reserve is room for a frame of n bytes; release follows when it is complete or given
// up. It waits for the disk, but not for ever: frames that are being read by the loop
// that waits here may be what holds all slabs.
func (s *slabs) reserve(n int) (*slab, []byte, error) {
	if n > slabBytes {
		return nil, nil, fmt.Errorf("frame of %d bytes", n)
	}
	if err := s.failed.Load(); err != nil {
		return nil, nil, *err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && s.current.n+n > slabBytes {
		s.release(s.current)
		s.current = nil
	}
	if s.current == nil {
		select {
		case s.current = <-s.free:
		case <-time.After(time.Second):
			sl, err := newSlab()
			if err != nil {
				return nil, nil, err
			}
			s.current = sl
		}
		s.current.n = 0
		s.current.refs.Store(1)
	}
	sl := s.current
	sl.refs.Add(1)
	mem := sl.mem[sl.n : sl.n+n]
	sl.n += n
	return sl, mem, nil
}

// release gives up one reference; the last one hands the slab to the writer.
func (s *slabs) release(sl *slab) {
	if sl.refs.Add(-1) == 0 {
		s.full <- sl
	}
}

// write is the writer goroutine.
func (s *slabs) write() {
	var pos, allocated int64
	for sl := range s.full {
		if s.file != nil && s.failed.Load() == nil {
			if err := s.writeSlab(sl, &pos, &allocated); err != nil {
				s.failed.CompareAndSwap(nil, &err)
			}
		}
		s.free <- sl
	}
}

func (s *slabs) writeSlab(sl *slab, pos, allocated *int64) error {
	size := int64((sl.n + block - 1) / block * block)
	if *pos+size > sinkBytes {
		*pos = 0
	}
	for *allocated < *pos+size {
		if err := unix.Fallocate(int(s.file.Fd()), 0, *allocated, extent); err != nil {
			return fmt.Errorf("allocate at %d: %w", *allocated, err)
		}
		*allocated += extent
	}
	n, err := unix.Pwrite(int(s.file.Fd()), sl.mem[:size], *pos)
	if err == nil && int64(n) < size {
		err = errors.New("short write")
	}
	if err != nil {
		return fmt.Errorf("write at %d: %w", *pos, err)
	}
	*pos += size
	return nil
}
