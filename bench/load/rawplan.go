package main

import (
	"context"
	"sync"
	"time"
)

// rawRequest is one Produce request: a batch for each of some topics.
type rawRequest struct {
	batch  int   // which of the batches
	topics []int // by number
	// first is when it was sent first, what its latency counts from.
	first time.Time
	// due is when a request that was refused may be sent again.
	due time.Time
}

// backoff is how long a batch waits that was refused for the moment, Kafka's
// retry.backoff.ms.
const backoff = 100 * time.Millisecond

// rawPlan hands requests to the connections: those of the phase one after the other, and
// in between those that have to be sent again. All of it is under mu.
type rawPlan struct {
	mu   sync.Mutex
	cond sync.Cond // again has more, or nothing is open any more, or stopped

	next, total int64
	spread      int // topics in a request
	topics      int
	// open is how many requests are not answered yet.
	open    int
	again   []rawRequest // in the order of due
	refused int64        // batches that were sent again
	stopped bool
}

func newRawPlan(total int64, spread, topics int) *rawPlan {
	p := &rawPlan{total: total, spread: spread, topics: topics}
	p.cond.L = &p.mu
	return p
}

// take is what to send next; ok is false if everything is acknowledged, or the time for
// sending is over. It waits while only unanswered requests may bring more.
func (p *rawPlan) take(sending context.Context) (r rawRequest, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.stopped && sending.Err() == nil {
		now := time.Now()
		switch {
		case len(p.again) > 0 && (p.next == p.total || !p.again[0].due.After(now)):
			r, p.again = p.again[0], p.again[1:]
			p.open++
			if wait := r.due.Sub(now); wait > 0 {
				p.mu.Unlock()
				time.Sleep(wait)
				p.mu.Lock()
			}
			return r, true
		case p.next < p.total:
			r = rawRequest{batch: int(p.next % rawVariants), topics: make([]int, p.spread), first: now}
			for i := range r.topics {
				r.topics[i] = int((p.next*int64(p.spread) + int64(i)) % int64(p.topics))
			}
			p.next++
			p.open++
			return r, true
		case p.open == 0:
			return r, false
		}
		p.cond.Wait()
	}
	return r, false
}

// answered says that a request is done but for the topics that refused it for the moment.
func (p *rawPlan) answered(r rawRequest, refused []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
	if len(refused) > 0 {
		p.refused += int64(len(refused))
		p.again = append(p.again, rawRequest{batch: r.batch, topics: refused, first: r.first, due: time.Now().Add(backoff)})
	}
	p.cond.Broadcast()
}

// stop ends the handing out.
func (p *rawPlan) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.cond.Broadcast()
}
