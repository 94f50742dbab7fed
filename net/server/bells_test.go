package server

import "testing"

func TestWhoHoldsTheBellsRingsOnceAtTheEnd(t *testing.T) {
	p, bells := newParked(), &Bells{}
	s := startServer(t, Options{Handler: p, Loops: 1, Bells: bells})
	c := dial(t, s)
	for i := range int32(3) {
		c.send(requestFrame(0, i, nil))
	}
	requests := p.take(3)
	// The loop has nothing to do until it is rung, which is not before Release.
	eventually(t, "the loop is quiet", func() bool { return !s.loops[0].belled.Load() })

	bells.Hold()
	for _, r := range requests {
		respond(r, []byte("answer"))
		if got := len(bells.waiting); got != 1 {
			t.Errorf("%d loops to be rung, want 1", got)
		}
	}
	bells.Release()
	for i := range int32(3) {
		c.want(i, []byte("answer"))
	}

	// Who does not hold them rings at once, whoever does.
	c.send(requestFrame(0, 9, nil))
	r := p.take(1)[0]
	bells.Hold()
	defer bells.Release()
	go respond(r, []byte("at once"))
	c.want(9, []byte("at once"))
}
