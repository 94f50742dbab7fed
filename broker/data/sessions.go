package data

import (
	"container/list"
	"math/rand/v2"
	"sync"
	"time"

	"millrace/broker/meta"
)

// Fetch sessions, KIP-227: the broker remembers what a consumer wants, so that it
// sends only changes and gets only changes.

// sessionPartition is what a session remembers of one partition.
type sessionPartition struct {
	name               string // "" if the client fetches by id
	id                 meta.ID
	index              int32
	fetchOffset        int64
	maxBytes           int32
	currentLeaderEpoch int32

	// What the client was last told; a partition in which all of this is as before
	// and which has no data is left out of an incremental answer.
	sentHighWatermark int64
	sentLogStart      int64
	sentError         bool
}

// partitionKey finds a partition in a session: by name or by id, whichever the
// session's version uses.
type partitionKey struct {
	name  string
	id    meta.ID
	index int32
}

// session is one fetch session. mu is held by the fetch in progress only while it
// reads or changes the session, never while it waits.
type session struct {
	id int32

	mu    sync.Mutex
	epoch int32 // the epoch the next request must carry
	byID  bool
	order list.List // of *sessionPartition: the order in which they are served
	parts map[partitionKey]*list.Element

	// Guarded by sessionCache.mu.
	lastUsed time.Time
	place    *list.Element
	counted  int // partitions, as far as the cache has been told
}

func (s *session) set(k partitionKey, p sessionPartition) {
	if e, ok := s.parts[k]; ok {
		x := e.Value.(*sessionPartition)
		x.fetchOffset, x.maxBytes, x.currentLeaderEpoch = p.fetchOffset, p.maxBytes, p.currentLeaderEpoch
		return
	}
	p.sentHighWatermark, p.sentLogStart = -1, -1
	s.parts[k] = s.order.PushBack(&p)
}

func (s *session) forget(k partitionKey) {
	if e, ok := s.parts[k]; ok {
		s.order.Remove(e)
		delete(s.parts, k)
	}
}

// servedLast moves a partition that got data behind the others, so that all of
// them come to their turn under a small limit.
func (s *session) servedLast(k partitionKey) {
	if e, ok := s.parts[k]; ok {
		s.order.MoveToBack(e)
	}
}

// nextEpoch wraps from 2^31-1 to 1: 0 opens a session and -1 closes it.
func nextEpoch(e int32) int32 {
	if e == 1<<31-1 {
		return 1
	}
	return e + 1
}

// minEvictionAge is how long a session must have been unused before a new one may
// take its slot (min.incremental.fetch.session.eviction.ms of Kafka).
const minEvictionAge = 2 * time.Minute

// maxSessionPartitions bounds what all sessions remember together, which clients
// choose: about 70 MB.
const maxSessionPartitions = 250_000

// sessionCache holds the sessions, at most slots.
type sessionCache struct {
	mu         sync.Mutex
	slots      int
	partitions int // of all sessions
	byID       map[int32]*session
	lru        list.List // of *session, least recently used first
}

func newSessionCache(slots int) *sessionCache {
	return &sessionCache{slots: slots, byID: map[int32]*session{}}
}

// open makes a session, or returns nil if the cache is full of sessions in use: the
// fetch is then served without one.
func (c *sessionCache) open(byID bool, now time.Time) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byID) >= c.slots {
		oldest := c.lru.Front()
		if oldest == nil || now.Sub(oldest.Value.(*session).lastUsed) < minEvictionAge {
			return nil
		}
		c.remove(oldest.Value.(*session))
	}
	s := &session{epoch: 1, byID: byID, parts: map[partitionKey]*list.Element{}, lastUsed: now}
	for {
		s.id = rand.Int32N(1<<31-2) + 1
		if _, taken := c.byID[s.id]; !taken {
			break
		}
	}
	c.byID[s.id] = s
	s.place = c.lru.PushBack(s)
	return s
}

// use returns a session and marks it used, nil if it is not known.
func (c *sessionCache) use(id int32, now time.Time) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.byID[id]
	if s != nil {
		s.lastUsed = now
		c.lru.MoveToBack(s.place)
	}
	return s
}

func (c *sessionCache) close(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.byID[id]; s != nil {
		c.remove(s)
	}
}

// resize notes that a session has n partitions. False: that would be too many in all;
// the session is closed then, and its client goes on with full fetches.
func (c *sessionCache) resize(s *session, n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[s.id] != s { // closed meanwhile
		return true
	}
	if n > s.counted && c.partitions-s.counted+n > maxSessionPartitions {
		c.remove(s)
		return false
	}
	c.partitions += n - s.counted
	s.counted = n
	return true
}

func (c *sessionCache) remove(s *session) {
	delete(c.byID, s.id)
	c.lru.Remove(s.place)
	c.partitions -= s.counted
	s.counted = 0
}

func (c *sessionCache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byID)
}
