package histogram

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// steps is the number of linear steps in one power of two; stepBits its logarithm.
const (
	stepBits = 6
	steps    = 1 << stepBits
)

// Histogram counts durations. The zero value is ready.
type Histogram struct {
	counts [64 * steps]atomic.Int64
}

// Add counts one duration; what is below a nanosecond counts as one.
func (h *Histogram) Add(d time.Duration) {
	h.counts[step(d)].Add(1)
}

// step is the index of the step that holds d: below 64 ns the value itself, above
// it a row for the leading bit and a column for the six bits that follow.
func step(d time.Duration) int {
	v := uint64(max(d, 1))
	n := bits.Len64(v)
	if n <= stepBits {
		return int(v)
	}
	return (n-stepBits)*steps + int(v>>(n-stepBits-1)) - steps
}

// upper is the first duration above step i.
func upper(i int) time.Duration {
	if i < steps {
		return time.Duration(i)
	}
	return time.Duration((i%steps + steps + 1) << (i/steps - 1))
}

// Count is the number of durations added.
func (h *Histogram) Count() int64 {
	var total int64
	for i := range h.counts {
		total += h.counts[i].Load()
	}
	return total
}

// Quantile is the smallest duration that at least the share q (0 to 1) of all added
// durations do not pass, rounded up to its step; 0 if there are none.
func (h *Histogram) Quantile(q float64) time.Duration {
	total := h.Count()
	if total == 0 {
		return 0
	}
	var seen int64
	last := 0
	for i := range h.counts {
		c := h.counts[i].Load()
		if c == 0 {
			continue
		}
		last = i
		if seen += c; float64(seen) >= q*float64(total) {
			break
		}
	}
	return upper(last)
}

// names are the quantiles of Millis.
var names = []struct {
	name string
	q    float64
}{{"p50", .5}, {"p90", .9}, {"p99", .99}, {"p99.9", .999}, {"p99.99", .9999}, {"max", 1}}

// Millis is the usual quantiles in milliseconds by their names: p50, p90, p99,
// p99.9, p99.99 and max. Nil if nothing was added.
func (h *Histogram) Millis() map[string]float64 {
	if h.Count() == 0 {
		return nil
	}
	out := make(map[string]float64, len(names))
	for _, n := range names {
		out[n.name] = float64(h.Quantile(n.q).Microseconds()) / 1000
	}
	return out
}
