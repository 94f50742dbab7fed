package compact

import (
	"context"
	"sync"
	"time"
)

// throttle bounds the bytes that all passes together read and write in a second.
type throttle struct {
	mu   sync.Mutex
	free time.Time // when what was taken so far is paid for
}

// wait takes n bytes and sleeps until they are due at the given rate.
func (t *throttle) wait(ctx context.Context, n int, bytesPerSecond float64) error {
	if bytesPerSecond >= 1<<50 { // no limit
		return ctx.Err()
	}
	t.mu.Lock()
	now := time.Now()
	if t.free.Before(now) {
		t.free = now
	}
	t.free = t.free.Add(time.Duration(float64(n) / max(bytesPerSecond, 1) * float64(time.Second)))
	pause := t.free.Sub(now)
	t.mu.Unlock()
	if pause < 5*time.Millisecond { // what a burst gains is paid by the next
		return ctx.Err()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
