package server

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// memoryFile is the pattern file of the other tests as one that keeps blocks in memory. It takes what it is asked for
// literally: no block stays longer than it is held, unless keep says so, and at most room are held at a time.
type memoryFile struct {
	f     *os.File
	room  int           // blocks that may be held
	keep  int           // blocks that stay when nobody holds them
	enter chan struct{} // if not nil: gets a value when a Load begins
	gate  chan struct{} // if not nil: a Load waits for a value

	refs, holds, loads, declined atomic.Int64

	mu     sync.Mutex
	blocks map[int64][]byte
	order  []int64
}

func newMemoryFile(f *os.File, room, keep int) *memoryFile {
	return &memoryFile{f: f, room: room, keep: keep, blocks: map[int64][]byte{}}
}

func (m *memoryFile) Retain()  { m.refs.Add(1) }
func (m *memoryFile) Release() { m.refs.Add(-1) }

// memoryHold is one hold; it must be given back once.
type memoryHold struct {
	m    *memoryFile
	once atomic.Bool
}

func (h *memoryHold) Release() {
	if h.once.Swap(true) {
		panic("hold released twice")
	}
	h.m.holds.Add(-1)
}

func (h *memoryHold) Spent() { h.Release() }

func (m *memoryFile) hold(b []byte, off int64) ([]byte, Hold) {
	at := off % aheadBlock
	if int64(len(b)) <= at {
		return nil, nil
	}
	m.holds.Add(1)
	return b[at:], &memoryHold{m: m}
}

func (m *memoryFile) Cached(off int64) ([]byte, Hold) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hold(m.blocks[off/aheadBlock], off)
}

func (m *memoryFile) Load(off int64, need int, ahead bool) ([]byte, Hold) {
	m.loads.Add(1)
	if m.refs.Load() <= 0 {
		panic("file read without a reference")
	}
	if m.enter != nil {
		m.enter <- struct{}{}
	}
	if m.gate != nil {
		<-m.gate
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if int(m.holds.Load()) >= m.room {
		m.declined.Add(1)
		return nil, nil
	}
	b := make([]byte, aheadBlock)
	n, _ := m.f.ReadAt(b, off/aheadBlock*aheadBlock)
	_ = unix.Fadvise(int(m.f.Fd()), 0, 0, unix.FADV_DONTNEED) // the real one reads past the page cache
	if m.keep > 0 {
		if len(m.order) == m.keep {
			delete(m.blocks, m.order[0])
			m.order = m.order[1:]
		}
		m.blocks[off/aheadBlock] = b[:n]
		m.order = append(m.order, off/aheadBlock)
	}
	return m.hold(b[:n], off)
}

// idle reports whether everything was given back.
func (m *memoryFile) idle() bool { return m.refs.Load() == 0 && m.holds.Load() == 0 }

// Begin answers as rangeServer does, in as many parts as the request is long.
func (m *memoryFile) Begin(r *Request) {
	off := int64(binary.BigEndian.Uint64(r.Body))
	n := int(binary.BigEndian.Uint32(r.Body[8:]))
	head := binary.BigEndian.AppendUint32(nil, uint32(4+n))
	head = binary.BigEndian.AppendUint32(head, uint32(r.Header.CorrelationID))
	parts := []Part{{Bytes: head}}
	for left := n; left > 0; {
		step := min(left, n/3+1)
		m.Retain()
		parts = append(parts, Part{Fd: int(m.f.Fd()), Off: off + int64(n-left), Len: step, Ref: m})
		left -= step
	}
	r.Reply(parts...)
}

func TestColdRangesComeFromTheMemoryOfTheirFile(t *testing.T) {
	const size = 12<<20 + 777
	for _, keep := range []int{0, 1, 3, 64} {
		t.Run(fmt.Sprint("keep ", keep), func(t *testing.T) {
			m := newMemoryFile(patternFile(t, size), 64, keep)
			s := startServer(t, Options{Handler: m, Loops: 1})
			c := dial(t, s)
			id := int32(0)
			for _, n := range []int{1, 3 * smallRange, 4*smallRange + 1, 100 << 10, 1 << 20, 3<<20 + 3, 11 << 20, size - 15*1111} {
				chill(t, m.f)
				id++
				off := int64(id) * 1111
				c.send(rangeRequest(id, off, n))
				got, b, err := c.receive()
				if err != nil || got != id || len(b) != n {
					t.Fatalf("%d bytes: got %d of %d, %v", n, got, len(b), err)
				}
				checkPattern(t, b, off)
			}
			eventually(t, "references and holds are given back", m.idle)
			if m.loads.Load() == 0 {
				t.Error("nothing was read past the page cache")
			}
		})
	}
}

func TestPipelinedColdRangesKeepTheirOrder(t *testing.T) {
	m := newMemoryFile(patternFile(t, 12<<20), 64, 8)
	s := startServer(t, Options{Handler: m, Loops: 1})
	c := dial(t, s)
	chill(t, m.f)
	var all []byte
	for i := range int32(40) {
		all = append(all, rangeRequest(i, int64(i)*234_567, 1<<20+int(i))...)
	}
	go c.send(all)
	for i := range int32(40) {
		got, b, err := c.receive()
		if err != nil || got != i || len(b) != 1<<20+int(i) {
			t.Fatalf("response %d: %d, %d bytes, %v", i, got, len(b), err)
		}
		checkPattern(t, b, int64(i)*234_567)
	}
	eventually(t, "references and holds are given back", m.idle)
	if n := s.Stats().FileBytes; n > 4<<20 {
		t.Errorf("%d bytes by sendfile", n)
	}
}

func TestWithoutMemoryColdRangesGoByThePageCache(t *testing.T) {
	const size = 12 << 20
	m := newMemoryFile(patternFile(t, size), 0, 0)
	s := startServer(t, Options{Handler: m, Loops: 1})
	c := dial(t, s)
	chill(t, m.f)
	for i := range int32(3) {
		c.send(rangeRequest(i, int64(i), 11<<20))
		got, b, err := c.receive()
		if err != nil || got != i || len(b) != 11<<20 {
			t.Fatalf("got %d of %d, %v", got, len(b), err)
		}
		checkPattern(t, b, int64(i))
	}
	eventually(t, "references and holds are given back", m.idle)
	if st := s.Stats(); m.declined.Load() == 0 || st.FileBytes < 33<<20-1<<16 {
		t.Errorf("declined %d times, %d bytes by sendfile", m.declined.Load(), st.FileBytes)
	}
}

func TestAColdFileShorterThanItsResponseClosesTheConnection(t *testing.T) {
	for _, n := range []int{40_000, 3 << 20} {
		m := newMemoryFile(patternFile(t, n/4), 64, 64)
		s := startServer(t, Options{Handler: m})
		c := dial(t, s)
		chill(t, m.f)
		c.send(rangeRequest(1, 0, n))
		if _, b, err := c.receive(); err == nil {
			t.Fatalf("got all %d bytes of a file of %d", len(b), n/4)
		}
		eventually(t, "references and holds are given back", m.idle)
	}
}

func TestAConnectionClosedWhileItsFileIsReadLeavesNothing(t *testing.T) {
	m := newMemoryFile(patternFile(t, 8<<20), 64, 0)
	m.enter, m.gate = make(chan struct{}, 16), make(chan struct{})
	s := startServer(t, Options{Handler: m, Loops: 1})
	c := dial(t, s)
	chill(t, m.f)
	c.send(rangeRequest(1, 0, 4<<20))
	<-m.enter
	_ = c.Close()
	eventually(t, "the connection is gone", func() bool { return s.Stats().Connections == 0 })
	if m.refs.Load() == 0 {
		t.Error("the file was given back while it is read")
	}
	close(m.gate)
	eventually(t, "references and holds are given back", m.idle)
	if n := s.Stats().InFlight; n != 0 {
		t.Errorf("%d requests in flight", n)
	}
}

// A client that takes nothing holds a piece or three of a file, and not the loop; when it is closed they are given back.
func TestASlowReaderOfAColdFileHoldsLittle(t *testing.T) {
	m := newMemoryFile(patternFile(t, 12<<20), 64, 64)
	s := startServer(t, Options{Handler: m, Loops: 1, SlowReaderTimeout: 500 * time.Millisecond})
	chill(t, m.f)
	for range 5 {
		dial(t, s).send(bytes.Repeat(rangeRequest(1, 0, 11<<20), 3))
	}
	good := dial(t, s)
	most := int64(0)
	for i := range int32(100) {
		good.send(rangeRequest(i, int64(i), 30_000))
		if got, b, err := good.receive(); err != nil || got != i || len(b) != 30_000 {
			t.Fatalf("response %d: %d, %d bytes, %v", i, got, len(b), err)
		}
		most = max(most, m.holds.Load())
	}
	if limit := int64(6 * (1 + aheadDepth)); most > limit {
		t.Errorf("%d holds for 6 connections, want at most %d", most, limit)
	}
	eventually(t, "the slow readers are closed", func() bool { return s.Stats().SlowReaders == 5 })
	_ = good.Close()
	eventually(t, "references and holds are given back", m.idle)
}
