package server

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"millrace/net/wire"
)

// A request is in Begin until Begin returns, then waiting, and answered from the
// reply on. Who replies cannot tell whether it runs inside Begin, so the state
// decides: a reply that finds the request in Begin leaves it to the loop, which looks
// when Begin returns; one that finds it waiting hands it over and rings.
const (
	stateFree uint32 = iota
	stateBegin
	stateWaiting
	stateAnswered
	stateAbandoned // Begin panicked; whatever comes is dropped
)

// inlineFrame is the size up to which a frame lies in its Request, bytes.
const inlineFrame = 512

// keepParts is the number of parts for which a recycled Request keeps room.
const keepParts = 64

// clientIDMax is the length of a client id that is kept, bytes.
const clientIDMax = 256

// Request is one frame of one connection. The methods that reply end the handler's
// ownership: after them neither the Request nor its views may be touched, unless it
// was retained.
type Request struct {
	Header  wire.RequestHeader // views into the frame
	Body    []byte             // after the header; view into the frame, valid until the reply
	Conn    *Conn
	Arrived time.Time // when the frame was complete

	state atomic.Uint32
	lives atomic.Int32 // one for the connection's queue and one for each Retain
	kept  atomic.Bool  // retained at least once

	// nextReady links answered requests on their way to the loop.
	nextReady *Request

	// Loop only, but parts, failed and reason are written before the reply.
	next    *Request // the request after this one on the connection
	frame   *buffer  // nil if the frame is inline or given back
	charge  int      // bytes charged to the budgets
	queued  int      // bytes of memory in parts
	parts   []Part
	part    int // the part being sent
	sent    int // bytes of it that are sent
	ready   bool
	failed  bool
	reason  string
	inline  [inlineFrame]byte
	twoPart [2]Part
}

var requests = sync.Pool{New: func() any { return new(Request) }}

func newRequest(c *Conn, now time.Time) *Request {
	r := requests.Get().(*Request)
	r.Conn, r.Arrived = c, now
	r.lives.Store(1)
	if r.parts == nil {
		r.parts = r.twoPart[:0]
	}
	return r
}

// Reply sends parts as the complete response: 4-byte size, header, body. Any
// goroutine. parts is copied; their bytes must stay as they are until their Ref is
// released (for ever, if they have none).
func (r *Request) Reply(parts ...Part) {
	r.parts = append(r.parts[:0], parts...)
	r.complete()
}

// ReplyBytes sends b as the complete response; release, if not nil, is called when
// it is sent or the connection is gone.
func (r *Request) ReplyBytes(b []byte, release func()) {
	p := Part{Bytes: b}
	if release != nil {
		p.Ref = releaseFunc(release)
	}
	r.parts = append(r.parts[:0], p)
	r.complete()
}

// ReplyNothing ends the request without a response (acks=0). It keeps its place in
// the order.
func (r *Request) ReplyNothing() {
	r.parts = r.parts[:0]
	r.complete()
}

// Fail closes the connection after the replies before it are sent. reason is logged.
func (r *Request) Fail(reason string) {
	r.parts = r.parts[:0]
	r.failed, r.reason = true, reason
	r.complete()
}

// Retain keeps the Request and its frame valid after the reply, until Release. It is
// called before the reply. A retained frame no longer counts against the budgets
// once the request is answered.
func (r *Request) Retain() {
	r.kept.Store(true)
	r.lives.Add(1)
}

// FreeFrame gives the memory of the frame back before the reply: a handler that has
// copied what it needs, and waits for a disk, does not hold it meanwhile. The views
// of the Request are gone with it. What the frame was charged to the budgets stays
// charged until the reply, since what waits is somewhere all the same.
func (r *Request) FreeFrame() { r.freeFrame() }

// Release ends a Retain.
func (r *Request) Release() { r.drop() }

// Client returns who sent the request, as a copy.
func (r *Request) Client() Client {
	c := r.Conn
	return Client{ID: c.clientID(r.Header.ClientID), Host: c.host, Listener: c.listener, ConnID: c.id}
}

// complete publishes the response, which the caller has written to r.
func (r *Request) complete() {
	if r.state.CompareAndSwap(stateBegin, stateAnswered) {
		return
	}
	if r.state.CompareAndSwap(stateWaiting, stateAnswered) {
		r.Conn.out.answered(r)
		return
	}
	if s := r.state.Load(); s != stateAbandoned {
		panic(fmt.Sprintf("server: request of api %d, correlation id %d, answered in state %d: a request is answered once",
			r.Header.APIKey, r.Header.CorrelationID, s))
	}
	r.releaseParts()
}

// releaseParts gives back the references of parts that are not sent.
func (r *Request) releaseParts() {
	for i := r.part; i < len(r.parts); i++ {
		r.parts[i].release()
	}
	r.part = len(r.parts)
}

// freeFrame gives the frame buffer back, unless somebody retained it.
func (r *Request) freeFrame() {
	if !r.kept.Load() {
		r.frame.free()
		r.frame = nil
		r.Header.ClientID, r.Body = nil, nil
	}
}

// drop ends one life and recycles the request with the last. An abandoned one is
// left to the collector: the handler may still reply to it.
func (r *Request) drop() {
	if r.lives.Add(-1) > 0 || r.state.Load() == stateAbandoned {
		return
	}
	r.frame.free()
	parts := r.parts[:0]
	if cap(parts) > keepParts {
		parts = nil
	}
	r.Header, r.Body, r.Conn = wire.RequestHeader{}, nil, nil
	r.nextReady, r.next, r.frame, r.parts = nil, nil, nil, parts
	r.charge, r.queued, r.part, r.sent = 0, 0, 0, 0
	r.ready, r.failed, r.reason = false, false, ""
	r.kept.Store(false)
	r.state.Store(stateFree)
	requests.Put(r)
}
