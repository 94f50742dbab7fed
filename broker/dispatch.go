package broker

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"millrace/net/server"
	"millrace/net/wire"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/valyala/bytebufferpool"
	"golang.org/x/sync/semaphore"
)

// connection is the dispatcher's state of one connection (server.Conn.State).
type connection struct {
	control serial
}

// dispatcher routes frames to handlers. It is the server.Handler. Nothing in it
// changes after serve.
type dispatcher struct {
	apis      [maxAPIKey + 1]*api
	clusterID string
	nodeID    int32
	decoding  *semaphore.Weighted // bytes, of decodeBudget
	log       *slog.Logger
	odd       *oddities

	// disconnected is told of each connection that had a request and is gone, on its
	// loop.
	disconnected func(connID uint64)
}

// newDispatcher makes a dispatcher that serves nothing until serve.
func newDispatcher(clusterID string, nodeID int32, disconnected func(uint64), log *slog.Logger) *dispatcher {
	return &dispatcher{
		clusterID: clusterID, nodeID: nodeID, disconnected: disconnected, log: log,
		decoding: semaphore.NewWeighted(decodeBudget), odd: newOddities(log, time.Now),
	}
}

// serve sets the table of APIs. It comes before the first frame.
func (d *dispatcher) serve(table []*api) {
	for _, a := range table {
		d.apis[a.key] = a
	}
}

// Begin starts one request, on its connection's loop. Produce and Fetch run right
// here; the rest is decoded and run on the connection's serial queue.
func (d *dispatcher) Begin(r *server.Request) {
	h := r.Header
	var a *api
	if h.APIKey >= 0 && h.APIKey <= maxAPIKey {
		a = d.apis[h.APIKey]
	}
	if a == nil || h.APIVersion < a.min || h.APIVersion > a.max {
		d.unsupported(r)
		return
	}
	c, ok := r.Conn.State.(*connection)
	if !ok {
		c = &connection{}
		r.Conn.State = c
		id := r.Conn.ID()
		r.Conn.OnClose(func() { d.disconnected(id) })
	}
	if a.hot != nil {
		// Behind a control request of the same connection it waits for its turn.
		if c.control.idle() && a.hot(r, false) {
			return
		}
		c.control.push(func() { d.guard(r, func() { a.hot(r, true) }) })
		return
	}
	c.control.push(func() { d.guard(r, func() { d.run(a, r) }) })
}

// guard keeps a fault in a handler from ending the process: the connection is
// closed and the fault logged with its stack.
func (d *dispatcher) guard(r *server.Request, f func()) {
	defer func() {
		if x := recover(); x != nil {
			d.log.Error("request handler failed", "fault", x, "stack", string(debug.Stack()))
			defer func() { _ = recover() }() // the handler may have replied before it failed
			r.Fail("internal error")
		}
	}()
	f()
}

// A decoded request can take many times the memory of its frame: a count of empty
// elements is a byte each on the wire and a struct each here. So no more than
// decodeBudget bytes of control requests are decoded and handled at a time; those
// below decodeFree, which heartbeats and the like are, do not queue for it.
const (
	decodeBudget = 8 << 20
	decodeFree   = 4 << 10
)

// run decodes one control request, calls its handler and sends the reply.
func (d *dispatcher) run(a *api, r *server.Request) {
	if n := int64(len(r.Body)); n > decodeFree {
		n = min(n, decodeBudget)
		_ = d.decoding.Acquire(context.Background(), n) // fails only with its context
		defer d.decoding.Release(n)
	}
	req := kmsg.RequestForKey(r.Header.APIKey)
	req.SetVersion(r.Header.APIVersion)
	if err := req.ReadFrom(r.Body); err != nil {
		d.odd.malformed(r, err)
		r.Fail(fmt.Sprintf("malformed %s request", kmsg.NameForKey(r.Header.APIKey)))
		return
	}
	a.control(r, req, func(resp kmsg.Response) { reply(r, resp) })
}

// reply encodes a response and hands it over. Any goroutine.
func reply(r *server.Request, resp kmsg.Response) {
	key := r.Header.APIKey
	resp.SetVersion(r.Header.APIVersion)
	b := bytebufferpool.Get()
	b.B = wire.BeginResponse(b.B[:0], r.Header.CorrelationID, resp.IsFlexible() && key != kmsg.ApiVersions.Int16())
	b.B = resp.AppendTo(b.B)
	wire.FinishResponse(b.B, 0)
	r.Reply(server.PooledPart(b, 0))
}

// unsupported answers what is not in the table. An unknown version of ApiVersions
// is answered so that the client can go on (KIP-511); for everything else Kafka
// closes the connection, and so do we, with a line in the log.
func (d *dispatcher) unsupported(r *server.Request) {
	if r.Header.APIKey == kmsg.ApiVersions.Int16() {
		r.Header.APIVersion = 0
		reply(r, unsupportedAPIVersions(d.apis[kmsg.ApiVersions.Int16()]))
		return
	}
	d.odd.unsupported(r)
	r.Fail("unsupported API or version")
}
