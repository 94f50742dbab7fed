package server

import (
	"bytes"
	"encoding/binary"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// counted is a Ref that knows how often it was released.
type counted struct{ n atomic.Int32 }

func (c *counted) Release() { c.n.Add(1) }

// parked collects requests for a test to answer.
type parked struct {
	mu sync.Mutex
	rs []*Request
	in chan struct{}
}

func newParked() *parked { return &parked{in: make(chan struct{}, 100000)} }

func (p *parked) Begin(r *Request) {
	p.mu.Lock()
	p.rs = append(p.rs, r)
	p.mu.Unlock()
	p.in <- struct{}{}
}

// take waits for n requests.
func (p *parked) take(n int) []*Request {
	for range n {
		<-p.in
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rs := p.rs
	p.rs = nil
	return rs
}

func TestRepliesGoOutInRequestOrder(t *testing.T) {
	p := newParked()
	s := startServer(t, Options{Handler: p, Loops: 2})
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(rt, "requests")
		order := rand.New(rand.NewSource(rapid.Int64().Draw(rt, "seed"))).Perm(n)
		silent := rapid.SliceOfN(rapid.Bool(), n, n).Draw(rt, "acks=0")
		pieces := rapid.SliceOfN(rapid.IntRange(0, 5), n, n).Draw(rt, "parts")
		c := dial(t, s)
		defer c.Close()
		var all []byte
		for i := range n {
			all = append(all, requestFrame(0, int32(i), nil)...)
		}
		c.send(all)
		rs := p.take(n)
		refs := make([]counted, n)
		var wg sync.WaitGroup
		for g := range 3 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for k := g; k < n; k += 3 {
					i := order[k]
					r := rs[i]
					if silent[i] {
						r.ReplyNothing()
						continue
					}
					body := bytes.Repeat([]byte{byte(i)}, pieces[i])
					parts := []Part{{Bytes: frameOf(r.Header.CorrelationID, body)[:8]}}
					for j := range body {
						parts = append(parts, Part{Bytes: body[j : j+1]}, Part{})
					}
					parts[len(parts)-1].Ref = &refs[i]
					r.Reply(parts...)
				}
			}()
		}
		wg.Wait()
		for i := range n {
			if !silent[i] {
				c.want(int32(i), bytes.Repeat([]byte{byte(i)}, pieces[i]))
			}
		}
		eventually(t, "every reference is released", func() bool {
			for i := range refs {
				if !silent[i] && refs[i].n.Load() != 1 {
					return false
				}
			}
			return s.Stats().InFlight == 0
		})
	})
}

func TestRepliesBeforeAFailureAreSent(t *testing.T) {
	p := newParked()
	s := startServer(t, Options{Handler: p})
	c := dial(t, s)
	for i := range int32(4) {
		c.send(requestFrame(0, i, nil))
	}
	rs := p.take(4)
	var late counted
	rs[3].Reply(Part{Bytes: frameOf(3, nil), Ref: &late})
	rs[2].Fail("bad request")
	respond(rs[1], []byte("one"))
	respond(rs[0], []byte("zero"))
	c.want(0, []byte("zero"))
	c.want(1, []byte("one"))
	c.wantClosed()
	eventually(t, "the reply behind the failure is released", func() bool { return late.n.Load() == 1 })
	if n := s.Stats().Failed; n != 1 {
		t.Fatalf("%d failed connections", n)
	}
}

func TestARequestIsAnsweredOnce(t *testing.T) {
	got := make(chan any, 1)
	s := startServer(t, Options{Handler: handlerFunc(func(r *Request) {
		respond(r, nil)
		defer func() { got <- recover() }()
		r.ReplyNothing()
	})})
	dial(t, s).send(requestFrame(0, 1, nil))
	if v := <-got; v == nil {
		t.Fatal("a second reply was taken")
	}
}

func TestARetainedFrameOutlivesTheReply(t *testing.T) {
	kept := make(chan *Request, 1)
	s := startServer(t, Options{Handler: handlerFunc(func(r *Request) {
		if r.Header.CorrelationID == 1 {
			r.Retain()
			kept <- r
		}
		respond(r, nil)
	})})
	c := dial(t, s)
	body := bytes.Repeat([]byte("retained"), 1000)
	c.send(requestFrame(0, 1, body))
	c.want(1, nil)
	for i := range int32(100) { // would reuse the frame
		c.send(requestFrame(0, 2+i, bytes.Repeat([]byte{1}, len(body))))
		c.want(2+i, nil)
	}
	r := <-kept
	if !bytes.Equal(r.Body, body) || r.Header.CorrelationID != 1 {
		t.Fatal("the frame was used again")
	}
	r.Release()
}

func TestFramesInPiecesOfAnySize(t *testing.T) {
	s := startServer(t, Options{Handler: echo})
	rapid.Check(t, func(rt *rapid.T) {
		c := dial(t, s)
		defer c.Close()
		var all []byte
		var bodies [][]byte
		for i := range rapid.IntRange(1, 10).Draw(rt, "frames") {
			n := rapid.OneOf(rapid.IntRange(0, 700), rapid.IntRange(0, 200<<10)).Draw(rt, "size")
			body := make([]byte, n)
			for j := 0; j+8 <= n; j += 8 {
				binary.BigEndian.PutUint64(body[j:], uint64(i)<<32|uint64(j))
			}
			bodies = append(bodies, body)
			all = append(all, requestFrame(0, int32(i), body)...)
		}
		cuts := rapid.SliceOfN(rapid.IntRange(1, len(all)), 0, 6).Draw(rt, "cuts")
		go func() {
			for _, n := range cuts {
				n = min(n, len(all))
				if _, err := c.Write(all[:n]); err != nil {
					return
				}
				all = all[n:]
			}
			_, _ = c.Write(all)
		}()
		for i, body := range bodies {
			c.want(int32(i), body)
		}
	})
	eventually(t, "no memory is charged", func() bool { st := s.Stats(); return st.InputBytes == 0 && st.InFlight == 0 })
}
