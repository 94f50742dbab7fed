package measure

import (
	"os"
	"testing"
	"time"

	"millrace/bench/internal/histogram"
	"millrace/bench/internal/result"
)

func TestResultHasThroughputLatencyAndTheUseOfTheBroker(t *testing.T) {
	s, err := Begin([]int{os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	s.start = s.start.Add(-2 * time.Second)
	s.Done.Store(1_000_000)
	s.Fail(os.ErrClosed)
	s.Fail(os.ErrExist)
	lat := new(histogram.Histogram)
	lat.Add(5 * time.Millisecond)
	r, err := s.End(result.Phase{Phase: "produce", Size: 1000}, 2_000_000, lat, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Phase != "produce" || r.MBPerS < 400 || r.MBPerS > 500 || r.Errors != 2 || r.FirstError != os.ErrClosed.Error() || r.CutShort {
		t.Errorf("result is %+v", r)
	}
	if r.LatencyMs["p50"] < 5 || r.LatencyMs["p50"] > 5.2 || r.E2EMs != nil || r.BrokerRSSMiB <= 0 {
		t.Errorf("result is %+v", r)
	}
}

func TestWhatWasCutIsSaid(t *testing.T) {
	s, err := Begin(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Done.Store(5)
	for asked, cut := range map[int64]bool{5: false, 6: true} {
		if r, err := s.End(result.Phase{Size: 1}, asked, nil, nil); err != nil || r.CutShort != cut {
			t.Errorf("5 of %d: cut short is %v, %v", asked, r.CutShort, err)
		}
	}
}
