package server

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/panjf2000/gnet/v2"
	"golang.org/x/sys/unix"
)

// Why a connection wakes its loop.
const (
	wakeWritable uint32 = 1 << iota // the socket has room again
	wakeRead                        // a reader goroutine is done: what is in the page cache
	wakePiece                       // the same for pieces in memory
)

// loop is the state of one gnet event loop. Fields below "loop only" are touched by
// its goroutine alone; the lists above it are how others get in.
type loop struct {
	s     *Server
	index int
	ev    gnet.EventLoop
	epoll int // the loop's own epoll, for taking read interest away

	bell        *os.File // our end of the doorbell
	bellConn    gnet.Conn
	belled      atomic.Bool             // a byte is under way
	answers     atomic.Pointer[Request] // answered requests, newest first
	wakes       atomic.Pointer[Conn]    // connections with bits set, newest first
	mu          sync.Mutex
	posted      []Task       // guarded by mu
	sparePosted []Task       // guarded by mu; memory for posted
	passThread  atomic.Int32 // thread id while a pass runs, which is locked to it; it looks at the lists again when it ends
	ticked      atomic.Bool
	starving    atomic.Int64 // len(hungry)
	stopped     atomic.Bool  // the loop runs no more; who gets in does the work itself
	finishes    atomic.Bool  // somebody does so now

	n counters

	// Loop only.
	now      time.Time
	conns    []*Conn
	dirty    []*Conn // to be flushed by this pass
	again    []*Conn // to be served by the next pass
	spare    []*Conn // memory of again
	hungry   []*Conn // starved connections
	passSent int     // bytes sent since the round began
	sweepAt  int     // index in conns of the next to be looked at
	draining bool    // no new frames; connections close when their queue is empty
	gather   gather
	prober   prober
	poll     [1]unix.PollFd
	noTime   unix.Timespec
	skip     int // turns without lingering
	yielded  time.Time
	// lingerFor is changed by the kernel.
	lingerFor unix.Timespec
}

// passing says whether the caller is the loop's own pass, or called by it.
func (l *loop) passing() bool {
	t := l.passThread.Load()
	return t != 0 && t == thread()
}

// answered is called by whoever replies, on any goroutine. The first to push on an
// empty list rings; the pass that it brings takes them all. What the pass itself answers, mostly fetches that waited
// for data, is taken at once and needs no ring.
func (l *loop) answered(r *Request) {
	if l.passing() {
		l.reply(r)
		return
	}
	for {
		head := l.answers.Load()
		r.nextReady = head
		if l.answers.CompareAndSwap(head, r) {
			if head == nil {
				l.ring()
			}
			return
		}
	}
}

// wake has c served by its loop, for the reason bit. Any goroutine.
func (l *loop) wake(c *Conn, bit uint32) {
	if c.bits.Or(bit) != 0 {
		return // it is on the list
	}
	for {
		head := l.wakes.Load()
		c.nextWake = head
		if l.wakes.CompareAndSwap(head, c) {
			if head == nil {
				l.ring()
			}
			return
		}
	}
}

// post runs t on the loop, soon. Any goroutine.
func (l *loop) post(t Task) {
	l.mu.Lock()
	l.posted = append(l.posted, t)
	l.mu.Unlock()
	l.ring()
}

// ring sends the doorbell's byte, unless one is under way, or is put off, or the loop itself rings: it looks when its
// pass ends.
func (l *loop) ring() {
	if l.stopped.Load() {
		l.finish()
		return
	}
	if l.passing() {
		return
	}
	if l.belled.CompareAndSwap(false, true) && !l.s.o.Bells.putOff(l) {
		l.sendBell()
	}
}

func (l *loop) sendBell() {
	if l.stopped.Load() {
		l.finish()
		return
	}
	// The pair holds thousands of bytes and has one at most, so this does not block. While gnet stops, its end may be closed
	// before the connections are: what waits then is done at the end of that.
	if _, err := l.bell.Write([]byte{1}); err != nil && !l.s.stopping.Load() {
		l.s.log.Error("doorbell of an event loop failed", "loop", l.index, "err", err)
	}
}

// pass does everything that is waiting for the loop. It runs when the doorbell does.
func (l *loop) pass() {
	l.belled.Store(false)
	l.now = time.Now()
	runtime.LockOSThread()
	l.passThread.Store(thread())
	l.round()
	for i := 0; l.goesRound(i); i++ {
		l.round()
	}
	l.passThread.Store(0)
	runtime.UnlockOSThread()
	if len(l.again) > 0 || l.owes() {
		l.ring()
	}
}

const (
	// quietRounds is how often a pass may go round again as long as nobody else has anything to do.
	quietRounds = 16
	// ownRounds is how often at once for what it has caused itself, or was handed meanwhile.
	ownRounds = 2
)

// goesRound says whether the pass goes round once more, without a ring, which is two system calls and a turn of gnet's
// loop. Sockets have their turn between passes.
func (l *loop) goesRound(i int) bool {
	if l.owes() {
		return i < ownRounds
	}
	return len(l.again) > 0 && i < quietRounds && !l.ticked.Load() && !l.socketsReady()
}

// owes reports whether a round has left something that nobody has rung for: what came, or the round itself caused, when it
// was past the place for it.
func (l *loop) owes() bool { return len(l.dirty) > 0 || l.canFeed() || !l.empty() }

// round serves what is waiting.
func (l *loop) round() {
	l.passSent = 0
	l.takeAnswers()
	l.runPosted()
	l.takeWakes()
	if l.ticked.Swap(false) {
		l.sweep()
	}
	l.feed()
	for i := 0; i < len(l.dirty); i++ {
		c := l.dirty[i]
		c.dirty = false
		if !c.again { // else it is served below
			l.serveInPass(c)
		}
	}
	clear(l.dirty)
	l.dirty = l.dirty[:0]
	// What is queued again from here on waits for the next round, after the sockets.
	again := l.again
	l.again = l.spare[:0]
	for _, c := range again {
		c.again = false
		l.serveInPass(c)
	}
	clear(again)
	l.spare = again
}

// finish does for a loop that runs no more what came in late. Every connection is gone,
// so all it comes to is that references are released and late callbacks run. One
// goroutine does it at a time; what it causes itself, it takes in the next round.
func (l *loop) finish() {
	for !l.empty() && l.finishes.CompareAndSwap(false, true) {
		l.runPosted()
		l.takeAnswers()
		l.takeWakes()
		l.finishes.Store(false)
	}
}

// empty reports whether nobody waits for the loop.
func (l *loop) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.posted) == 0 && l.answers.Load() == nil && l.wakes.Load() == nil
}

func (l *loop) runPosted() {
	l.mu.Lock()
	posted := l.posted
	l.posted, l.sparePosted = l.sparePosted[:0], nil
	l.mu.Unlock()
	for _, t := range posted {
		l.runTask(t)
	}
	clear(posted)
	l.mu.Lock()
	l.sparePosted = posted
	l.mu.Unlock()
}

// runTask contains a panic: it is the fault of one request, and there are others.
func (l *loop) runTask(t Task) {
	defer func() {
		if p := recover(); p != nil {
			l.n.panics.Add(1)
			l.s.log.Error("panic in a task on an event loop", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	t.Run()
}

// takeAnswers takes the answered requests in the order of their replies.
func (l *loop) takeAnswers() {
	var r *Request
	for a := l.answers.Swap(nil); a != nil; {
		next := a.nextReady
		a.nextReady, r = r, a
		a = next
	}
	for r != nil {
		next := r.nextReady
		r.nextReady = nil
		l.reply(r)
		r = next
	}
}

// takeWakes takes the connections that have become writable or warm.
func (l *loop) takeWakes() {
	for c := l.wakes.Swap(nil); c != nil; {
		next := c.nextWake
		c.nextWake = nil
		bits := c.bits.Swap(0) // from here on it may be pushed again
		if bits&wakeWritable != 0 {
			c.armed = false
		}
		if bits&wakeRead != 0 {
			l.readDone(c)
		}
		if bits&wakePiece != 0 {
			l.piecesDone(c)
		}
		l.markDirty(c)
		c = next
	}
}

// markDirty has c flushed by the pass or turn that is running.
func (l *loop) markDirty(c *Conn) {
	if !c.turn && !c.dirty && !c.gone.Load() {
		c.dirty = true
		l.dirty = append(l.dirty, c)
	}
}

// requeue has c served by the next pass.
func (l *loop) requeue(c *Conn) {
	if !c.again && !c.gone.Load() {
		c.again = true
		l.again = append(l.again, c)
		l.ring()
	}
}

// serveInPass serves c, or has the next pass do so if this one has sent its share:
// a thousand connections with a turn each would keep the sockets waiting.
func (l *loop) serveInPass(c *Conn) {
	if l.passSent >= passBytes {
		l.requeue(c)
		return
	}
	l.serve(c)
}

// serve resumes the input of c if it may be, and sends what there is.
func (l *loop) serve(c *Conn) {
	if c.gone.Load() {
		return
	}
	if err := l.serveTurn(c); err != nil {
		l.close(c, err)
	}
}

func (l *loop) serveTurn(c *Conn) (err error) {
	defer l.contain(c, &err)
	if c.paused && l.resumable(c) {
		c.turn = true
		err = l.resume(c)
		c.turn = false
		if err != nil {
			return err
		}
	}
	return l.flush(c)
}

// traffic is a turn with input: everything that gnet has read, then what that
// allows to be sent.
func (l *loop) traffic(c *Conn) gnet.Action {
	l.now = time.Now()
	data, _ := c.g.Next(-1)
	l.n.bytesIn.Add(int64(len(data)))
	c.active = l.now
	if err := l.trafficTurn(c, data); err != nil {
		l.logClose(c, err)
		return gnet.Close
	}
	return gnet.None
}

func (l *loop) trafficTurn(c *Conn, data []byte) (err error) {
	defer l.contain(c, &err)
	c.turn = true
	if c.in.rest != nil {
		// Paused while gnet had another read under way.
		c.in.holdMore(data)
	} else {
		err = l.consume(c, data)
	}
	c.turn = false
	if err != nil {
		return err
	}
	return l.flush(c)
}

// contain turns a panic of our own parsing or sending into the end of one connection.
func (l *loop) contain(c *Conn, err *error) {
	if p := recover(); p != nil {
		c.turn = false
		l.n.panics.Add(1)
		l.s.log.Error("panic on a connection; it is closed", "remote", c.remote, "panic", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("panic: %v", p)
	}
}

// close closes c from outside its own read turn.
func (l *loop) close(c *Conn, err error) {
	l.logClose(c, err)
	if err := l.ev.Close(c.g); err != nil {
		l.s.log.Debug("close of a connection", "remote", c.remote, "err", err)
	}
}

func (l *loop) logClose(c *Conn, err error) {
	l.s.log.Debug("connection closed", "remote", c.remote, "listener", c.listener.Name, "reason", err)
}

// add and remove keep conns, the list that is swept.
func (l *loop) add(c *Conn) {
	c.slot = len(l.conns)
	l.conns = append(l.conns, c)
}

func (l *loop) remove(c *Conn) {
	last := len(l.conns) - 1
	moved := l.conns[last]
	l.conns[c.slot] = moved
	moved.slot = c.slot
	l.conns[last] = nil
	l.conns = l.conns[:last]
}
