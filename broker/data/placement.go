package data

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"millrace/broker/meta"
	"millrace/replication"
	"millrace/segment"
)

// A partition lives in the log dir that its metadata names, by directory.id. What is in no log dir of this start is
// offline, never made anew and empty in another: the disk it is on may come back. Metadata of earlier versions names
// no dir; such a partition is where it is found, and that is then written down.

type topicPartition struct {
	topic     string
	partition int32
}

func (tp topicPartition) String() string { return tp.topic + "-" + strconv.Itoa(int(tp.partition)) }

// survey is what partition directories there are when the node starts, by name.
type survey map[*segment.Dir]map[string]bool

// assignment is where a partition is.
type assignment struct {
	topic     meta.ID
	partition int32
	dir       *segment.Dir
}

// survey looks once at what is in the log dirs, before the first partitions are opened.
func (s *Service) survey() {
	s.placement.Lock()
	defer s.placement.Unlock()
	if s.settled || s.found != nil {
		return
	}
	s.found, s.futures = survey{}, map[*segment.Dir][]segment.Future{}
	for _, d := range s.dirs {
		names := map[string]bool{}
		entries, err := os.ReadDir(d.Path())
		if err != nil {
			s.log.Error("log dir cannot be listed", "dir", d.Path(), "error", err)
		}
		for _, e := range entries {
			if e.IsDir() {
				names[e.Name()] = true
			}
		}
		s.found[d] = names
		if s.futures[d], err = d.Futures(); err != nil {
			s.log.Error("log dir cannot be listed", "dir", d.Path(), "error", err)
		}
	}
}

// holders is the log dirs that have a directory of that name, in the order of log.dirs.
func (s *Service) holders(name string) (in []*segment.Dir) {
	for _, d := range s.dirs {
		if s.found[d][name] {
			in = append(in, d)
		}
	}
	return in
}

// home is the log dir a partition lives in or is to be made in.
func (s *Service) home(t *meta.Topic, index int32) (*segment.Dir, error) {
	tp := topicPartition{t.Name, index}
	s.placement.Lock()
	defer s.placement.Unlock()
	im := s.images.Image()
	id := t.Partitions[index].Directory(im.NodeID)
	dir := s.byID[id]
	switch {
	case !id.IsZero() && dir == nil:
		return nil, fmt.Errorf("%s is in the log dir with directory.id %s: %w: not there", tp, id, segment.ErrDirOffline)
	case s.settled && dir != nil || s.found[dir][tp.String()]:
		return dir, nil
	}
	if f, ok := s.futureIn(dir, t.ID, index); ok {
		// The move was decided, and the end of the process came before the last step.
		return dir, dir.Promote(f.Name, tp.topic, index)
	}
	in := s.holders(tp.String())
	switch {
	case len(in) > 1:
		return nil, fmt.Errorf("%s is in log dir %s and in %s, and the metadata does not say which one counts", tp, in[0].Path(), in[1].Path())
	case len(in) == 1:
		// Of a log of an earlier version, or moved by hand while the node was down.
		if dir != nil {
			s.log.Warn("partition is in another log dir than it was", "partition", tp.String(), "dir", in[0].Path(), "was", dir.Path())
		}
		s.unsettled = append(s.unsettled, assignment{t.ID, index, in[0]})
		return in[0], nil
	case dir != nil:
		return dir, nil // made, but nothing was written yet
	case len(s.lost) > 0 && !s.settled:
		return nil, fmt.Errorf("%s is in none of the log dirs that can be used: %w", tp, segment.ErrDirOffline)
	}
	dir, ok := s.plan(im)(tp)
	if !ok {
		return nil, fmt.Errorf("place %s: %w: all others are offline or cordoned", tp, segment.ErrDirOffline)
	}
	if !s.settled {
		s.unsettled = append(s.unsettled, assignment{t.ID, index, dir})
	}
	return dir, nil
}

// futureIn finds the future log of a partition in a dir, nil: none, as the survey found it.
func (s *Service) futureIn(d *segment.Dir, id meta.ID, index int32) (segment.Future, bool) {
	i := slices.IndexFunc(s.futures[d], func(f segment.Future) bool { return f.TopicID == id && f.Partition == index })
	if i < 0 {
		return segment.Future{}, false
	}
	f := s.futures[d][i]
	s.futures[d] = slices.Delete(s.futures[d], i, i+1)
	return f, true
}

// assign is the change that has a partition in a log dir of this node; nil if there is no such partition, or it is
// there already.
func assign(im *meta.Image, a assignment) meta.Change {
	t := im.TopicByID(a.topic)
	id, ok := meta.ParseID(a.dir.ID())
	if t == nil || !ok || int(a.partition) >= len(t.Partitions) {
		return nil
	}
	p := &t.Partitions[a.partition]
	at := slices.Index(p.Replicas, im.NodeID)
	if at < 0 || p.Directory(im.NodeID) == id {
		return nil
	}
	dirs := make([]meta.ID, len(p.Replicas))
	copy(dirs, p.Directories)
	dirs[at] = id
	return &meta.PartitionChangeRecord{
		Partition: a.partition, TopicID: a.topic, Leader: meta.LeaderUnchanged, LeaderRecoveryState: -1, Directories: dirs,
	}
}

// Plan implements controller.Placer.
func (s *Service) Plan(im *meta.Image) func(topic string, partition int32) (meta.ID, bool) {
	s.placement.Lock()
	defer s.placement.Unlock()
	next := s.plan(im)
	return func(topic string, partition int32) (meta.ID, bool) {
		s.placement.Lock()
		defer s.placement.Unlock()
		d, ok := next(topicPartition{topic, partition})
		if !ok {
			return meta.ID{}, false
		}
		return meta.ParseID(d.ID())
	}
}

// Dirs whose free space differs by less than this share of the largest count as equally free, so that disks of one size
// fill evenly, and the partitions of one topic do not all go to the one that is a little emptier.
const equallyFree = 0.1

// plan begins a placement: the log dir with the most usable bytes gets the next partition, among those about equally
// free the one with the fewest partitions. (Kafka goes by the number of partitions alone, which fills a small disk as
// fast as a large one.) Offline and cordoned dirs get none, unless somebody asked for it. Under placement.
func (s *Service) plan(im *meta.Image) func(topicPartition) (*segment.Dir, bool) {
	type candidate struct {
		dir    *segment.Dir
		usable int64
		count  int
	}
	var most int64
	var all []candidate
	cordoned := s.Cordoned(im)
	for _, d := range s.dirs {
		if d.Err() == nil && !slices.Contains(cordoned, d.Path()) {
			usable := s.usable(d)
			all = append(all, candidate{d, usable, len(s.perDir[d])})
			most = max(most, usable)
		}
	}
	all = slices.DeleteFunc(all, func(c candidate) bool { return float64(c.usable) < float64(most)*(1-equallyFree) })
	return func(tp topicPartition) (*segment.Dir, bool) {
		if d := s.preferred[tp]; d != nil && d.Err() == nil {
			return d, true
		}
		if len(all) == 0 {
			return nil, false
		}
		least := &all[0]
		for i := range all {
			if all[i].count < least.count {
				least = &all[i]
			}
		}
		least.count++
		return least.dir, true
	}
}

// Cordoned is the paths of the log dirs that get no new partitions.
func (s *Service) Cordoned(im *meta.Image) (paths []string) {
	for _, dir := range im.Config.Cordoned {
		if path, err := filepath.Abs(dir); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// placed notes that a partition is open in a log dir.
func (s *Service) placed(d *segment.Dir, p *replication.Partition) {
	s.placement.Lock()
	defer s.placement.Unlock()
	if s.perDir[d] == nil {
		s.perDir[d] = map[*replication.Partition]struct{}{}
	}
	s.perDir[d][p] = struct{}{}
	delete(s.preferred, topicPartition{p.Topic, p.Index})
}

// PartitionsIn lists the open partitions of a log dir, in no order.
func (s *Service) PartitionsIn(d *segment.Dir) []*replication.Partition {
	s.placement.Lock()
	defer s.placement.Unlock()
	return slices.Collect(maps.Keys(s.perDir[d]))
}
