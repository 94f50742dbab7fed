package history

import "sync"

// Commits is what one consumer group committed.
type Commits struct {
	mu    sync.Mutex
	parts map[int32]*committed
}

// committed is one partition's commits.
type committed struct {
	asked int64 // the highest offset any commit asked for
	acked int64 // the highest offset whose commit was confirmed
	seen  int64 // the highest offset the broker has answered
}

// NewCommits returns an empty record of commits.
func NewCommits() *Commits { return &Commits{parts: map[int32]*committed{}} }

// of returns a partition's commits; mu is held.
func (c *Commits) of(partition int32) *committed {
	p := c.parts[partition]
	if p == nil {
		p = &committed{asked: -1, acked: -1, seen: -1}
		c.parts[partition] = p
	}
	return p
}

// Ask notes a commit about to be sent.
func (c *Commits) Ask(partition int32, offset int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.of(partition)
	p.asked = max(p.asked, offset)
}

// Acknowledge notes that a commit was confirmed.
func (c *Commits) Acknowledge(partition int32, offset int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.of(partition)
	p.acked = max(p.acked, offset)
}

// Acknowledged is the highest confirmed offset of a partition, -1 if there is none. A
// consumer that starts anew may not be given a record below it.
func (c *Commits) Acknowledged(partition int32) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of(partition).acked
}

// Observe judges a committed offset that the broker answered (-1: none). Commits may be
// under way meanwhile, so confirmed is what Acknowledged gave before the broker was asked.
func (c *Commits) Observe(partition int32, confirmed, offset int64) []Violation {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.of(partition)
	f := findings{partition: partition}
	switch {
	case offset < confirmed:
		f.add(WentBack, "the broker answers %d, but has confirmed %d", offset, confirmed)
	case offset < p.seen:
		f.add(WentBack, "the broker answers %d, but has answered %d before", offset, p.seen)
	}
	if offset > p.asked {
		f.add(NeverAsked, "the broker answers %d, but no commit went beyond %d", offset, p.asked)
	}
	p.seen = max(p.seen, offset)
	return f.list()
}
