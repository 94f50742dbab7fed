package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// runExpiry is the goroutine that expires offsets every offsets.retention.check.interval.ms.
func (s *Service) runExpiry() {
	defer s.running.Done()
	interval := time.Duration(s.opts.Config.RetentionCheckMs) * time.Millisecond
	if interval <= 0 {
		return
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.expireOffsets()
		case <-s.stop:
			return
		}
	}
}

// expireOffsets deletes what is past retention: offsets (KIP-211) and groups that
// have neither members nor offsets left.
func (s *Service) expireOffsets() {
	for _, sh := range s.all() {
		sh.lock()
		if sh.state == active {
			for _, g := range sh.groups {
				g.expire()
			}
		}
		sh.unlock()
	}
}

// expire deletes the group's expired offsets, and the group if that was all. A
// group with a commit on its way is left for the next time: a tombstone now would
// come after that commit in the log and take it away.
func (g *group) expire() {
	if g.committing > 0 || g.deleting {
		return
	}
	gone, all := g.expired(g.sh.svc.now().UnixMilli())
	if all && g.state == Empty && len(g.pending) == 0 {
		g.delete(func(err *kerr.Error) {
			if err == nil {
				g.sh.svc.log.Info("group expired", "group", logged(g.id))
			}
		})
		return
	}
	if len(gone) > 0 {
		g.deleteOffsets(gone, func(*kerr.Error) {})
	}
}

// expired is the offsets past retention at nowMs, and whether those are all.
//
// While a group has members its offsets stay, except, in a stable group of
// consumers, those of topics nobody consumes any more. Once it is empty, time
// counts from then. A group that never had members counts from each commit. An
// offset whose client gave a retention of its own goes by that.
func (g *group) expired(nowMs int64) (gone []topicPartition, all bool) {
	retention := int64(g.sh.svc.opts.Config.OffsetsRetentionMinutes) * 60_000
	var since func(o offset) int64
	switch {
	case g.protocolType == "", g.state == Empty && g.stateSinceMs < 0:
		since = func(o offset) int64 { return o.commitMs }
	case g.state == Empty:
		since = func(offset) int64 { return g.stateSinceMs }
	case g.state == Stable && g.subscribed != nil:
		since = func(o offset) int64 { return o.commitMs }
	default:
		return nil, false
	}
	all = true
	for topic, partitions := range g.offsets {
		if len(g.members) > 0 && g.subscribes(topic) {
			all = false
			continue
		}
		for p, o := range partitions {
			old := nowMs-since(o) >= retention
			if o.expireMs >= 0 {
				old = nowMs >= o.expireMs
			}
			if old {
				gone = append(gone, topicPartition{topic, p})
			} else {
				all = false
			}
		}
	}
	return gone, all
}
