package server

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestHostileClients has many clients pipeline requests over tiny windows, read slowly,
// stop in mid-response and reset. Whole responses must be right to the byte, every
// reference must come back once, and nothing may stay behind.
func TestHostileClients(t *testing.T) {
	const size = 8 << 20
	h := &rangeServer{f: patternFile(t, size), mem: make([]byte, size), sndbuf: 64 << 10}
	for i := range h.mem {
		h.mem[i] = patternAt(int64(i))
	}
	beHostile(t, size, h, h.f, h.released)
}

// The same with a file that has memory for a part of what they ask for.
func TestHostileClientsOfAColdFile(t *testing.T) {
	const size = 8 << 20
	m := newMemoryFile(patternFile(t, size), 12, 4)
	beHostile(t, size, handlerFunc(func(r *Request) {
		_ = unix.SetsockoptInt(r.Conn.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 64<<10)
		m.Begin(r)
	}), m.f, m.idle)
	if m.loads.Load() == 0 || m.declined.Load() == 0 {
		t.Errorf("%d loads, %d declined", m.loads.Load(), m.declined.Load())
	}
}

// beHostile runs the clients against h, which serves f.
func beHostile(t *testing.T, size int, h Handler, f *os.File, released func() bool) {
	t.Helper()
	s := startServer(t, Options{Handler: h, Loops: 2, MaxConnRequests: 4})
	stop := make(chan struct{})
	var chilled sync.WaitGroup
	chilled.Add(1)
	go func() { // cold ranges now and then
		defer chilled.Done()
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
			}
		}
	}()
	var whole, cut atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(1500 * time.Millisecond)
	for i := range 48 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewSource(int64(i)))
			for time.Now().Before(end) {
				n, err := hostileClient(r, s.Listeners()[0].Addr.String(), size)
				whole.Add(int64(n))
				if errors.Is(err, errAborted) {
					cut.Add(1)
				} else if err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
			}
		}()
	}
	wg.Wait()
	close(stop)
	chilled.Wait()
	eventually(t, "connections, requests and references are gone", func() bool {
		st := s.Stats()
		return st.Connections == 0 && st.InFlight == 0 && st.InputBytes == 0 && st.Paused == 0 && released()
	})
	st := s.Stats()
	if whole.Load() < 50 || cut.Load() < 10 || st.ColdReads == 0 || st.Panics > 0 {
		t.Fatalf("%d whole responses, %d aborted connections, %+v", whole.Load(), cut.Load(), st)
	}
}

var errAborted = errors.New("client aborted")

// hostileClient makes one connection and returns how many responses it read.
func hostileClient(r *rand.Rand, addr string, size int) (whole int, err error) {
	d := net.Dialer{}
	if r.Intn(2) == 0 {
		d.Control = tinyWindow
	}
	nc, err := d.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	c := nc.(*net.TCPConn)
	defer c.Close()
	if r.Intn(2) == 0 {
		_ = c.SetLinger(0) // close is a reset
	}
	_ = c.SetDeadline(time.Now().Add(15 * time.Second))
	k := 1 + r.Intn(8)
	offs, sizes := make([]int64, k), make([]int, k)
	var all []byte
	for j := range k {
		sizes[j] = 1 + r.Intn([]int{100, 20 << 10, 1 << 20}[r.Intn(3)])
		offs[j] = int64(r.Intn(size - 2<<20))
		all = append(all, rangeRequest(int32(j), offs[j], sizes[j])...)
	}
	if _, err := c.Write(all); err != nil {
		return 0, err
	}
	h := &hostileReader{c: c, r: r, abort: -1, slow: r.Intn(4) == 0}
	if r.Intn(2) == 0 {
		h.abort = r.Intn(1 << 20)
	}
	for j := range k {
		var head [8]byte
		if _, err := io.ReadFull(h, head[:]); err != nil {
			return whole, err
		}
		if int(binary.BigEndian.Uint32(head[:])) != sizes[j]+4 || int(binary.BigEndian.Uint32(head[4:])) != j {
			return whole, errors.New("wrong header: the stream is corrupt")
		}
		b := make([]byte, sizes[j])
		if _, err := io.ReadFull(h, b); err != nil {
			return whole, err
		}
		for q := 0; q < len(b); q += 97 {
			if b[q] != patternAt(offs[j]+int64(q)) {
				return whole, errors.New("wrong data")
			}
		}
		whole++
	}
	return whole, nil
}

// tinyWindow has a socket announce a small window; after connecting it is too late.
func tinyWindow(_, _ string, rc syscall.RawConn) error {
	return rc.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 32<<10) })
}

// hostileReader reads in random pieces, slowly or not, and stops after abort bytes.
type hostileReader struct {
	c     net.Conn
	r     *rand.Rand
	got   int
	abort int
	slow  bool
}

func (h *hostileReader) Read(b []byte) (int, error) {
	if h.abort >= 0 && h.got > h.abort {
		return 0, errAborted
	}
	if h.slow {
		time.Sleep(time.Duration(h.r.Intn(1000)) * time.Microsecond)
		b = b[:min(len(b), 1+h.r.Intn(64<<10))]
	}
	n, err := h.c.Read(b)
	h.got += n
	return n, err
}
