package server

import (
	"time"

	"millrace/net/wire"
)

// Handler is what the server gives frames to.
type Handler interface {
	// Begin is called on the connection's event loop, once for each frame, in
	// arrival order. It must not block. It owns r until it has called exactly one
	// of r.Reply, r.ReplyNothing or r.Fail, from any goroutine, now or later.
	Begin(r *Request)
}

// Request is one frame of one connection.
type Request struct {
	Header  wire.RequestHeader // views into the frame
	Body    []byte             // after the header; view into the frame, valid until the reply
	Conn    *Conn
	Arrived time.Time

	// unexported: frame buffer, sequence number on the connection, response ...
}

// Ref is counted memory or a counted file that a response refers to. Release is
// called exactly once, when the bytes are sent or the connection is gone.
type Ref interface{ Release() }

// Part is one piece of a response: bytes, or a range of a file.
type Part struct {
	Bytes []byte // used if Fd is 0
	Fd    int    // file descriptor to send from; never 0 for a file
	Off   int64  // position in the file, bytes
	Len   int    // bytes of the file to send
	Ref   Ref    // released after the part; may be nil
}

// The methods (implemented beside conn.go):
//
//	func (r *Request) Reply(parts ...Part)      // complete response: 4-byte size, header, body. Any goroutine. parts is copied.
//	func (r *Request) ReplyBytes(b []byte, release func())   // one-part shorthand; release may be nil
//	func (r *Request) ReplyNothing()            // acks=0: keeps its place in the order, sends nothing
//	func (r *Request) Fail(reason string)       // closes the connection after the replies before it are sent
//	func (r *Request) Retain()                  // the frame stays valid after Reply until Release (rare)
//
// Conn:
//
//	ID() uint64; RemoteAddr() netip.AddrPort; Listener() *Listener
//	Closed() bool
//	OnClose(f func()) (cancel func())   // f runs once on the loop when the connection is gone
//	SetSoftware(name, version string); Software() (name, version string)
//	State any   // per-connection state of the handler; loop only

// Client says who sent a request: a copy, safe to keep.
type Client struct {
	ID       string // client.id, "" if absent
	Host     string // IP address without port
	Listener *Listener
	ConnID   uint64
}
