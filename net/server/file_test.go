package server

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// patternAt is the byte at a position of the test file, as in no other place nearby.
func patternAt(pos int64) byte { return byte(uint64(pos) * 2654435761 >> 13) }

// patternFile makes a file of size bytes.
func patternFile(t testing.TB, size int) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "segment"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	b := make([]byte, size)
	for i := range b {
		b[i] = patternAt(int64(i))
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	return f
}

// chill takes the file out of the page cache.
func chill(t testing.TB, f *os.File) {
	t.Helper()
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
}

// rangeRequest asks a rangeServer for n bytes at off.
func rangeRequest(correlation int32, off int64, n int) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(off))
	return requestFrame(0, correlation, binary.BigEndian.AppendUint32(b, uint32(n)))
}

// rangeServer answers with ranges of a file, and from memory for every other one,
// and counts references.
type rangeServer struct {
	f           *os.File
	mem         []byte // the file, if memory is to be served as well
	sndbuf      int    // if not 0: SO_SNDBUF of its connections, for them to be full soon
	given, back atomic.Int64
}

type rangeRef struct {
	h    *rangeServer
	once atomic.Bool
}

func (r *rangeRef) Release() {
	if r.once.Swap(true) {
		panic("released twice")
	}
	r.h.back.Add(1)
}

func (h *rangeServer) ref() Ref {
	h.given.Add(1)
	return &rangeRef{h: h}
}

func (h *rangeServer) Begin(r *Request) {
	if h.sndbuf > 0 {
		_ = unix.SetsockoptInt(r.Conn.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, h.sndbuf)
	}
	off := int64(binary.BigEndian.Uint64(r.Body))
	n := int(binary.BigEndian.Uint32(r.Body[8:]))
	head := binary.BigEndian.AppendUint32(nil, uint32(4+n))
	head = binary.BigEndian.AppendUint32(head, uint32(r.Header.CorrelationID))
	parts := []Part{{Bytes: head, Ref: h.ref()}}
	if h.mem != nil && n > 3 {
		cut := n / 3 // the front from memory, the rest from the file in two ranges
		parts = append(parts, Part{Bytes: h.mem[off : off+int64(cut)], Ref: h.ref()})
		off, n = off+int64(cut), n-cut
	}
	parts = append(parts, Part{Fd: int(h.f.Fd()), Off: off, Len: n / 2, Ref: h.ref()},
		Part{Fd: int(h.f.Fd()), Off: off + int64(n/2), Len: n - n/2, Ref: h.ref()})
	r.Reply(parts...)
}

func (h *rangeServer) released() bool { return h.given.Load() == h.back.Load() }

func checkPattern(t testing.TB, b []byte, off int64) {
	t.Helper()
	for i, v := range b {
		if v != patternAt(off+int64(i)) {
			t.Fatalf("byte %d of the range at %d is wrong", i, off)
		}
	}
}

func TestFileRangesOfEachSizeWarmAndCold(t *testing.T) {
	const size = 12 << 20
	h := &rangeServer{f: patternFile(t, size)}
	s := startServer(t, Options{Handler: h, Loops: 1})
	c := dial(t, s)
	id := int32(0)
	for _, cold := range []bool{false, true} {
		for _, n := range []int{0, 1, 2, 100, smallRange, 2 * smallRange, 2*smallRange + 1, 100 << 10, 1 << 20, 5<<20 + 3, 11 << 20} {
			if cold {
				chill(t, h.f)
			}
			id++
			off := int64(id) * 1111
			c.send(rangeRequest(id, off, n))
			got, b, err := c.receive()
			if err != nil || got != id || len(b) != n {
				t.Fatalf("cold %v, %d bytes: got %d of %d, %v", cold, n, got, len(b), err)
			}
			checkPattern(t, b, off)
		}
	}
	eventually(t, "references are released", h.released)
	st := s.Stats()
	if st.ColdReads == 0 {
		t.Fatal("no range was found to be cold")
	}
	if st.FileBytes == 0 || st.FileBytes >= st.BytesOut {
		t.Fatalf("%d bytes by sendfile of %d", st.FileBytes, st.BytesOut)
	}
}

func TestManySmallRangesShareASend(t *testing.T) {
	h := &rangeServer{f: patternFile(t, 1<<20)}
	s := startServer(t, Options{Handler: h, Loops: 1})
	c := dial(t, s)
	var all []byte
	for i := range int32(500) {
		all = append(all, rangeRequest(i, int64(i)*100, 4000)...)
	}
	go c.send(all)
	for i := range int32(500) {
		got, b, err := c.receive()
		if err != nil || got != i || len(b) != 4000 {
			t.Fatalf("response %d: %d, %d bytes, %v", i, got, len(b), err)
		}
		checkPattern(t, b, int64(i)*100)
	}
	if n := s.Stats().FileBytes; n != 0 {
		t.Fatalf("%d bytes by sendfile", n)
	}
	eventually(t, "references are released", h.released)
}

func TestAFileShorterThanItsResponseClosesTheConnection(t *testing.T) {
	for _, n := range []int{4000, 1 << 20} {
		h := &rangeServer{f: patternFile(t, n/4)}
		s := startServer(t, Options{Handler: h})
		c := dial(t, s)
		c.send(rangeRequest(1, 0, n))
		if _, b, err := c.receive(); err == nil {
			t.Fatalf("got all %d bytes of a file of %d", len(b), n/4)
		}
		eventually(t, "references are released", h.released)
	}
}

func TestABadDescriptorClosesTheConnection(t *testing.T) {
	for _, n := range []int{100, 1 << 20} {
		var ref counted
		s := startServer(t, Options{Handler: handlerFunc(func(r *Request) {
			r.Reply(Part{Bytes: make([]byte, 8)}, Part{Fd: 1 << 20, Len: n, Ref: &ref})
		})})
		c := dial(t, s)
		c.send(requestFrame(0, 1, nil))
		if _, _, err := c.receive(); err == nil {
			_, err = c.Read(make([]byte, 1))
			if err == nil || isTimeout(err) {
				t.Fatalf("connection goes on, %v", err)
			}
		}
		eventually(t, "the reference is released", func() bool { return ref.n.Load() == 1 })
	}
}

func TestLargeMemoryResponses(t *testing.T) {
	mem := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	var ref counted
	s := startServer(t, Options{Handler: handlerFunc(func(r *Request) {
		head := frameOf(r.Header.CorrelationID, nil)
		binary.BigEndian.PutUint32(head, uint32(4+len(mem)))
		r.Reply(Part{Bytes: head}, Part{Bytes: mem, Ref: &ref})
	})})
	c := dial(t, s)
	c.send(requestFrame(0, 5, nil))
	c.want(5, mem)
	eventually(t, "the reference is released", func() bool { return ref.n.Load() == 1 })
}
