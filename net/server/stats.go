package server

import (
	"sync/atomic"
	"time"
)

// Stats counts what the server did since it started; the first three are levels.
type Stats struct {
	Connections int64 // open
	InFlight    int64 // requests that are not yet answered and sent
	Paused      int64 // connections whose input is held back
	InputBytes  int64 // memory of unanswered requests

	Accepted     int64 // connections
	Refused      int64 // connections over a limit
	AcceptErrors int64 // accept failed, mostly for want of file descriptors

	Requests    int64
	BytesIn     int64
	BytesOut    int64
	FileBytes   int64 // of BytesOut, by sendfile
	ColdReads   int64 // file ranges that were not in the page cache
	SlowSenders int64 // connections closed: a request took too long to arrive
	SlowReaders int64 // connections closed: no progress on queued output
	Idle        int64 // connections closed: idle
	TooLarge    int64 // connections closed: frame over the limit
	Malformed   int64 // connections closed: bad length or header
	Shed        int64 // connections closed: memory for input exhausted
	Failed      int64 // connections closed by the handler
	Panics      int64 // of the handler
}

// counters are the statistics of one loop, so that loops do not share cache lines.
// Written on the loop, read by anyone.
type counters struct {
	inFlight, paused                                    atomic.Int64
	requests, bytesIn, bytesOut, fileBytes, coldReads   atomic.Int64
	slowSenders, slowReaders, idle, tooLarge, malformed atomic.Int64
	shed, failed, panics                                atomic.Int64
	_                                                   [64]byte
}

// Stats returns the statistics. The figures are read one after the other.
func (s *Server) Stats() Stats {
	st := Stats{
		Connections:  s.limits.open.Load(),
		InputBytes:   s.inputBytes.Load(),
		Accepted:     s.accepted.Load(),
		Refused:      s.refused.Load(),
		AcceptErrors: s.acceptErrors.Load(),
	}
	for _, l := range s.loops {
		n := &l.n
		st.InFlight += n.inFlight.Load()
		st.Paused += n.paused.Load()
		st.Requests += n.requests.Load()
		st.BytesIn += n.bytesIn.Load()
		st.BytesOut += n.bytesOut.Load()
		st.FileBytes += n.fileBytes.Load()
		st.ColdReads += n.coldReads.Load()
		st.SlowSenders += n.slowSenders.Load()
		st.SlowReaders += n.slowReaders.Load()
		st.Idle += n.idle.Load()
		st.TooLarge += n.tooLarge.Load()
		st.Malformed += n.malformed.Load()
		st.Shed += n.shed.Load()
		st.Failed += n.failed.Load()
		st.Panics += n.panics.Load()
	}
	return st
}

// onceAMinute lets one log line through per minute.
type onceAMinute struct{ last atomic.Int64 }

func (o *onceAMinute) ok(now time.Time) bool {
	last := o.last.Load()
	n := now.UnixNano()
	return (last == 0 || n-last >= int64(time.Minute)) && o.last.CompareAndSwap(last, n)
}
