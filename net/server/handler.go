package server

// Handler is what the server gives frames to.
type Handler interface {
	// Begin is called on the connection's event loop, once for each frame, in
	// arrival order. It must not block. It owns r until it has called exactly one
	// of r.Reply, r.ReplyBytes, r.ReplyNothing or r.Fail, from any goroutine, now or
	// later. A panic closes the connection and nothing else.
	Begin(r *Request)
}

// Ref is counted memory or a counted file that a response refers to. Release is
// called exactly once, when the bytes are sent or the connection is gone. It is
// called on a loop and must not block.
type Ref interface{ Release() }

// Part is one piece of a response: bytes, or a range of a file.
type Part struct {
	Bytes []byte // used if Fd is 0
	Fd    int    // file descriptor to send from; never 0 for a file
	Off   int64  // position in the file, bytes
	Len   int    // bytes of the file to send
	Ref   Ref    // released after the part; may be nil, and for a file a ColdFile
}

// size is the number of bytes that the part puts on the wire.
func (p *Part) size() int {
	if p.Fd != 0 {
		return p.Len
	}
	return len(p.Bytes)
}

// release gives the reference back, once.
func (p *Part) release() {
	if ref := p.Ref; ref != nil {
		p.Ref = nil
		ref.Release()
	}
	p.Bytes = nil
}

// Task is work for the loop of a connection. It must not block.
type Task interface{ Run() }

type taskFunc func()

func (f taskFunc) Run() { f() }

// releaseFunc makes a Ref of a function without allocating.
type releaseFunc func()

func (f releaseFunc) Release() { f() }

// Client says who sent a request: a copy, safe to keep.
type Client struct {
	ID       string // client.id, "" if absent; at most 256 bytes
	Host     string // IP address without port
	Listener *Listener
	ConnID   uint64
}

// responder is where a request goes once it is answered, and how to get onto the
// goroutine that owns its connection. The loops of gnet are one; a connection whose
// bytes go through crypto/tls on goroutines of its own is another, behind the same
// Request and Conn.
type responder interface {
	// answered takes a request that has its response. It may be called from any
	// goroutine and never blocks.
	answered(r *Request)
	// post runs t on the owner of the connection, later.
	post(t Task)
}
