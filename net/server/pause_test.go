package server

import (
	"net"
	"testing"
	"time"
)

// flood writes frames until stopped or done and counts them.
func flood(c net.Conn, frame []byte, n int) {
	for range n {
		if _, err := c.Write(frame); err != nil {
			return
		}
	}
}

func TestAConnectionPastItsBudgetIsNotRead(t *testing.T) {
	const size = 64 << 10
	for name, tc := range map[string]struct {
		o       Options
		body    int
		in, max int64 // requests let in: at least, at most
	}{
		"requests":          {Options{MaxConnRequests: 10}, 10, 10, 10},
		"bytes":             {Options{MaxConnBytes: 10 * size}, size, 9, 11},
		"bytes in all":      {Options{MaxInputBytes: 10 * size}, size, 9, 11},
		"one larger frame":  {Options{MaxConnBytes: 10}, size, 1, 1},
		"response in queue": {Options{MaxConnRequests: 100}, 10, 100, 100},
	} {
		t.Run(name, func(t *testing.T) {
			p := newParked()
			tc.o.Handler = p
			s := startServer(t, tc.o)
			c := dial(t, s)
			frame := requestFrame(0, 7, make([]byte, tc.body))
			const n = 400
			go flood(c, frame, n)
			eventually(t, "the connection is paused", func() bool { return s.Stats().Paused == 1 })
			// The loop turns and the client has more, but nothing comes in.
			in := s.Stats().BytesIn
			for _, l := range s.loops {
				w, err := l.enrollWitness()
				if err != nil {
					t.Fatal(err)
				}
				for range 10 {
					if err := w.turn(); err != nil {
						t.Fatal(err)
					}
				}
				_ = w.ours.Close()
			}
			st := s.Stats()
			if st.Requests < tc.in || st.Requests > tc.max || st.BytesIn != in {
				t.Fatalf("%+v, %d bytes more", st, st.BytesIn-in)
			}
			// Answers let the rest in, in order and in whole.
			for answered := 0; answered < n; answered++ {
				respond(p.take1(), nil)
				c.want(7, nil)
			}
			eventually(t, "all is over", func() bool { st := s.Stats(); return st.Paused == 0 && st.InputBytes == 0 && st.InFlight == 0 })
		})
	}
}

// take1 waits for the next request, in the order of arrival.
func (p *parked) take1() *Request {
	<-p.in
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.rs[0]
	p.rs = p.rs[1:]
	return r
}

func TestAClientThatDoesNotReadIsNotReadEither(t *testing.T) {
	s := startServer(t, Options{
		MaxConnQueued: 1 << 20,
		Handler:       handlerFunc(func(r *Request) { respond(r, make([]byte, 256<<10)) }),
	})
	c := dial(t, s)
	const n = 200
	go flood(c, requestFrame(0, 3, nil), n)
	eventually(t, "the connection is paused", func() bool { return s.Stats().Paused == 1 })
	if st := s.Stats(); st.InFlight > 8 {
		t.Fatalf("%+v", st)
	}
	for range n {
		c.want(3, make([]byte, 256<<10))
	}
	eventually(t, "all is over", func() bool { st := s.Stats(); return st.Paused == 0 && st.InFlight == 0 })
}

func TestFramesUnderWayMayNotTakeAllMemory(t *testing.T) {
	s := startServer(t, Options{Handler: newParked(), MaxInputBytes: 1 << 20})
	for range 4 { // each has begun its frame before the budget is used up
		c := dial(t, s)
		c.send(requestFrame(0, 1, make([]byte, 8<<20))[:1000])
		go func() { _, _ = c.Write(make([]byte, 2<<20)) }()
	}
	eventually(t, "connections are shed", func() bool { return s.Stats().Shed > 0 })
	if n := s.Stats().InputBytes; n > 2<<20 {
		t.Fatalf("%d bytes charged", n)
	}
}

func TestASlowReaderHoldsUpNobody(t *testing.T) {
	h := &rangeServer{f: patternFile(t, 8<<20), sndbuf: 64 << 10}
	s := startServer(t, Options{Handler: h, Loops: 1})
	for range 8 {
		c := dial(t, s)
		for i := range int32(4) {
			c.send(rangeRequest(i, 0, 7<<20)) // and reads nothing
		}
	}
	good := dial(t, s)
	for i := range int32(200) {
		good.send(rangeRequest(i, int64(i), 3000))
		got, b, err := good.receive()
		if err != nil || got != i || len(b) != 3000 {
			t.Fatalf("response %d: %d, %d bytes, %v", i, got, len(b), err)
		}
	}
}

func TestAReaderWithoutProgressIsClosed(t *testing.T) {
	p := newParked()
	s := startServer(t, Options{Handler: p, SlowReaderTimeout: 150 * time.Millisecond})
	c := dial(t, s)
	c.send(requestFrame(0, 1, nil))
	var ref counted
	p.take1().Reply(Part{Bytes: make([]byte, 64<<20), Ref: &ref})
	eventually(t, "the slow reader is closed", func() bool { st := s.Stats(); return st.SlowReaders == 1 && st.Connections == 0 })
	if ref.n.Load() != 1 {
		t.Fatal("the reference was not released")
	}
}

func TestASlowSenderIsClosedAndASteadyOneIsNot(t *testing.T) {
	s := startServer(t, Options{Handler: echo, FrameTimeout: 150 * time.Millisecond, MinByteRate: 10 << 10})
	silent := dial(t, s)
	silent.send(requestFrame(0, 1, make([]byte, 100))[:2]) // not even a length
	stuck := dial(t, s)
	stuck.send(requestFrame(0, 1, make([]byte, 100))[:20])
	steady := dial(t, s)
	frame := requestFrame(0, 5, make([]byte, 20<<10))
	go func() {
		for at := 0; at < len(frame); at += 1 << 10 { // 50 KiB/s or so, longer than the timeout
			_, _ = steady.Write(frame[at:min(at+1<<10, len(frame))])
			time.Sleep(20 * time.Millisecond)
		}
	}()
	stuck.wantClosed()
	silent.wantClosed()
	steady.want(5, make([]byte, 20<<10))
	if n := s.Stats().SlowSenders; n != 2 {
		t.Fatalf("%d slow senders", n)
	}
}

func TestIdleConnectionsAreClosedButNotThoseThatWait(t *testing.T) {
	p := newParked()
	s := startServer(t, Options{Handler: p, MaxIdle: 100 * time.Millisecond})
	waiting := dial(t, s)
	waiting.send(requestFrame(0, 1, nil))
	r := p.take1()
	idle := dial(t, s)
	idle.wantClosed()
	if s.Stats().Connections != 1 || s.Stats().Idle != 1 {
		t.Fatalf("%+v", s.Stats())
	}
	respond(r, nil) // a long poll may take longer than the idle limit
	waiting.want(1, nil)
	waiting.wantClosed()
}
