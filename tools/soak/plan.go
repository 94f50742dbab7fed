package main

import (
	"math/rand/v2"
	"time"
)

// life is one process of the broker, from its start to its end.
type life struct {
	long bool // measured
	kill bool // ended by kill -9, else by a clean shutdown
	d    time.Duration
}

const (
	// cycle is about how long several short lives and a long one take together; there are at least two.
	cycle = 10 * time.Minute
	// shortShare of a cycle are short lives, which last shortLife on average.
	shortShare = 0.25
	shortLife  = 5 * time.Second
	// killed is in how many of three lives the end is kill -9.
	killed = 2
)

// plan divides the time into lives.
func plan(total time.Duration, rng *rand.Rand) (lives []life) {
	cycles := max(2, int(total/cycle))
	each := total / time.Duration(cycles)
	short := time.Duration(float64(each) * shortShare)
	for range cycles {
		for left := short; left > 0; {
			d := time.Second + time.Duration(rng.Int64N(int64(2*(shortLife-time.Second))))
			lives = append(lives, life{kill: rng.IntN(3) < killed, d: min(d, left)})
			left -= d
		}
		lives = append(lives, life{long: true, kill: rng.IntN(3) < killed, d: each - short})
	}
	return lives
}
