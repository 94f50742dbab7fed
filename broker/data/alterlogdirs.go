package data

import (
	"slices"

	"millrace/net/server"
	"millrace/segment"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxPreferred bounds the partitions whose log dir is asked for before they exist.
const maxPreferred = 10_000

// AlterReplicaLogDirs (key 34, versions 1-2) begins to move replicas to other log dirs of this broker, or, to the one
// they are in, ends a move.
func (s *Service) AlterReplicaLogDirs(_ server.Client, req *kmsg.AlterReplicaLogDirsRequest) *kmsg.AlterReplicaLogDirsResponse {
	resp := req.ResponseKind().(*kmsg.AlterReplicaLogDirsResponse)
	s.altering.Lock()
	defer s.altering.Unlock()
	wanted := map[topicPartition]string{}
	var order []topicPartition
	for _, d := range req.Dirs {
		for _, t := range d.Topics {
			for _, i := range t.Partitions {
				tp := topicPartition{t.Topic, i}
				if _, twice := wanted[tp]; !twice {
					order = append(order, tp)
				}
				wanted[tp] = d.Dir // the last one counts
			}
		}
	}
	at := map[string]int{}
	for _, tp := range order {
		i, ok := at[tp.topic]
		if !ok {
			rt := kmsg.NewAlterReplicaLogDirsResponseTopic()
			rt.Topic = tp.topic
			i = len(resp.Topics)
			at[tp.topic], resp.Topics = i, append(resp.Topics, rt)
		}
		rp := kmsg.NewAlterReplicaLogDirsResponseTopicPartition()
		rp.Partition = tp.partition
		rp.ErrorCode = ErrorCode(s.alterLogDir(tp, wanted[tp]))
		resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, rp)
	}
	return resp
}

// alterLogDir does it for one replica. Under altering.
func (s *Service) alterLogDir(tp topicPartition, path string) error {
	at := slices.IndexFunc(s.dirs, func(d *segment.Dir) bool { return d.Path() == path })
	switch {
	case at < 0 && slices.Contains(s.lost, path):
		return kerr.KafkaStorageError
	case at < 0:
		return kerr.LogDirNotFound
	case s.dirs[at].Err() != nil || s.closing.Load():
		return kerr.KafkaStorageError
	}
	to := s.dirs[at]
	cordoned := slices.Contains(s.Cordoned(s.images.Image()), path)
	t := s.topics.name([]byte(tp.topic))
	if t == nil || int(tp.partition) >= len(*t.partitions.Load()) || tp.partition < 0 {
		if cordoned {
			return kerr.InvalidReplicaAssignment
		}
		s.prefer(tp, to)
		return kerr.UnknownTopicOrPartition
	}
	p, err := t.led(tp.partition)
	if err != nil {
		return err
	}
	s.placement.Lock()
	m := s.moves[p]
	s.placement.Unlock()
	if m != nil && m.to != to {
		m.stop()
		m = nil
	}
	switch {
	case p.Log().Dir() == to: // and a move to another dir is over
		return nil
	case cordoned:
		return kerr.InvalidReplicaAssignment
	case m != nil: // on its way
		return nil
	}
	if err := s.startMove(t, p, to, nil); err != nil {
		s.log.Error("replica cannot be moved to another log dir", "error", err)
		return kerr.KafkaStorageError
	}
	return nil
}

// prefer notes where a partition is to be made.
func (s *Service) prefer(tp topicPartition, d *segment.Dir) {
	s.placement.Lock()
	defer s.placement.Unlock()
	if _, known := s.preferred[tp]; known || len(s.preferred) < maxPreferred {
		s.preferred[tp] = d
	}
}
