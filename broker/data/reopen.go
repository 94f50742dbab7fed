package data

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"millrace/replication"
	"millrace/segment"
)

// reopenEvery is how often partitions that found no space are tried again.
const reopenEvery = time.Second

// reopening is the partitions that could not be opened because the disk was full. They
// exist by the metadata and answer KAFKA_STORAGE_ERROR, which clients retry, until there
// is space: nobody has to do anything about them.
type reopening struct {
	mu      sync.Mutex
	waiting []opening
	timer   *time.Timer // set while partitions wait
	closed  bool
}

// passes says that an error is gone as soon as there is space.
func passes(err error) bool {
	return errors.Is(err, segment.ErrNoSpace) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// retryOpen has a partition tried again later.
func (s *Service) retryOpen(o opening) {
	r := &s.reopening
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.waiting = append(r.waiting, o)
	if r.timer == nil {
		r.timer = time.AfterFunc(reopenEvery, s.reopen)
	}
}

// reopen tries what waits, all of it again, with the configuration of now.
func (s *Service) reopen() {
	s.applying.Lock()
	defer s.applying.Unlock()
	r := &s.reopening
	r.mu.Lock()
	list := r.waiting
	r.waiting, r.timer = nil, nil
	closed := r.closed
	r.mu.Unlock()
	if closed {
		return
	}
	image := s.images.Image()
	for i, o := range list {
		m := image.TopicByID(o.topic.id)
		if m == nil || o.index >= len(m.Partitions) {
			// Deleted in an image that is yet to be applied.
			s.abandonOpen(o)
			continue
		}
		o.meta, o.cfg, o.epoch = m, logConfigOf(m, image.Config), m.Partitions[o.index].LeaderEpoch
		err := s.openPartition(&o)
		if err != nil && passes(err) {
			// The others would hardly fare better.
			s.retryOpen(o)
			for _, x := range list[i+1:] {
				s.retryOpen(x)
			}
			return
		}
		if err != nil {
			s.log.Error("partition cannot be opened", "topic", m.Name, "partition", o.index, "error", err)
			continue
		}
		s.publish(o)
		s.log.Info("partition opened: there is space again", "topic", m.Name, "partition", o.index)
	}
}

// publish makes an opened partition visible. Under applying.
func (s *Service) publish(o opening) {
	have := *o.topic.partitions.Load()
	ps := make([]*replication.Partition, max(len(have), o.index+1))
	copy(ps, have)
	ps[o.index] = o.opened
	o.topic.partitions.Store(&ps)
}

// forgetOpen drops what waits of a topic that is deleted. Under applying.
func (s *Service) forgetOpen(t *topic) {
	r := &s.reopening
	r.mu.Lock()
	var gone []opening
	rest := r.waiting[:0]
	for _, o := range r.waiting {
		if o.topic == t {
			gone = append(gone, o)
		} else {
			rest = append(rest, o)
		}
	}
	clear(r.waiting[len(rest):])
	r.waiting = rest
	r.mu.Unlock()
	for _, o := range gone {
		s.abandonOpen(o)
	}
}

// abandonOpen deletes the log of a partition that was never published.
func (s *Service) abandonOpen(o opening) {
	if o.opened != nil {
		s.deleteLog(o.opened)
	}
}

func (r *reopening) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.timer != nil {
		r.timer.Stop()
	}
}
