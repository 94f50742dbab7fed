package index

import "sync"

// clock bounds how many index maps this process holds. Its mutex is taken only
// when a map is made or dropped, never on a look-up.
type clock struct {
	mu   sync.Mutex
	max  int
	ring []*mapping
	hand int
}

// maps leaves room under the kernel's default of 65,530 maps for log files, the
// Go heap and libraries.
var maps = clock{max: 16384}

// SetMaxMapped bounds how many index maps this process holds (at least 1; the
// default is 16,384). Maps in use by readers may exceed it for a moment. It may
// be called at any time.
func SetMaxMapped(n int) {
	maps.mu.Lock()
	maps.max = max(n, 1)
	victims := maps.evict(nil)
	maps.mu.Unlock()
	drop(victims)
}

// Mapped is the number of index maps held now, for metrics.
func Mapped() int {
	maps.mu.Lock()
	defer maps.mu.Unlock()
	return len(maps.ring)
}

// add enters a new map and gives up others if there are too many.
func (c *clock) add(m *mapping) {
	c.mu.Lock()
	// The owner may have dropped m already; then nobody would ever remove it.
	if m.owner.current.Load() != m {
		c.mu.Unlock()
		return
	}
	m.slot = len(c.ring)
	c.ring = append(c.ring, m)
	victims := c.evict(m)
	c.mu.Unlock()
	drop(victims)
}

// remove takes m out, if it is in.
func (c *clock) remove(m *mapping) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut(m)
}

func (c *clock) cut(m *mapping) {
	if m.slot < 0 {
		return
	}
	last := c.ring[len(c.ring)-1]
	c.ring[m.slot] = last
	last.slot = m.slot
	c.ring[len(c.ring)-1] = nil
	c.ring = c.ring[:len(c.ring)-1]
	m.slot = -1
}

// evict takes maps out of the ring until it fits, those first that nobody used
// since the hand last came by, and never keep. The caller drops them after
// unlocking, because munmap is slow.
func (c *clock) evict(keep *mapping) []*mapping {
	var victims []*mapping
	for len(c.ring) > c.max {
		if c.hand >= len(c.ring) {
			c.hand = 0
		}
		m := c.ring[c.hand]
		if m == keep || m.used.Swap(false) {
			c.hand++
			continue
		}
		c.cut(m)
		victims = append(victims, m)
	}
	return victims
}

// drop releases the owner's reference of each map that still is its owner's.
func drop(victims []*mapping) {
	for _, m := range victims {
		if m.owner.current.CompareAndSwap(m, nil) {
			m.release()
		}
	}
}
