package server

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"
)

// handlerFunc makes a Handler of a function.
type handlerFunc func(r *Request)

func (f handlerFunc) Begin(r *Request) { f(r) }

// respond replies with body as an ordinary response frame.
func respond(r *Request, body []byte) { r.ReplyBytes(frameOf(r.Header.CorrelationID, body), nil) }

func frameOf(correlation int32, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	return append(b, body...)
}

// echo answers each request with its body, inside Begin.
var echo = handlerFunc(func(r *Request) { respond(r, append([]byte(nil), r.Body...)) })

// startServer starts a server on a loopback port and shuts it down with the test, which
// fails if the shutdown does not end.
func startServer(t testing.TB, o Options) *Server {
	t.Helper()
	if len(o.Listeners) == 0 {
		o.Listeners = []ListenerConfig{{Name: "PLAINTEXT", Host: "127.0.0.1"}}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // what is left is cut off
		_ = s.Shutdown(ctx)
	})
	return s
}

// client is a raw connection.
type client struct {
	net.Conn
	t testing.TB
}

func dial(t testing.TB, s *Server) *client {
	t.Helper()
	return dialAddr(t, s.Listeners()[0].Addr.String())
}

func dialAddr(t testing.TB, addr string) *client {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return &client{c, t}
}

// requestFrame is a request of api key, version 0 of an API that is not flexible
// there, client id "t".
func requestFrame(key int16, correlation int32, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+3+len(body)))
	b = binary.BigEndian.AppendUint16(b, uint16(key))
	b = binary.BigEndian.AppendUint16(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	b = append(b, 0, 1, 't')
	return append(b, body...)
}

func (c *client) send(b []byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// receive reads one response.
func (c *client) receive() (correlation int32, body []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:])) - 4
	if n < 0 || n > 200<<20 {
		return 0, nil, fmt.Errorf("response of %d bytes", n)
	}
	body = make([]byte, n)
	_, err = io.ReadFull(c, body)
	return int32(binary.BigEndian.Uint32(head[4:])), body, err
}

// want reads one response and checks it.
func (c *client) want(correlation int32, body []byte) {
	c.t.Helper()
	got, b, err := c.receive()
	if err != nil {
		c.t.Fatalf("response %d: %v", correlation, err)
	}
	if got != correlation || string(b) != string(body) {
		c.t.Fatalf("response %d of %d bytes, want %d of %d", got, len(b), correlation, len(body))
	}
}

// wantClosed checks that the server closes the connection without another byte.
func (c *client) wantClosed() {
	c.t.Helper()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || isTimeout(err) {
		c.t.Fatalf("read %d bytes, %v; want a closed connection", n, err)
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

// eventually waits until ok, which something asynchronous makes true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("did not happen: %s", what)
		}
	}
}
