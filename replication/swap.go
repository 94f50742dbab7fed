package replication

import (
	"fmt"

	"millrace/segment"
)

// Swap is the replacement of a partition's log by one in another log dir that has the same records. From BeginSwap until
// one of Finish, Abort and Fail nothing is appended to the partition: appends wait, so it has to be short. Reads go on.
type Swap struct{ p *Partition }

// BeginSwap stops appends. ErrNotLeader if the partition is gone; the caller sees to it that it is not deleted meanwhile.
func (p *Partition) BeginSwap() (*Swap, error) {
	p.role.RLock()
	leads := p.leads
	p.role.RUnlock()
	if !leads {
		return nil, ErrNotLeader
	}
	p.swapping.Store(true)
	p.moving.Lock()
	p.appending.Lock()
	return &Swap{p}, nil
}

// Swapping says that an append might have to wait for the log to be replaced.
func (p *Partition) Swapping() bool { return p.swapping.Load() }

// Abort goes on with the log there was.
func (s *Swap) Abort() {
	s.p.appending.Unlock()
	s.p.moving.Unlock()
	s.p.swapping.Store(false)
}

// Fail ends the partition until it is opened again: it is not known, or not to be had, what it goes on with.
func (s *Swap) Fail(err error) {
	s.p.broken.Store(&err)
	s.Abort()
	s.p.fail(err)
}

// Finish opens the partition's log in dir and goes on with it. It returns the log there was, which is the caller's to
// delete: reads that are under way may still be at it, and go on in the new one. If the log cannot be opened, that is
// Fail. Blocking.
func (s *Swap) Finish(dir *segment.Dir, cfg segment.LogConfig) (old *segment.Log, err error) {
	p := s.p
	was := p.log.Load()
	next, err := p.openLog(dir, cfg)
	if err == nil && next.EndOffset() != was.EndOffset() {
		err = fmt.Errorf("log of %s-%d in %s ends at offset %d, the one it replaces at %d", p.Topic, p.Index, dir.Path(), next.EndOffset(), was.EndOffset())
	}
	if err != nil {
		s.Fail(err)
		return nil, err
	}
	was.retired.Store(true)
	p.log.Store(next)
	s.Abort()
	p.advanceHighWatermark(next.DurableOffset())
	return was.Log, nil
}

// Err is why the partition can no longer be written, nil if it can.
func (p *Partition) Err() error {
	if broken := p.broken.Load(); broken != nil {
		return *broken
	}
	return p.Log().Err()
}
