package main

import (
	"io"
	"math/rand/v2"
	"testing"
	"time"
)

// level makes samples of one life whose resident memory goes from one value to another, evenly.
func level(life, n int, from, to int64) (out []sample) {
	for i := range n {
		rss := from + (to-from)*int64(i)/int64(n)
		out = append(out, sample{life: life, rssBytes: rss, files: 60, maps: 50, goroutines: 30, entries: 300})
	}
	return out
}

func TestWhatGrowsIsNotFlat(t *testing.T) {
	const mb = 1 << 20
	for name, c := range map[string]struct {
		samples []sample
		flat    bool
	}{
		"level":                     {append(level(0, 60, 50*mb, 50*mb), level(3, 60, 50*mb, 50*mb)...), true},
		"a little":                  {append(level(0, 60, 50*mb, 55*mb), level(3, 60, 50*mb, 55*mb)...), true},
		"within one life":           {append(level(0, 60, 50*mb, 150*mb), level(3, 60, 50*mb, 50*mb)...), false},
		"from life to life":         {append(level(0, 60, 50*mb, 50*mb), level(3, 60, 90*mb, 90*mb)...), false},
		"too few samples to know":   {append(level(0, 60, 50*mb, 50*mb), level(3, 12, 50*mb, 50*mb)...), false},
		"only at the very first":    {append(append(level(0, 12, 20*mb, 50*mb), level(0, 50, 50*mb, 50*mb)...), level(3, 60, 50*mb, 50*mb)...), true},
		"smaller in the later ones": {append(level(0, 60, 90*mb, 50*mb), level(3, 60, 40*mb, 40*mb)...), true},
	} {
		if err := judge(c.samples, []int{0, 3}, io.Discard); (err == nil) != c.flat {
			t.Errorf("%s: %v", name, err)
		}
	}
	growing := level(0, 120, 50*mb, 50*mb)
	for i := range growing {
		growing[i].entries += int64(i) * 3
	}
	if err := judge(growing, []int{0}, io.Discard); err == nil {
		t.Error("entries of the data dir grow unnoticed")
	}
}

func TestTheLastVersionOfAKeyMustBeThere(t *testing.T) {
	for _, c := range []struct {
		name       string
		want, last int64
		lost       bool
	}{
		{"the last one", 5, 5, false},
		{"an earlier one", 5, 4, true},
		{"none", 5, 0, true},
		{"never written", 0, 0, false},
		{"deleted, the deletion is there", 8, 8, false},
		{"deleted and gone", 8, 0, false},
		{"deleted and back", 8, 7, true},
	} {
		if vs := compareKeys([]int64{c.want}, []int64{c.last}); (len(vs) > 0) != c.lost {
			t.Errorf("%s: %v", c.name, vs)
		}
	}
}

func TestAPlanFillsItsTimeAndEndsWithALongLife(t *testing.T) {
	for _, minutes := range []time.Duration{2, 3, 17, 60, 24 * 60} {
		total := minutes * time.Minute
		lives := plan(total, rand.New(rand.NewPCG(1, 2)))
		var sum time.Duration
		long, kills := 0, 0
		for _, l := range lives {
			sum += l.d
			if l.long {
				long++
				if l.d < 30*time.Second {
					t.Errorf("%v: a long life of %v is too short to measure", total, l.d)
				}
			}
			if l.kill {
				kills++
			}
		}
		if sum > total || sum < total-time.Second || long < 2 || kills == 0 || !lives[len(lives)-1].long {
			t.Errorf("%v: %v planned in %d lives, %d long, %d kills", total, sum, len(lives), long, kills)
		}
	}
}

func TestAFieldIsReadWhereItsNameBeginsALine(t *testing.T) {
	status := []byte("Name:\tmillrace\nVmHWM:\t  99 kB\nVmRSS:\t  1234 kB\n")
	if n, err := field(status, "VmRSS:"); err != nil || n != 1234 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := field(status, "RSS:"); err == nil {
		t.Error("found in the middle of a line")
	}
	if n, err := field([]byte("go_goroutines 1.2e+03\n"), "go_goroutines "); err != nil || n != 1200 {
		t.Errorf("%d, %v", n, err)
	}
}
