package pace

import (
	"testing"
	"time"
)

func TestALateRecordCountsFromWhenItWasDue(t *testing.T) {
	p := Pace{Start: time.Now().Add(-time.Second), Rate: 1000}
	if got, due := p.Await(10), p.Start.Add(10*time.Millisecond); !got.Equal(due) {
		t.Errorf("a record 990 ms late counts from %v, want %v", got, due)
	}
	p.Start = time.Now()
	if got := p.Await(20); got.Before(p.Start.Add(20 * time.Millisecond)) {
		t.Errorf("a record due in 20 ms is sent after %v", got.Sub(p.Start))
	}
}

func TestWithoutARateNothingWaits(t *testing.T) {
	p := Pace{Start: time.Now()}
	if got := p.Await(1 << 40); got.Sub(p.Start) > time.Second {
		t.Errorf("a record is sent after %v", got.Sub(p.Start))
	}
}
