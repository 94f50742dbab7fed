package server

import (
	"testing"
	"time"
)

// atOnce does something some times and checks that it does not wait for the tick, which comes to everything in the end.
func atOnce(t *testing.T, do func()) {
	t.Helper()
	const times = 8
	late := 0
	for range times {
		begun := time.Now()
		do()
		if time.Since(begun) > maxTick/2 {
			late++
		}
	}
	if late > times/2 {
		t.Errorf("%d of %d times it took about as long as a tick", late, times)
	}
}

// A connection that is resumed is served at the end of a round. What a request of it answers is of a connection that has had
// its turn.
func TestWhatAResumedConnectionAnswersGoesOut(t *testing.T) {
	const answerKey = 1 // such a request answers the one that other is for
	p, other := newParked(), make(chan *Request, 1)
	s := startServer(t, Options{Loops: 1, MaxConnRequests: 2, Handler: handlerFunc(func(r *Request) {
		if r.Header.APIKey == answerKey {
			respond(<-other, []byte("other"))
			respond(r, nil)
			return
		}
		p.Begin(r)
	})})
	first, second := dial(t, s), dial(t, s)
	atOnce(t, func() {
		first.send(requestFrame(0, 1, nil))
		other <- p.take1()
		var all []byte
		for i := range int32(3) {
			all = append(all, requestFrame([]int16{0, 0, answerKey}[i], i, nil)...)
		}
		second.send(all)
		respond(p.take1(), nil) // which resumes the connection
		second.want(0, nil)
		first.want(1, []byte("other"))
		respond(p.take1(), nil)
		second.want(1, nil)
		second.want(2, nil)
	})
}

// A connection that ends gives its part of the budget back, in the middle of a pass as well.
func TestTheEndOfAConnectionFeedsTheOthers(t *testing.T) {
	p := newParked()
	const budget = 64 << 10 // the frame below is charged all of its length at once
	s := startServer(t, Options{Loops: 1, MaxInputBytes: budget, Handler: p})
	hungry := dial(t, s)
	atOnce(t, func() {
		c := dial(t, s)
		c.send(requestFrame(0, 1, nil))
		r := p.take1()
		c.send(requestFrame(0, 2, make([]byte, 2*budget))[:budget])
		eventually(t, "the budget is used up", func() bool { return s.inputBytes.Load() >= budget })
		hungry.send(requestFrame(0, 3, nil))
		eventually(t, "somebody is held back", func() bool { return s.loops[0].starving.Load() > 0 })
		r.Fail("enough")
		respond(p.take1(), nil)
		hungry.want(3, nil)
	})
}
