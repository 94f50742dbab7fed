package group

import (
	"testing"
	"time"
)

func TestDisconnectOfAWaitingJoinDoesNotHoldTheGroup(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("g", 3)
	b.conn = 1
	gone := b.joinAsync(joinRequest("g", ids[1]))
	b.conn = 2
	f0 := b.joinAsync(joinRequest("g", ids[0]))
	b.s.Disconnected(1)
	b.settle()
	if !gone.done() || f0.done() {
		t.Fatal("the request of the lost connection must end, the rebalance must wait")
	}
	b.conn = 3
	last := b.joinAsync(joinRequest("g", ids[2]))
	if last.done() {
		t.Fatal("began a generation with a member that is away")
	}
	b.advance(10 * time.Second) // its session
	r := last.get()
	if r.ErrorCode != 0 || r.Generation != generation+1 || len(f0.get().Members) != 2 {
		t.Fatalf("response %+v", r)
	}
}

func TestMemberThatComesBackOnAnotherConnectionStays(t *testing.T) {
	b := newBench(t)
	ids, generation := b.stable("g", 2)
	b.conn = 1
	b.joinAsync(joinRequest("g", ids[0]))
	b.s.Disconnected(1)
	b.advance(5 * time.Second)
	b.conn = 2
	f := b.joinAsync(joinRequest("g", ids[0]))
	b.s.Disconnected(1) // of what it does not have any more
	b.join(joinRequest("g", ids[1]))
	if r := f.get(); r.Generation != generation+1 || len(r.Members) != 2 {
		t.Fatalf("response %+v", r)
	}
}

// A client that does not know its member id cannot come back as that member.
func TestDisconnectOfAMemberThatDoesNotKnowItsID(t *testing.T) {
	b := newBench(t)
	b.conn = 1
	old := joinRequest("g", "")
	old.Version = 3
	f := b.joinAsync(old)
	b.s.Disconnected(1)
	b.settle()
	f.get()
	if st := b.s.Stats(); st.Members != 0 {
		t.Fatalf("%d members left behind", st.Members)
	}
}

func TestDisconnectOfAWaitingSync(t *testing.T) {
	b := newBench(t)
	ids, _ := b.stable("g", 2)
	f := b.joinAsync(joinRequest("g", ids[0]))
	b.join(joinRequest("g", ids[1]))
	generation := f.get().Generation
	b.conn = 5
	sync := b.syncAsync("g", ids[1], generation, nil)
	b.s.Disconnected(5)
	b.settle()
	sync.get()
	b.advance(5 * time.Second)
	wantCode(t, "leader", b.heartbeat("g", ids[0], generation), 0)
	b.advance(6 * time.Second)
	wantCode(t, "leader after the session of the lost one", b.heartbeat("g", ids[0], generation), 27)
	if n := len(b.s.parked.conns); n != 0 {
		t.Fatalf("%d connections remembered", n)
	}
}
