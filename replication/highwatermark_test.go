package replication

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// recorder notes acknowledgements by token.
type recorder struct {
	mu     sync.Mutex
	tokens []int
	errs   map[int]error
}

func (r *recorder) Appended(token int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tokens = append(r.tokens, token)
	if err != nil {
		if r.errs == nil {
			r.errs = map[int]error{}
		}
		r.errs[token] = err
	}
}

type watcherFunc func(*Partition)

func (f watcherFunc) Advanced(p *Partition) { f(p) }

func TestAcknowledgementsComeWhenTheHighWatermarkCoversThem(t *testing.T) {
	p, r := &Partition{}, &recorder{}
	for i, end := range []int64{10, 20, 30} {
		p.waiting.add(&p.highWatermark, end, r, i)
	}
	p.advanceHighWatermark(9)
	if len(r.tokens) != 0 {
		t.Fatalf("acknowledged %v below the first end", r.tokens)
	}
	p.advanceHighWatermark(20)
	if !slices.Equal(r.tokens, []int{0, 1}) {
		t.Fatalf("acknowledged %v at 20, want [0 1]", r.tokens)
	}
	p.waiting.add(&p.highWatermark, 15, r, 3) // came late: covered already
	if !slices.Equal(r.tokens, []int{0, 1, 3}) {
		t.Fatalf("acknowledged %v, want [0 1 3]", r.tokens)
	}
	p.advanceHighWatermark(30)
	if !slices.Equal(r.tokens, []int{0, 1, 3, 2}) {
		t.Fatalf("acknowledged %v, want [0 1 3 2]", r.tokens)
	}
}

func TestTheHighWatermarkNeverGoesBack(t *testing.T) {
	p := &Partition{}
	p.advanceHighWatermark(7)
	p.advanceHighWatermark(3)
	if hw := p.HighWatermark(); hw != 7 {
		t.Fatalf("high watermark %d after 7 and 3", hw)
	}
}

// Whatever the order in which appends come in, each is acknowledged exactly once,
// and none before its end is covered.
func TestEveryAppendIsAcknowledgedOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r := &Partition{}, &recorder{}
		ends := map[int]int64{}
		next, hw := 0, int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				ends[next] = rapid.Int64Range(1, 500).Draw(t, "end")
				p.waiting.add(&p.highWatermark, ends[next], r, next)
				next++
			},
			"advance": func(t *rapid.T) {
				hw = max(hw, rapid.Int64Range(0, 500).Draw(t, "offset"))
				p.advanceHighWatermark(hw)
			},
			"": func(t *rapid.T) {
				seen := map[int]bool{}
				for _, tok := range r.tokens {
					if seen[tok] {
						t.Fatalf("append %d acknowledged twice", tok)
					}
					seen[tok] = true
				}
				for tok, end := range ends {
					if seen[tok] != (end <= hw) {
						t.Fatalf("append %d with end %d: acknowledged %v at high watermark %d", tok, end, seen[tok], hw)
					}
				}
			},
		})
	})
}

func TestAFailedLogAnswersEverybodyWhoWaits(t *testing.T) {
	p, r := &Partition{}, &recorder{}
	broken := errors.New("broken")
	woken := 0
	p.Watch(watcherFunc(func(*Partition) { woken++ }))
	p.waiting.add(&p.highWatermark, 10, r, 0)
	p.fail(broken)
	p.waiting.add(&p.highWatermark, 20, r, 1)
	if !errors.Is(r.errs[0], broken) || !errors.Is(r.errs[1], broken) {
		t.Fatalf("errors %v, want both %v", r.errs, broken)
	}
	if woken != 1 {
		t.Fatalf("watchers woken %d times, want once", woken)
	}
}

func TestWatchersAreCalledUntilTheyLeave(t *testing.T) {
	p := &Partition{}
	calls := 0
	w := new(countingWatcher)
	w.calls = &calls
	p.Watch(w)
	p.advanceHighWatermark(1)
	p.Unwatch(w)
	p.advanceHighWatermark(2)
	if calls != 1 || p.Watched() != 0 {
		t.Fatalf("called %d times with %d left, want 1 and 0", calls, p.Watched())
	}
}

type countingWatcher struct{ calls *int }

func (c *countingWatcher) Advanced(*Partition) { *c.calls++ }

// An acknowledgement may append again, and with durability=async that append moves
// the high watermark at once, from within.
func TestAnAcknowledgementMayMoveTheHighWatermark(t *testing.T) {
	p := &Partition{}
	r := &recorder{}
	p.waiting.add(&p.highWatermark, 1, ackerFunc(func(int, error) {
		p.waiting.add(&p.highWatermark, 2, r, 7)
		p.advanceHighWatermark(2)
	}), 0)
	p.advanceHighWatermark(1)
	if !slices.Equal(r.tokens, []int{7}) || p.HighWatermark() != 2 {
		t.Fatalf("acknowledged %v at high watermark %d, want [7] at 2", r.tokens, p.HighWatermark())
	}
}

type ackerFunc func(int, error)

func (f ackerFunc) Appended(token int, err error) { f(token, err) }
