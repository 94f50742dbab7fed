package group

// Stats is what a Service holds at one moment.
type Stats struct {
	Groups     map[State]int // by state; every state but Dead has an entry
	Members    int           // of all groups
	Pending    int           // member ids given out and not yet joined with
	Offsets    int           // committed offsets
	Partitions int           // of the offsets topic, served here
	Loading    int           // of the offsets topic, being read
}

// Stats counts. It looks at every group: for metrics, not for requests.
func (s *Service) Stats() Stats {
	st := Stats{Groups: map[State]int{Empty: 0, PreparingRebalance: 0, CompletingRebalance: 0, Stable: 0}}
	for _, sh := range s.all() {
		sh.lock()
		switch sh.state {
		case loading:
			st.Loading++
		case active:
			st.Partitions++
			st.Offsets += sh.offsets
			for _, g := range sh.groups {
				st.Groups[g.state]++
				st.Members += len(g.members)
				st.Pending += len(g.pending)
			}
		}
		sh.unlock()
	}
	return st
}
