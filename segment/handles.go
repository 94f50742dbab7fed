package segment

import (
	"sync"

	"millrace/segment/cold"
)

// handleCache bounds how many segment files a dir has open for reading, by the clock algorithm. Files being
// read stay open, whatever it decides, until their last holder is done.
type handleCache struct {
	max    int
	blocks *cold.Cache // memory for what is read past the page cache; nil: nothing is

	mu   sync.Mutex
	ring []*segment
	hand int
}

// add enters a segment whose handle has just been opened and closes others if there are too many.
func (c *handleCache) add(s *segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ring = append(c.ring, s)
	// Each pass of the hand clears a use bit or closes one, so two rounds are enough.
	for tries := 2 * len(c.ring); len(c.ring) > c.max && tries > 0; tries-- {
		if c.hand >= len(c.ring) {
			c.hand = 0
		}
		victim := c.ring[c.hand]
		f := victim.handle.Load()
		if victim == s || f != nil && f.used.Swap(false) {
			c.hand++
			continue
		}
		if f != nil && victim.handle.CompareAndSwap(f, nil) {
			f.Release()
		}
		last := len(c.ring) - 1
		c.ring[c.hand], c.ring[last] = c.ring[last], nil
		c.ring = c.ring[:last]
	}
}
