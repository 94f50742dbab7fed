package server

import (
	"bytes"
	"encoding/binary"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"log/slog"

	"golang.org/x/sys/unix"
)

// logBuffer collects log lines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestWhatIsNoFrameClosesTheConnection(t *testing.T) {
	length := func(n uint32, rest ...byte) []byte { return append(binary.BigEndian.AppendUint32(nil, n), rest...) }
	for name, tc := range map[string]struct {
		send []byte
		log  string
		stat func(Stats) int64
	}{
		"negative length":      {length(0xffffffff), "-1", func(s Stats) int64 { return s.Malformed }},
		"length zero":          {length(0), "no Kafka request", func(s Stats) int64 { return s.Malformed }},
		"too long":             {length(100<<20 + 1), "104857601", func(s Stats) int64 { return s.TooLarge }},
		"http":                 {[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP", func(s Stats) int64 { return s.TooLarge }},
		"http post":            {[]byte("POST /x HTTP/1.1\r\n\r\n"), "HTTP", func(s Stats) int64 { return s.TooLarge }},
		"tls":                  {[]byte{0x16, 3, 1, 2, 0, 1, 0, 1}, "TLS", func(s Stats) int64 { return s.TooLarge }},
		"header too short":     {length(3, 1, 2, 3), "no Kafka request", func(s Stats) int64 { return s.Malformed }},
		"client id lies":       {length(11, 0, 0, 0, 3, 0, 0, 0, 1, 0, 9, 'x'), "no Kafka request", func(s Stats) int64 { return s.Malformed }},
		"control too long":     {length(17<<20, 0, 3, 0, 0), "17825792", func(s Stats) int64 { return s.TooLarge }},
		"control byte by byte": {length(17<<20, 0, 18), "17825792", func(s Stats) int64 { return s.TooLarge }},
	} {
		t.Run(name, func(t *testing.T) {
			var log logBuffer
			s := startServer(t, Options{Handler: echo, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			good := dial(t, s)
			good.send(requestFrame(0, 1, []byte("before")))
			good.want(1, []byte("before"))
			c := dial(t, s)
			if name == "control byte by byte" {
				for i := range tc.send {
					c.send(tc.send[i : i+1])
				}
			} else {
				c.send(tc.send)
			}
			c.wantClosed()
			if tc.stat(s.Stats()) != 1 {
				t.Errorf("not counted: %+v", s.Stats())
			}
			if !strings.Contains(log.String(), tc.log) {
				t.Errorf("log says nothing of %q: %s", tc.log, log.String())
			}
			good.send(requestFrame(0, 2, []byte("after")))
			good.want(2, []byte("after"))
		})
	}
}

func TestHintsAreLoggedOnceAMinute(t *testing.T) {
	var o onceAMinute
	now := time.Now()
	for _, tc := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {time.Second, false}, {59 * time.Second, false}, {61 * time.Second, true}, {62 * time.Second, false}} {
		if got := o.ok(now.Add(tc.after)); got != tc.want {
			t.Errorf("after %v: %v", tc.after, got)
		}
	}
}

func TestALengthAloneCostsNothing(t *testing.T) {
	s := startServer(t, Options{Handler: echo})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var conns []*client
	for range 20 {
		c := dial(t, s)
		c.send(binary.BigEndian.AppendUint32(nil, 100<<20))
		conns = append(conns, c)
	}
	eventually(t, "lengths are read", func() bool { return s.Stats().BytesIn == 80 })
	if n := s.Stats().InputBytes; n != 0 {
		t.Errorf("%d bytes charged for lengths", n)
	}
	for _, c := range conns {
		c.send([]byte{0, 0, 0, 3})
	}
	eventually(t, "first bytes are read", func() bool { return s.Stats().BytesIn == 160 })
	if n := s.Stats().InputBytes; n > 20*firstBytes {
		t.Errorf("%d bytes charged for 4 bytes of 20 frames", n)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("%d bytes allocated", n)
	}
}

func TestFrameMemoryFollowsWhatArrived(t *testing.T) {
	for _, need := range []int{1, 600, 5000, 64 << 10, 1<<20 + 200, 3 << 20, 100 << 20} {
		have, steps := 1, 0
		for {
			n := frameCapacity(need, have)
			if n > need || n < min(need, have) {
				t.Fatalf("capacity %d for %d of %d", n, have, need)
			}
			if n > max(firstBytes, eagerFactor*have) {
				t.Fatalf("capacity %d when %d bytes have arrived", n, have)
			}
			if n == need {
				break
			}
			have = n + 1
			if steps++; steps > 12 {
				t.Fatalf("frame of %d grows in too many steps", need)
			}
		}
	}
	if frameCapacity(1<<20+100, 60<<10) != 1<<20+100 {
		t.Error("a request with 1 MiB of records is moved after its first read")
	}
}

func TestSizeClasses(t *testing.T) {
	last := -1
	for n := 1; n <= pooledMax; n += 1 + n/50 {
		class, size := sizeClass(n)
		if size < n || n > 1<<minClassBits && size > n+n/4 {
			t.Fatalf("%d bytes in a buffer of %d", n, size)
		}
		if class < last || class >= len(bufferPools) {
			t.Fatalf("%d bytes in class %d, after %d", n, class, last)
		}
		if again, same := sizeClass(size); again != class || same != size {
			t.Fatalf("class %d of %d bytes holds %d", class, size, same)
		}
		last = class
		b := getBuffer(n)
		if len(b.b) < n {
			t.Fatalf("buffer of %d for %d", len(b.b), n)
		}
		b.free()
	}
}

func TestLargeBuffersAreKeptUpToABound(t *testing.T) {
	var l largeBuffers
	big := l.get(20 << 20)
	l.put(big)
	if b := l.get(1 << 20); b != big {
		t.Error("a large free buffer was not used for a small frame")
	}
	l.put(big)
	for range 20 {
		l.put(&buffer{b: make([]byte, 4<<20), class: -1})
	}
	if l.bytes > keepLarge || !slices.Contains(l.free, big) {
		t.Errorf("%d bytes kept, the largest among them: %v; want at most %d", l.bytes, slices.Contains(l.free, big), keepLarge)
	}
	l.put(&buffer{b: make([]byte, keepLarge+1), class: -1})
	if l.bytes > keepLarge {
		t.Errorf("%d bytes kept after one that is larger than the bound", l.bytes)
	}
}

func TestConnectionLimits(t *testing.T) {
	for name, o := range map[string]Options{
		"in all": {MaxConnections: 3},
		"per ip": {MaxConnectionsIP: 3},
	} {
		t.Run(name, func(t *testing.T) {
			o.Handler = echo
			s := startServer(t, o)
			var good []*client
			for i := range 3 {
				c := dial(t, s)
				c.send(requestFrame(0, int32(i), nil))
				c.want(int32(i), nil)
				good = append(good, c)
			}
			dial(t, s).wantClosed()
			if st := s.Stats(); st.Refused != 1 || st.Accepted != 3 || st.Connections != 3 {
				t.Fatalf("%+v", st)
			}
			_ = good[0].Close()
			eventually(t, "a place is free", func() bool { return s.Stats().Connections == 2 })
			c := dial(t, s)
			c.send(requestFrame(0, 9, nil))
			c.want(9, nil)
		})
	}
}

func TestOutOfDescriptorsOthersGoOn(t *testing.T) {
	var log logBuffer
	s := startServer(t, Options{Handler: echo, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	good := dial(t, s)
	good.send(requestFrame(0, 1, nil))
	good.want(1, nil)
	// The client's sockets exist before the limit, the server's do not.
	var fds []int
	for range 3 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		fds = append(fds, fd)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := unix.Rlimit{Cur: 3, Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	restore := sync.OnceFunc(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) })
	defer restore()
	addr := &unix.SockaddrInet4{Port: int(s.Listeners()[0].Addr.Port()), Addr: [4]byte{127, 0, 0, 1}}
	for _, fd := range fds {
		if err := unix.Connect(fd, addr); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "accept fails", func() bool { return s.Stats().AcceptErrors >= 2 })
	good.send(requestFrame(0, 2, nil))
	good.want(2, nil)
	if n := s.Stats().AcceptErrors; n > 50 {
		t.Errorf("accept was tried %d times", n)
	}
	restore()
	eventually(t, "the others are accepted", func() bool { return s.Stats().Connections == 4 })
	if n := strings.Count(log.String(), "cannot accept"); n != 1 {
		t.Errorf("%d log lines: %s", n, log.String())
	}
}

func TestIdleConnectionsAreCheap(t *testing.T) {
	const n = 500
	s := startServer(t, Options{Handler: echo})
	first := dial(t, s)
	first.send(requestFrame(0, 1, nil))
	first.want(1, nil)
	runtime.GC()
	var before, after runtime.MemStats
	goroutines := runtime.NumGoroutine()
	runtime.ReadMemStats(&before)
	conns := make([]net.Conn, n)
	for i := range conns {
		conns[i] = dial(t, s)
	}
	for i, c := range conns {
		cl := c.(*client)
		cl.send(requestFrame(0, int32(i), make([]byte, 100)))
		cl.want(int32(i), make([]byte, 100))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	// The client's half is in this process as well.
	if per := int64(after.HeapAlloc-before.HeapAlloc) / n; per > 4096 {
		t.Errorf("%d bytes of heap for each connection", per)
	}
	if more := runtime.NumGoroutine() - goroutines; more > 5 {
		t.Errorf("%d more goroutines for %d connections", more, n)
	}
}
