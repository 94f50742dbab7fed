package group

import (
	"container/heap"
	"sync"
	"time"
)

// timer runs fire under its shard's lock when it is due. All fields but at and
// index belong to the shard's lock.
//
// A heartbeat moves a timer later, thousands of times for each time one fires. So
// arming one for later than its place in the heap only notes the new time; the
// heap finds out when the old time comes.
type timer struct {
	sh    *shard
	fire  func()
	due   time.Duration // on the service's monotonic clock
	armed bool

	at    time.Duration // place in the heap; at <= due while armed. Under timers.mu
	index int           // in the heap, plus 1; 0: not in it. Under timers.mu
}

// timers is the heap of all timers of a Service.
type timers struct {
	mu   sync.Mutex
	heap timerHeap
	wake chan struct{} // the head came nearer
}

// arm makes t fire after d. Needs the shard's lock.
func (sh *shard) arm(t *timer, d time.Duration) {
	t.due, t.armed = sh.svc.mono()+max(d, 0), true
	ts := &sh.svc.timers
	ts.mu.Lock()
	switch {
	case t.index == 0:
		t.at = t.due
		heap.Push(&ts.heap, t)
	case t.due < t.at:
		t.at = t.due
		heap.Fix(&ts.heap, t.index-1)
	}
	head := t.index == 1
	ts.mu.Unlock()
	if head {
		select {
		case ts.wake <- struct{}{}:
		default:
		}
	}
}

// disarm makes t not fire. Needs the shard's lock.
func (sh *shard) disarm(t *timer) {
	if t == nil || !t.armed {
		return
	}
	t.armed = false
	ts := &sh.svc.timers
	ts.mu.Lock()
	if t.index != 0 {
		heap.Remove(&ts.heap, t.index-1)
	}
	ts.mu.Unlock()
}

// pop takes the head if it is due at now. Otherwise it says how long that is off.
func (ts *timers) pop(now time.Duration) (t *timer, wait time.Duration, any bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(ts.heap) == 0 {
		return nil, 0, false
	}
	if head := ts.heap[0]; head.at > now {
		return nil, head.at - now, true
	}
	return heap.Pop(&ts.heap).(*timer), 0, true
}

// fireTimers fires what is due and says how long the next one is off.
func (s *Service) fireTimers() (wait time.Duration, any bool) {
	for {
		t, wait, any := s.timers.pop(s.mono())
		if t == nil {
			return wait, any
		}
		t.sh.lock()
		switch {
		case !t.armed:
		case t.due > s.mono():
			t.sh.arm(t, t.due-s.mono())
		default:
			t.armed = false
			t.fire()
		}
		t.sh.unlock()
	}
}

// runTimers is the timer goroutine.
func (s *Service) runTimers() {
	defer s.running.Done()
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()
	for {
		wait, any := s.fireTimers()
		if !any {
			wait = time.Hour
		}
		alarm.Reset(wait)
		select {
		case <-alarm.C:
		case <-s.timers.wake:
		case <-s.stop:
			return
		}
	}
}

type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i+1, j+1
}
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	*h = append(*h, t)
	t.index = len(*h)
}
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.index = 0
	return t
}
