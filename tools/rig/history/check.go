package history

import "iter"

// Record is one record as it was read back.
type Record struct {
	Offset     int64
	Key, Value []byte
}

// Check judges a partition by its records in offset order, the first of which must be at
// offset start: what was acknowledged below is not asked for. It returns nothing if the log may have come from this history. The
// history must be at rest.
func (h *History) Check(partition int32, start int64, records iter.Seq[Record]) []Violation {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := checker{h: h, findings: findings{partition: partition}, start: start, next: start, lanes: map[int32]*progress{}}
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
	start int64
	next  int64
	lanes map[int32]*progress // by producer
}

// progress is how far a lane has been read.
type progress struct {
	seen []bool // from the lane's base on
	last int64  // the highest number seen
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
	l := c.h.lanes[laneKey{s.Producer, c.partition}]
	if l != nil && s.Partition == c.partition && s.Seq >= 0 && s.Seq < l.base {
		c.add(Duplicate, "offset %d: record %d of producer %d was below the log start before", r.Offset, s.Seq, s.Producer)
		return
	}
	if l == nil || s.Partition != c.partition || !l.knows(s.Seq) {
		c.add(Phantom, "offset %d: record %d of producer %d for partition %d was never sent here", r.Offset, s.Seq, s.Producer, s.Partition)
		return
	}
	c.place(r.Offset, s, l)
}

// place judges a record that was sent by what its lane knows of it.
func (c *checker) place(offset int64, s Stamp, l *lane) {
	e := l.at(s.Seq)
	if e.outcome == refused {
		c.add(Phantom, "offset %d: record %d of producer %d was refused", offset, s.Seq, s.Producer)
	}
	p := c.lanes[s.Producer]
	if p == nil {
		p = &progress{seen: make([]bool, len(l.entries)), last: -1}
		c.lanes[s.Producer] = p
	}
	switch {
	case p.seen[s.Seq-l.base]:
		c.add(Duplicate, "offset %d: record %d of producer %d was there before", offset, s.Seq, s.Producer)
		return
	case s.Seq < p.last:
		c.add(Reordered, "offset %d: record %d of producer %d comes after its record %d", offset, s.Seq, s.Producer, p.last)
	}
	if e.outcome == acknowledged && e.offset != NoOffset && e.offset != offset {
		c.add(Moved, "record %d of producer %d is at offset %d, acknowledged at %d", s.Seq, s.Producer, offset, e.offset)
	}
	p.seen[s.Seq-l.base] = true
	p.last = max(p.last, s.Seq)
}

// missing finds what was acknowledged and has not been read.
func (c *checker) missing() {
	for k, l := range c.h.lanes {
		if k.partition != c.partition {
			continue
		}
		p := c.lanes[k.producer]
		for i, e := range l.entries {
			if e.outcome != acknowledged || e.offset == NoOffset && c.start > 0 || e.offset != NoOffset && e.offset < c.start {
				continue
			}
			if p == nil || !p.seen[i] {
				c.add(Lost, "record %d of producer %d, acknowledged at offset %d", l.base+int64(i), k.producer, e.offset)
			}
		}
	}
}
