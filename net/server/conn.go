package server

import (
	"fmt"
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/panjf2000/gnet/v2"

	"millrace/net/wire"
)

// Conn is one client connection.
type Conn struct {
	// State is the handler's own; loop only.
	State any

	id       uint64
	out      responder
	loop     *loop
	listener *Listener
	remote   netip.AddrPort
	host     string // of remote, without port
	gone     atomic.Bool
	opened   atomic.Bool
	client   atomic.Pointer[string] // the client id seen last

	mu       sync.Mutex // guards closers, software, version, nextCloser
	closers  []closer
	closerID uint64
	software string
	version  string

	// Wake-ups on their way to the loop: bits says why, nextWake links.
	bits     atomic.Uint32
	nextWake *Conn

	// Everything below: loop only.
	g    gnet.Conn
	fd   int
	slot int // index in loop.conns
	in   input
	// The queue of requests in arrival order. Its head is the oldest that is not
	// answered and sent.
	head, tail *Request
	inFlight   int // length of the queue
	inBytes    int // bytes charged for requests that are not answered
	queued     int // bytes of responses in memory that are not sent
	warm       warmRange
	cold       *coldStream // nil until something was not in the page cache
	orphans    *Request    // answered requests of a gone connection whose file a reader still has
	active     time.Time   // last input or reply
	stall      stall
	turn       bool // input is being consumed: whoever does that flushes at the end
	dirty      bool // in loop.dirty
	again      bool // in loop.again
	armed      bool // waiting for the socket to be writable
	inEpoll    bool // known to the auxiliary epoll
	paused     bool // read interest is taken away
	starved    bool // paused for the budget of the process
}

// closer is a callback for the end of a connection.
type closer struct {
	id uint64
	f  func()
}

// ID is unique for the life of the server.
func (c *Conn) ID() uint64 { return c.id }

// RemoteAddr is the client's address; IPv4 is never mapped into IPv6.
func (c *Conn) RemoteAddr() netip.AddrPort { return c.remote }

// Listener is the one that accepted the connection.
func (c *Conn) Listener() *Listener { return c.listener }

// Closed reports whether the connection is gone. Replies to it are dropped.
func (c *Conn) Closed() bool { return c.gone.Load() }

// Post runs t on the connection's loop, soon; even if the connection is gone by then.
// Any goroutine. Nothing is allocated, so that a long poll may be woken often.
func (c *Conn) Post(t Task) { c.out.post(t) }

// SetSoftware records what the client says it is (ApiVersions v3+).
func (c *Conn) SetSoftware(name, version string) {
	c.mu.Lock()
	c.software, c.version = name, version
	c.mu.Unlock()
}

// Software returns what SetSoftware recorded.
func (c *Conn) Software() (name, version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.software, c.version
}

// OnClose has f called once, on the loop, when the connection is gone; soon, if it
// already is. cancel takes it back; f may still run if it has been taken already.
func (c *Conn) OnClose(f func()) (cancel func()) {
	c.mu.Lock()
	if c.gone.Load() {
		c.mu.Unlock()
		c.out.post(taskFunc(f))
		return func() {}
	}
	c.closerID++
	id := c.closerID
	c.closers = append(c.closers, closer{id, f})
	c.mu.Unlock()
	return func() { c.cancelClose(id) }
}

func (c *Conn) cancelClose(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.closers {
		if c.closers[i].id == id {
			last := len(c.closers) - 1
			c.closers[i] = c.closers[last]
			c.closers[last] = closer{}
			c.closers = c.closers[:last]
			return
		}
	}
}

// runClosers marks the connection as gone and calls the callbacks.
func (c *Conn) runClosers() {
	c.mu.Lock()
	c.gone.Store(true)
	closers := c.closers
	c.closers = nil
	c.mu.Unlock()
	for _, cl := range closers {
		c.loop.runTask(taskFunc(cl.f))
	}
}

// clientID returns view as a string, which is nearly always the one of the request
// before.
func (c *Conn) clientID(view []byte) string {
	if len(view) > clientIDMax {
		view = view[:clientIDMax]
	}
	if last := c.client.Load(); last != nil && *last == string(view) {
		return *last
	}
	id := string(view)
	c.client.Store(&id)
	return id
}

// begin takes a complete frame: parse the header, take a place in the order, hand it
// to the handler. An answer that is there when Begin returns needs no way back to
// the loop. The frame is in r.frame or inline.
func (c *Conn) begin(r *Request, frame []byte) error {
	l := c.loop
	header, body, err := wire.ParseRequestHeader(frame)
	if err != nil {
		l.n.malformed.Add(1)
		l.s.hint(c, frame, err.Error())
		l.s.uncharge(c, r.charge)
		r.drop()
		return err
	}
	r.Header, r.Body = header, body
	if c.tail == nil {
		c.head = r
	} else {
		c.tail.next = r
	}
	c.tail = r
	c.inFlight++
	l.n.inFlight.Add(1)
	l.n.requests.Add(1)
	r.state.Store(stateBegin)
	if err := c.handle(r); err != nil {
		if r.state.Load() == stateAnswered {
			l.reply(r)
		}
		return err
	}
	if !r.state.CompareAndSwap(stateBegin, stateWaiting) {
		l.reply(r)
	}
	return nil
}

// handle calls the handler and contains its panics: the request is abandoned and the
// connection closed, other connections do not notice.
func (c *Conn) handle(r *Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			l := c.loop
			if r.state.CompareAndSwap(stateBegin, stateAbandoned) {
				l.s.uncharge(c, r.charge)
				l.n.inFlight.Add(-1)
			}
			l.n.panics.Add(1)
			l.s.log.Error("panic in a request handler; its connection is closed", "api", r.Header.APIKey, "version", r.Header.APIVersion,
				"client", c.clientID(r.Header.ClientID), "remote", c.remote, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	c.loop.s.handler.Begin(r)
	return nil
}

// reply takes an answered request back on the loop: its frame is given back, and its
// response has its turn when those before it are sent.
func (l *loop) reply(r *Request) {
	c := r.Conn
	r.ready = true
	l.s.uncharge(c, r.charge)
	r.charge = 0
	r.freeFrame()
	if c.gone.Load() {
		l.n.inFlight.Add(-1)
		r.releaseParts()
		r.drop()
		return
	}
	for i := range r.parts {
		if r.parts[i].Fd == 0 {
			r.queued += len(r.parts[i].Bytes)
		}
	}
	c.queued += r.queued
	c.active = l.now
	l.markDirty(c)
}

// pop takes the head of the queue, which is sent.
func (c *Conn) pop() {
	r := c.head
	c.head = r.next
	if c.head == nil {
		c.tail = nil
	}
	c.inFlight--
	c.queued -= r.queued
	c.loop.n.inFlight.Add(-1)
	r.drop()
}

// closed ends the connection on its loop, before the descriptor is closed.
// Answered requests are discarded; the others are when their reply comes.
func (l *loop) closed(c *Conn) {
	s := l.s
	s.writable.forget(c)
	l.remove(c)
	if c.paused {
		c.paused = false
		l.n.paused.Add(-1)
	}
	l.unstarve(c)
	c.in.discard(c)
	var answered *Request
	for r := c.head; r != nil; {
		next := r.next
		r.next = nil
		if r.ready {
			r.next = answered
			answered = r
		}
		r = next
	}
	c.head, c.tail = nil, nil
	if c.cold != nil {
		c.cold.drop()
		c.cold.expect.forget()
	}
	if c.warm.reading {
		c.orphans = answered
	} else {
		l.discard(answered)
	}
	c.runClosers()
	s.limits.leave(c.remote.Addr())
}

// discard drops answered requests of a connection that is gone.
func (l *loop) discard(r *Request) {
	for r != nil {
		next := r.next
		r.next = nil
		l.n.inFlight.Add(-1)
		r.releaseParts()
		r.drop()
		r = next
	}
}
