package data

import (
	"errors"
	"fmt"

	"millrace/broker/meta"
	"millrace/segment"
)

// Settle ends the start: it makes durable what was recovered, writes down where partitions are, where the metadata does not say or says otherwise, removes
// logs that were moved elsewhere, and goes on with moves. To be called once, after the first Apply and before the first
// request. Blocking.
func (s *Service) Settle() error {
	for _, d := range s.dirs {
		if err := d.SettleRecovered(); err != nil {
			s.log.Error("log dir cannot be used", "dir", d.Path(), "error", err)
		}
	}
	s.placement.Lock()
	list, found, futures := s.unsettled, s.found, s.futures
	s.unsettled, s.found, s.futures, s.settled = nil, nil, nil, true
	s.placement.Unlock()
	if err := s.settleAssignments(list); err != nil {
		return err
	}
	s.altering.Lock()
	defer s.altering.Unlock()
	for d, list := range futures {
		for _, f := range list {
			s.settleFuture(d, f)
		}
	}
	if len(s.dirs) > 1 {
		s.discardMoved(found)
	}
	return nil
}

func (s *Service) settleAssignments(list []assignment) error {
	if len(list) == 0 {
		return nil
	}
	err := s.images.Commit(func(im *meta.Image) ([]meta.Change, error) {
		var changes []meta.Change
		for _, a := range list {
			if c := assign(im, a); c != nil {
				changes = append(changes, c)
			}
		}
		return changes, nil
	})
	if err != nil && !errors.Is(err, segment.ErrNoSpace) {
		return fmt.Errorf("write down the log dirs of partitions: %w", err)
	}
	return nil // without space it is done at the next start
}

// settleFuture goes on with a move that the end of the last process interrupted, or removes what is left of one.
func (s *Service) settleFuture(d *segment.Dir, f segment.Future) {
	t := s.topics.id(f.TopicID)
	exists := t != nil && int(f.Partition) < len(*t.partitions.Load())
	var err error
	if exists {
		p := t.partition(f.Partition)
		if p == nil {
			return // of an offline partition: let somebody look at it
		}
		s.placement.Lock()
		_, moving := s.moves[p]
		s.placement.Unlock()
		if p.Log().Dir() != d && !moving {
			err = s.startMove(t, p, d, &f)
		} else {
			exists = false
		}
	}
	if !exists {
		err = d.Discard(f.Name)
	}
	if err != nil {
		s.log.Error("move of a replica to another log dir not gone on with", "dir", d.Path(), "copy", f.Name, "error", err)
	}
}

// discardMoved removes logs of partitions that are served from another dir: those whose move was decided and done, but
// for this.
func (s *Service) discardMoved(found survey) {
	s.placement.Lock()
	served := map[string]*segment.Dir{}
	ids := map[string]meta.ID{}
	for d, ps := range s.perDir {
		for p := range ps {
			name := topicPartition{p.Topic, p.Index}.String()
			served[name], ids[name] = d, p.TopicID
		}
	}
	s.placement.Unlock()
	for d, names := range found {
		for name := range names {
			if in := served[name]; in == nil || in == d || d.TopicIDOf(name) != ids[name] {
				continue
			}
			s.log.Warn("log of a replica that was moved to another log dir is removed", "dir", d.Path(), "partition", name, "moved to", served[name].Path())
			if err := d.Discard(name); err != nil {
				s.log.Error("log of a replica that was moved is not removed", "dir", d.Path(), "partition", name, "error", err)
			}
		}
	}
}
