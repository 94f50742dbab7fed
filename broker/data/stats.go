package data

// Stats are totals since start, and levels where the name is not a total's.
type Stats struct {
	Partitions      int64 // open now
	ProduceRequests int64
	Batches         int64
	Records         int64
	Bytes           int64
	Rejected        int64 // batches
	FetchRequests   int64
	FetchedBytes    int64
	Parked          int64 // fetches waiting now
	ColdFetches     int64
	Sessions        int64 // now
}

// Stats reads the counters, each by itself.
func (s *Service) Stats() Stats {
	st := Stats{
		ProduceRequests: s.produced.requests.Load(),
		Batches:         s.produced.batches.Load(),
		Records:         s.produced.records.Load(),
		Bytes:           s.produced.bytes.Load(),
		Rejected:        s.produced.rejected.Load(),
		FetchRequests:   s.fetched.requests.Load(),
		FetchedBytes:    s.fetched.bytes.Load(),
		Parked:          s.parked.Parked(),
		ColdFetches:     s.fetched.cold.Load(),
		Sessions:        int64(s.sessions.len()),
	}
	s.placement.Lock()
	for _, ps := range s.perDir {
		st.Partitions += int64(len(ps))
	}
	s.placement.Unlock()
	return st
}
