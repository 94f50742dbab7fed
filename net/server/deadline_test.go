package server

import (
	"testing"
	"time"
)

func TestSlowClientsByProgressAndByRate(t *testing.T) {
	const (
		limit = 30 * time.Second
		rate  = 1000
	)
	start := time.Now()
	type step struct {
		after time.Duration
		sent  int
	}
	for name, tc := range map[string]struct {
		steps []step
		at    time.Duration
		slow  bool
	}{
		"just full":              {nil, time.Second, false},
		"nothing for the limit":  {nil, 31 * time.Second, true},
		"drips":                  {[]step{{20 * time.Second, 1}, {40 * time.Second, 1}}, 41 * time.Second, true},
		"slow but steady":        {[]step{{20 * time.Second, 40000}, {40 * time.Second, 40000}}, 60 * time.Second, false},
		"stopped after a while":  {[]step{{20 * time.Second, 40000}}, 51 * time.Second, true},
		"used up what it gained": {[]step{{20 * time.Second, 40000}, {45 * time.Second, 1}, {70 * time.Second, 1}}, 71 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			var s stall
			if s.slow(start.Add(time.Hour), limit, rate) {
				t.Fatal("slow without output")
			}
			s.wait(start)
			for _, st := range tc.steps {
				s.sent += st.sent
				s.moved = start.Add(st.after)
				s.wait(s.moved)
			}
			if got := s.slow(start.Add(tc.at), limit, rate); got != tc.slow {
				t.Fatalf("slow %v, want %v", got, tc.slow)
			}
		})
	}
}
