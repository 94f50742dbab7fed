package history

import "iter"

// Record is one record as it was read back.
type Record struct {
	Offset int64
	Value  []byte
}

// Check judges a partition by its records in offset order, the first of which must be at
// offset start. It returns nothing if the log may have come from this history. The
// history must be at rest.
func (h *History) Check(partition int32, start int64, records iter.Seq[Record]) []Violation {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := checker{h: h, findings: findings{partition: partition}, next: start, lanes: map[int32]*progress{}}
	for r := range records {
		c.record(r)
	}
	c.missing()
	return c.list()
}

// checker walks over one partition.
type checker struct {
	findings
	h     *History
	next  int64
	lanes map[int32]*progress // by producer
}

// progress is how far a lane has been read.
type progress struct {
	seen []bool
	last int64 // the highest number seen
}

func (c *checker) record(r Record) {
	if r.Offset != c.next {
		c.add(Gap, "offset %d where %d was due", r.Offset, c.next)
	}
	c.next = r.Offset + 1
	s, err := Decode(r.Value)
	if err != nil {
		c.add(Corrupt, "offset %d: %v", r.Offset, err)
		return
	}
	lane := c.h.lanes[laneKey{s.Producer, c.partition}]
	if s.Partition != c.partition || s.Seq < 0 || s.Seq >= int64(len(lane)) {
		c.add(Phantom, "offset %d: record %d of producer %d for partition %d was never sent here", r.Offset, s.Seq, s.Producer, s.Partition)
		return
	}
	c.place(r.Offset, s, lane)
}

// place judges a record that was sent by what its lane knows of it.
func (c *checker) place(offset int64, s Stamp, lane []entry) {
	e := lane[s.Seq]
	if e.outcome == refused {
		c.add(Phantom, "offset %d: record %d of producer %d was refused", offset, s.Seq, s.Producer)
	}
	p := c.lanes[s.Producer]
	if p == nil {
		p = &progress{seen: make([]bool, len(lane)), last: -1}
		c.lanes[s.Producer] = p
	}
	switch {
	case p.seen[s.Seq]:
		c.add(Duplicate, "offset %d: record %d of producer %d was there before", offset, s.Seq, s.Producer)
		return
	case s.Seq < p.last:
		c.add(Reordered, "offset %d: record %d of producer %d comes after its record %d", offset, s.Seq, s.Producer, p.last)
	}
	if e.outcome == acknowledged && e.offset != NoOffset && e.offset != offset {
		c.add(Moved, "record %d of producer %d is at offset %d, acknowledged at %d", s.Seq, s.Producer, offset, e.offset)
	}
	p.seen[s.Seq] = true
	p.last = max(p.last, s.Seq)
}

// missing finds what was acknowledged and has not been read.
func (c *checker) missing() {
	for k, lane := range c.h.lanes {
		if k.partition != c.partition {
			continue
		}
		p := c.lanes[k.producer]
		for seq, e := range lane {
			if e.outcome == acknowledged && (p == nil || !p.seen[seq]) {
				c.add(Lost, "record %d of producer %d, acknowledged at offset %d", seq, k.producer, e.offset)
			}
		}
	}
}
