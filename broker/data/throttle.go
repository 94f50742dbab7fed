package data

import (
	"context"
	"math"
	"sync"
	"time"
)

// throttle spreads bytes over time, for all who take from it together. The rate may change at any time.
type throttle struct {
	mu   sync.Mutex
	free time.Time // when what was taken is paid for
}

// checkRate is how often the rate is looked at again while waiting.
const checkRate = 100 * time.Millisecond

// take waits until n more bytes may go. rate gives bytes per second; MaxInt64 is no limit, and 0 is none at all.
func (t *throttle) take(ctx context.Context, n int, rate func() int64) error {
	for {
		r := rate()
		if r == math.MaxInt64 {
			return nil
		}
		wait := checkRate
		if r > 0 {
			now := time.Now()
			t.mu.Lock()
			if wait = t.free.Sub(now); wait <= 0 {
				t.free = now.Add(time.Duration(float64(n) / float64(r) * float64(time.Second)))
				t.mu.Unlock()
				return nil
			}
			t.mu.Unlock()
		}
		select {
		case <-time.After(min(wait, checkRate)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
