package histogram

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestQuantileIsWithinOneStepOfTheSortedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(1, int64(time.Hour)), 1, 300).Draw(t, "values")
		q := rapid.Float64Range(0.01, 1).Draw(t, "q")
		var h Histogram
		for _, v := range values {
			h.Add(time.Duration(v))
		}
		slices.Sort(values)
		want := values[max(int(math.Ceil(q*float64(len(values))))-1, 0)]
		got := int64(h.Quantile(q))
		if got < want || float64(got) > float64(want)*1.032+1 {
			t.Fatalf("quantile %v of %v is %d, want %d or a step above", q, values, got, want)
		}
	})
}

func TestStepsRiseAndEveryValueLiesBelowTheUpperEndOfItsStep(t *testing.T) {
	last := -1
	for v := time.Duration(1); v < time.Hour; v += v/97 + 1 {
		s := step(v)
		if s < last {
			t.Fatalf("step of %d is %d, below the step %d of a smaller value", v, s, last)
		}
		if u := upper(s); u < v {
			t.Fatalf("step %d ends at %d, but holds %d", s, u, v)
		}
		last = s
	}
}

func TestExtremesDoNotLeaveTheTable(t *testing.T) {
	var h Histogram
	h.Add(-time.Second)
	h.Add(0)
	h.Add(math.MaxInt64)
	if n := h.Count(); n != 3 {
		t.Fatalf("count is %d, want 3", n)
	}
}

func TestEmptyHistogramHasNoQuantiles(t *testing.T) {
	var h Histogram
	if h.Quantile(.5) != 0 || h.Millis() != nil {
		t.Fatal("an empty histogram claims a quantile")
	}
}

func BenchmarkAdd(b *testing.B) {
	var h Histogram
	b.ReportAllocs()
	for i := range b.N {
		h.Add(time.Duration(i))
	}
}
