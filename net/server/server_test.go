package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestEchoesFramesOfEachSize(t *testing.T) {
	s := startServer(t, Options{Handler: echo})
	c := dial(t, s)
	for i, n := range []int{0, 1, 100, 501, 502, 4096, 64 << 10, 64<<10 + 1, 1 << 20, 3 << 20, 9 << 20} {
		body := bytes.Repeat([]byte{byte(i + 1)}, n)
		go c.send(requestFrame(0, int32(i), body))
		c.want(int32(i), body)
	}
	eventually(t, "all is over", func() bool {
		st := s.Stats()
		return st.Requests == 11 && st.InFlight == 0 && st.InputBytes == 0 && st.Connections == 1
	})
}

func TestListenersIPv6AndAdvertised(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t, Options{
		Handler: handlerFunc(func(r *Request) {
			c := r.Client()
			respond(r, []byte(c.Listener.Name+" "+c.Host+" "+c.ID))
		}),
		Listeners: []ListenerConfig{
			{Name: "V4", Host: "127.0.0.1"},
			{Name: "V6", Host: "[::1]", AdvertisedHost: "broker.example", AdvertisedPort: 19092},
			{Name: "DUAL", Host: "::"},
			{Name: "ALL", Host: ""},
		},
	})
	for i, want := range []struct{ dial, from, host string }{
		{"127.0.0.1", "127.0.0.1", "127.0.0.1"}, {"::1", "::1", "broker.example"},
		{"127.0.0.1", "127.0.0.1", host}, {"::1", "::1", host},
	} {
		ln := s.Listeners()[i]
		port := fmt.Sprint(ln.Addr.Port())
		c := dialAddr(t, net.JoinHostPort(want.dial, port))
		c.send(requestFrame(0, 1, nil))
		c.want(1, []byte(ln.Name+" "+want.from+" t"))
		wantPort := int32(ln.Addr.Port())
		if i == 1 {
			wantPort = 19092
		}
		if ln.Addr.Port() == 0 || ln.AdvertisedHost != want.host || ln.AdvertisedPort != wantPort {
			t.Errorf("%s: bound to %v, advertised %s:%d", ln.Name, ln.Addr, ln.AdvertisedHost, ln.AdvertisedPort)
		}
	}
}

func TestABusyPortIsAClearError(t *testing.T) {
	s := startServer(t, Options{Handler: echo})
	port := int(s.Listeners()[0].Addr.Port())
	_, err := Start(Options{Handler: echo, Listeners: []ListenerConfig{{Name: "FREE", Host: "127.0.0.1"}, {Name: "BUSY", Host: "127.0.0.1", Port: port}}})
	if err == nil || !strings.Contains(err.Error(), "BUSY") || !strings.Contains(err.Error(), fmt.Sprint(port)) {
		t.Fatalf("%v", err)
	}
	for _, o := range []Options{{}, {Handler: echo}, {Handler: echo, Listeners: []ListenerConfig{{}}, MaxFrameBytes: -1}} {
		if _, err := Start(o); err == nil {
			t.Errorf("started with %+v", o)
		}
	}
}

func TestAPanicInAHandlerEndsOneConnection(t *testing.T) {
	var log logBuffer
	late := make(chan *Request, 1)
	s := startServer(t, Options{Loops: 1, Logger: slog.New(slog.NewTextHandler(&log, nil)), Handler: handlerFunc(func(r *Request) {
		switch r.Header.CorrelationID {
		case 13:
			late <- r
			panic("unlucky")
		case 14:
			respond(r, nil)
			panic("after the answer")
		}
		respond(r, nil)
	})})
	good := dial(t, s)
	for _, id := range []int32{13, 14} {
		bad := dial(t, s)
		bad.send(requestFrame(0, id, make([]byte, 1000)))
		bad.wantClosed()
		good.send(requestFrame(0, id+100, nil))
		good.want(id+100, nil)
	}
	var ref counted
	(<-late).Reply(Part{Bytes: []byte("too late"), Ref: &ref})
	if ref.n.Load() != 1 {
		t.Error("the late reply was not released")
	}
	eventually(t, "all is over", func() bool {
		st := s.Stats()
		return st.Panics == 2 && st.InFlight == 0 && st.InputBytes == 0 && st.Connections == 1
	})
	if !strings.Contains(log.String(), "unlucky") || !strings.Contains(log.String(), "api=0") {
		t.Errorf("log: %s", log.String())
	}
}

func TestOnCloseRunsOnceOnTheLoop(t *testing.T) {
	var kept, cancelled atomic.Int32
	conns := make(chan *Conn, 1)
	s := startServer(t, Options{Handler: handlerFunc(func(r *Request) {
		r.Conn.OnClose(func() { kept.Add(1); panic("contained") })
		r.Conn.OnClose(func() { cancelled.Add(1) })()
		r.Conn.OnClose(func() { kept.Add(1) })
		r.Conn.SetSoftware("kcat", "1.7.1")
		conns <- r.Conn
	})})
	c := dial(t, s)
	c.send(requestFrame(0, 1, nil))
	conn := <-conns
	if conn.Closed() || conn.RemoteAddr().String() != c.LocalAddr().String() {
		t.Errorf("closed %v, remote %v", conn.Closed(), conn.RemoteAddr())
	}
	if name, version := conn.Software(); name != "kcat" || version != "1.7.1" {
		t.Errorf("software %s %s", name, version)
	}
	_ = c.Close()
	eventually(t, "callbacks run", func() bool { return kept.Load() == 2 && conn.Closed() })
	late := make(chan struct{})
	conn.OnClose(func() { close(late) })
	<-late
	posted := make(chan struct{})
	conn.Post(taskFunc(func() { close(posted) }))
	<-posted
	if kept.Load() != 2 || cancelled.Load() != 0 {
		t.Errorf("%d kept and %d cancelled callbacks", kept.Load(), cancelled.Load())
	}
}

func TestALongClientIDIsCut(t *testing.T) {
	got := make(chan Client, 2)
	s := startServer(t, Options{Handler: handlerFunc(func(r *Request) { got <- r.Client(); respond(r, nil) })})
	c := dial(t, s)
	id := strings.Repeat("x", 400)
	frame := requestFrame(0, 1, []byte(id)) // the body becomes the client id
	frame[12], frame[13] = 0x01, 0x91       // 401 bytes
	c.send(frame)
	c.want(1, nil)
	if a := <-got; len(a.ID) != clientIDMax || a.ConnID == 0 {
		t.Fatalf("client id of %d bytes, connection %d", len(a.ID), a.ConnID)
	}
}

func TestShutdownAnswersWhatHasBegun(t *testing.T) {
	p := newParked()
	s := startServer(t, Options{Handler: p})
	busy, idle := dial(t, s), dial(t, s)
	busy.send(requestFrame(0, 1, nil))
	r := p.take1()
	eventually(t, "both are accepted", func() bool { return s.Stats().Connections == 2 })
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(context.Background()) }()
	idle.wantClosed()
	if _, err := net.Dial("tcp", s.Listeners()[0].Addr.String()); err == nil {
		t.Error("still accepting")
	}
	busy.send(requestFrame(0, 2, nil)) // too late
	select {
	case err := <-down:
		t.Fatalf("shut down with a request in flight: %v", err)
	default:
	}
	respond(r, []byte("answer"))
	busy.want(1, []byte("answer"))
	if err := <-down; err != nil {
		t.Fatal(err)
	}
	if n, err := busy.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("connection goes on")
	}
	if st := s.Stats(); st.Connections != 0 || st.InFlight != 0 {
		t.Errorf("%+v", st)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// A long poll that ends with its connection answers, and the loop's doorbell may be gone by then: no fault to be reported.
func TestCuttingOffReportsNoFaults(t *testing.T) {
	var log logBuffer
	parked := make(chan struct{}, 50)
	s := startServer(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Handler: handlerFunc(func(r *Request) {
		r.Conn.OnClose(func() { respond(r, nil) })
		parked <- struct{}{}
	})})
	for range cap(parked) {
		dial(t, s).send(requestFrame(0, 1, nil))
	}
	for range cap(parked) {
		<-parked
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := log.String(); got != "" {
		t.Error(got)
	}
	if n := s.Stats().InFlight; n != 0 {
		t.Errorf("%d requests in flight", n)
	}
}

func TestShutdownCutsOffAndDropsLateReplies(t *testing.T) {
	p := newParked()
	s := startServer(t, Options{Handler: p})
	c := dial(t, s)
	const n = 100
	for i := range int32(n) {
		c.send(requestFrame(0, i, make([]byte, 2000)))
	}
	rs := p.take(n)
	var ref counted
	reply := func(rs []*Request) {
		for _, r := range rs {
			r.Reply(Part{Bytes: []byte("12345678"), Ref: &ref})
		}
	}
	var wg sync.WaitGroup
	wg.Add(1)
	go func() { // while the loops stop
		defer wg.Done()
		reply(rs[:n/2])
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	wg.Wait()
	reply(rs[n/2:]) // after they have
	late := make(chan struct{})
	rs[0] = nil
	s.loops[0].post(taskFunc(func() { close(late) }))
	<-late
	if got := ref.n.Load(); got != n {
		t.Errorf("%d of %d references released", got, n)
	}
	if st := s.Stats(); st.InFlight != 0 || st.InputBytes != 0 || st.Connections != 0 {
		t.Errorf("%+v", st)
	}
}
