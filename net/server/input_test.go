package server

import (
	"bytes"
	"encoding/binary"
	"io"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"millrace/net/wire"
)

// framesOf reads a stream the plain way: the bodies of its complete frames, and whether
// something in it is to be refused.
func framesOf(stream []byte, o *Options) (bodies [][]byte, refused bool) {
	for len(stream) >= prefixBytes {
		n := int(int32(binary.BigEndian.Uint32(stream)))
		if n <= 0 || n > o.MaxFrameBytes {
			return bodies, true
		}
		stream = stream[prefixBytes:]
		if n > o.MaxControlBytes && len(stream) >= 2 && binary.BigEndian.Uint16(stream) != wire.KeyProduce {
			return bodies, true
		}
		if len(stream) < n {
			return bodies, false
		}
		_, body, err := wire.ParseRequestHeader(stream[:n])
		if err != nil {
			return bodies, true
		}
		bodies = append(bodies, body)
		stream = stream[n:]
	}
	return bodies, false
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), uint16(3))
	f.Add(requestFrame(0, 1, []byte("body")), uint16(1))
	f.Add(append(requestFrame(3, 1, make([]byte, 700)), requestFrame(18, 2, nil)...), uint16(5))
	f.Add(append(requestFrame(0, 1, make([]byte, 3000)), 0, 0, 0, 1, 0), uint16(100))
	f.Add(requestFrame(1, 1, make([]byte, 3000)), uint16(7))
	f.Add([]byte{0, 0, 0x80, 0}, uint16(1))
	f.Fuzz(func(t *testing.T, stream []byte, piece uint16) {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fds[0])
		defer unix.Close(fds[1])
		var got [][]byte
		s := &Server{log: slog.New(slog.NewTextHandler(io.Discard, nil)), handler: handlerFunc(func(r *Request) {
			got = append(got, append([]byte(nil), r.Body...))
			r.ReplyNothing()
		})}
		s.o = Options{Handler: s.handler, Listeners: []ListenerConfig{{}}, MaxFrameBytes: 4 << 10, MaxControlBytes: 2 << 10, Logger: s.log}
		if err := s.o.complete(); err != nil {
			t.Fatal(err)
		}
		l := &loop{s: s, now: time.Now()}
		c := &Conn{loop: l, out: l, fd: fds[0], listener: &Listener{}}
		var failed error
		for rest := stream; len(rest) > 0 && failed == nil; {
			n := min(len(rest), int(piece)+1)
			c.turn = true
			failed = l.consume(c, rest[:n])
			c.turn = false
			if err := l.flush(c); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		want, refused := framesOf(stream, &s.o)
		if (failed != nil) != refused {
			t.Fatalf("%v, want an error: %v", failed, refused)
		}
		if len(got) != len(want) {
			t.Fatalf("%d frames, want %d", len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("frame %d differs", i)
			}
		}
		c.in.discard(c)
		if s.inputBytes.Load() != 0 || c.inBytes != 0 || c.inFlight != 0 {
			t.Fatalf("%d bytes charged, %d on the connection, %d requests", s.inputBytes.Load(), c.inBytes, c.inFlight)
		}
	})
}
