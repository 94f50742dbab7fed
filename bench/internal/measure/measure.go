// Package measure accounts for one stretch of a load: time, records, errors, and the
// processor time and memory that client, brokers and everybody else used meanwhile.
package measure

import (
	"math"
	"os"
	"sync/atomic"
	"time"

	"millrace/bench/internal/histogram"
	"millrace/bench/internal/proc"
	"millrace/bench/internal/result"
)

// Stretch is a phase under way. Any goroutine may count; Begin and End belong to the one
// that runs the phase.
type Stretch struct {
	pids   []int
	start  time.Time
	broker proc.Usage
	client proc.Usage
	// machine is the processor time of everything, in seconds.
	machine float64

	// Done counts records.
	Done atomic.Int64
	// Retries is how many batches had to be sent again, for the caller to set before End.
	Retries int64

	fails atomic.Int64
	first atomic.Pointer[string]
}

// Begin starts the clock, after the processes have been looked at. pids are the broker's.
func Begin(pids []int) (*Stretch, error) {
	broker, err := proc.Of(pids...)
	if err != nil {
		return nil, err
	}
	client, err := proc.Of(os.Getpid())
	if err != nil {
		return nil, err
	}
	machine, err := proc.MachineBusySeconds()
	if err != nil {
		return nil, err
	}
	return &Stretch{pids: pids, broker: broker, client: client, machine: machine, start: time.Now()}, nil
}

// Fail counts an error; the text of the first one goes into the result.
func (s *Stretch) Fail(err error) {
	s.fails.Add(1)
	text := err.Error()
	s.first.CompareAndSwap(nil, &text)
}

// End stops the clock and completes x, which says what the load was, with what was
// measured. asked is how many records were to be done. Publish and endToEnd may be nil.
func (s *Stretch) End(x result.Phase, asked int64, publish, endToEnd *histogram.Histogram) (result.Phase, error) {
	seconds := time.Since(s.start).Seconds()
	broker, err := proc.Of(s.pids...)
	if err != nil {
		return x, err
	}
	client, err := proc.Of(os.Getpid())
	if err != nil {
		return x, err
	}
	machine, err := proc.MachineBusySeconds()
	if err != nil {
		return x, err
	}
	used, own := broker.Since(s.broker), client.Since(s.client)
	n := s.Done.Load()
	x.Records, x.Errors, x.Retries = n, s.fails.Load(), s.Retries
	x.CutShort = n < asked && x.Errors == 0
	x.Seconds, x.RecordsPerS = round(seconds, 3), round(float64(n)/seconds, 0)
	x.BrokerCPUS, x.BrokerUserS, x.BrokerSysS = round(used.CPUSeconds(), 2), round(used.UserSeconds, 2), round(used.SysSeconds, 2)
	x.BrokerRSSMiB, x.BrokerPeakMiB = round(used.RSSMiB, 1), round(used.PeakMiB, 1)
	x.ClientCPUS = round(own.CPUSeconds(), 2)
	x.OtherCPUS = round(max(machine-s.machine-used.CPUSeconds()-own.CPUSeconds(), 0), 2)
	x.MBPerS = round(x.GB()*1000/seconds, 2)
	if gb := x.GB(); gb > 0 {
		x.BrokerCPUGB = round(used.CPUSeconds()/gb, 3)
	}
	if text := s.first.Load(); text != nil {
		x.FirstError = *text
	}
	if publish != nil {
		x.LatencyMs = publish.Millis()
	}
	if endToEnd != nil {
		x.E2EMs = endToEnd.Millis()
	}
	return x, nil
}

func round(v float64, places int) float64 {
	scale := math.Pow10(places)
	return math.Round(v*scale) / scale
}
