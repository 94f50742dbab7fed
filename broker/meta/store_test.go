package meta_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"millrace/broker/meta"
	"millrace/broker/meta/metatest"
)

func create(t testing.TB, s *meta.Store, name string, partitions int) *meta.Topic {
	t.Helper()
	if err := s.Commit(func(*meta.Image) ([]meta.Change, error) { return topicChanges(name, partitions), nil }); err != nil {
		t.Fatalf("create %s: %v", name, err)
	}
	return s.Image().Topic(name)
}

func topicChanges(name string, partitions int) []meta.Change {
	id := meta.NewID()
	changes := []meta.Change{&meta.TopicRecord{Name: name, ID: id}}
	for i := range partitions {
		changes = append(changes, &meta.PartitionRecord{Partition: int32(i), TopicID: id, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1})
	}
	return changes
}

func set(t testing.TB, s *meta.Store, r meta.Resource, key, value string) {
	t.Helper()
	err := s.Commit(func(*meta.Image) ([]meta.Change, error) {
		return []meta.Change{&meta.ConfigRecord{Resource: r, Key: key, Value: &value}}, nil
	})
	if err != nil {
		t.Fatalf("set %s of %v: %v", key, r, err)
	}
}

func remove(t testing.TB, s *meta.Store, name string) {
	t.Helper()
	err := s.Commit(func(im *meta.Image) ([]meta.Change, error) {
		return []meta.Change{&meta.RemoveTopicRecord{ID: im.Topic(name).ID}}, nil
	})
	if err != nil {
		t.Fatalf("remove %s: %v", name, err)
	}
}

func TestImageAfterARestartIsTheSame(t *testing.T) {
	s, log := metatest.Open(t, nil)
	create(t, s, "a.b", 3)
	create(t, s, "gone", 1)
	create(t, s, "__consumer_offsets", 2)
	set(t, s, meta.Resource{Type: meta.TopicResource, Name: "a.b"}, "retention.ms", "1234")
	set(t, s, meta.Resource{Type: meta.BrokerResource}, "log.segment.bytes", "12345678")
	set(t, s, meta.Resource{Type: meta.GroupResource, Name: "g"}, "consumer.session.timeout.ms", "50000")
	remove(t, s, "gone")

	for name, im := range map[string]*meta.Image{"live": s.Image(), "replayed": metatest.Reopen(t, log, nil).Image()} {
		t.Run(name, func(t *testing.T) {
			a := im.Topic("a.b")
			if a == nil || len(a.Partitions) != 3 || a.Partitions[2].Leader != 1 || a.Internal {
				t.Fatalf("topic a.b is %+v", a)
			}
			if im.TopicByID(a.ID) != a || im.TopicBytes([]byte("a.b")) != a {
				t.Error("a.b is not found by id and by bytes")
			}
			if a.Config.RetentionMs != 1234 || a.Config.SegmentBytes != 12345678 {
				t.Errorf("a.b has retention %d and segment size %d", a.Config.RetentionMs, a.Config.SegmentBytes)
			}
			if im.Topic("gone") != nil || len(im.Topics()) != 2 || im.PartitionCount != 5 {
				t.Errorf("image has %d topics, %d partitions", len(im.Topics()), im.PartitionCount)
			}
			if !im.Topic("__consumer_offsets").Internal {
				t.Error("__consumer_offsets is not internal")
			}
			if got := im.Overrides(meta.Resource{Type: meta.GroupResource, Name: "g"})["consumer.session.timeout.ms"]; got != "50000" {
				t.Errorf("group override is %q", got)
			}
			if got := im.Colliding("a_b"); got != "a.b" {
				t.Errorf("a_b collides with %q", got)
			}
			if im.Version != log.EndOffset()-1 {
				t.Errorf("version %d, log ends at %d", im.Version, log.EndOffset())
			}
			if len(im.Brokers) != 1 || im.Brokers[0].ID != 1 {
				t.Errorf("brokers are %v", im.Brokers)
			}
		})
	}
}

func TestRestartWithoutAChangeWritesNothing(t *testing.T) {
	_, log := metatest.Open(t, nil)
	end := log.EndOffset()
	metatest.Reopen(t, log, nil)
	if log.EndOffset() != end {
		t.Errorf("log grew from %d to %d", end, log.EndOffset())
	}
}

func TestSubscribersSeeEachChangeInOrderBeforeCommitReturns(t *testing.T) {
	s, _ := metatest.Open(t, nil)
	var seen []string
	for i := range 2 {
		s.Subscribe(func(prev, next *meta.Image) {
			if s.Image() != next {
				t.Error("a subscriber runs before the image is published")
			}
			next.EachChanged(prev, func(old, now *meta.Topic) {
				switch {
				case old == nil:
					seen = append(seen, fmt.Sprintf("%d +%s", i, now.Name))
				case now == nil:
					seen = append(seen, fmt.Sprintf("%d -%s", i, old.Name))
				default:
					seen = append(seen, fmt.Sprintf("%d ~%s", i, now.Name))
				}
			})
		})
	}
	create(t, s, "a", 1)
	set(t, s, meta.Resource{Type: meta.TopicResource, Name: "a"}, "retention.ms", "1")
	remove(t, s, "a")
	if got, want := strings.Join(seen, ","), "0 +a,1 +a,0 ~a,1 ~a,0 -a,1 -a"; got != want {
		t.Errorf("saw %s, want %s", got, want)
	}
}

func TestTopicDeletedAndCreatedInOneCommitHasItsNewIDOnly(t *testing.T) {
	s, log := metatest.Open(t, nil)
	old := create(t, s, "a", 2)
	err := s.Commit(func(*meta.Image) ([]meta.Change, error) {
		return append([]meta.Change{&meta.RemoveTopicRecord{ID: old.ID}}, topicChanges("a", 1)...), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, im := range []*meta.Image{s.Image(), metatest.Reopen(t, log, nil).Image()} {
		if im.TopicByID(old.ID) != nil || im.Topic("a").ID == old.ID || im.PartitionCount != 1 || len(im.Topics()) != 1 {
			t.Errorf("topic is %+v, %d partitions", im.Topic("a"), im.PartitionCount)
		}
	}
}

func TestAnOldImageStaysAsItWas(t *testing.T) {
	s, _ := metatest.Open(t, nil)
	was := create(t, s, "a", 1)
	before := s.Image()
	err := s.Commit(func(*meta.Image) ([]meta.Change, error) {
		return []meta.Change{
			&meta.PartitionChangeRecord{TopicID: was.ID, ISR: []int32{}, Leader: -1, LeaderRecoveryState: -1},
			&meta.PartitionRecord{Partition: 1, TopicID: was.ID, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1},
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if p := before.Topic("a").Partitions; len(p) != 1 || p[0].Leader != 1 || len(p[0].ISR) != 1 {
		t.Errorf("old image has %+v", p)
	}
	if p := s.Image().Topic("a").Partitions; len(p) != 2 || p[0].Leader != -1 || p[0].LeaderEpoch != 1 || p[0].PartitionEpoch != 1 || len(p[0].ISR) != 0 {
		t.Errorf("new image has %+v", p)
	}
}

func TestFailedCommitLeavesTheImage(t *testing.T) {
	failure := errors.New("no space")
	for _, c := range []struct {
		name   string
		fail   func(*metatest.Log)
		sticks bool // later commits fail too: it is unknown what is on the disk
	}{
		{"nothing appended", func(l *metatest.Log) { l.AppendError = failure }, false},
		{"not durable", func(l *metatest.Log) { l.DurableError = failure }, true},
		{"transaction half appended", func(l *metatest.Log) { l.AppendError, l.AppendsLeft = failure, 1 }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, log := metatest.Open(t, nil)
			create(t, s, "before", 1)
			c.fail(log)
			commit := func(name string) error {
				return s.Commit(func(*meta.Image) ([]meta.Change, error) { return topicChanges(name, 17_000), nil })
			}
			if err := commit("a"); !errors.Is(err, failure) {
				t.Fatalf("commit: %v", err)
			}
			if s.Image().Topic("a") != nil || s.Image().Topic("before") == nil {
				t.Error("the image changed")
			}
			log.AppendError, log.DurableError = nil, nil
			err := commit("b")
			if sticks := errors.Is(err, meta.ErrUncertain); sticks != c.sticks {
				t.Errorf("next commit: %v", err)
			}
			if c.sticks {
				return
			}
			im := metatest.Reopen(t, log, nil).Image()
			if im.Topic("a") != nil || im.Topic("b") == nil || im.Version != s.Image().Version {
				t.Errorf("after a restart: %d topics, version %d", len(im.Topics()), im.Version)
			}
		})
	}
}

func TestChangeThatDoesNotFitIsNotWritten(t *testing.T) {
	s, log := metatest.Open(t, nil)
	a := create(t, s, "a", 1)
	bad := "many"
	for name, c := range map[string][]meta.Change{
		"topic twice":          topicChanges("a", 1),
		"id twice":             {&meta.TopicRecord{Name: "b", ID: a.ID}},
		"zero id":              {&meta.TopicRecord{Name: "b"}},
		"unknown topic":        {&meta.RemoveTopicRecord{ID: meta.NewID()}},
		"partition gap":        {&meta.PartitionRecord{Partition: 2, TopicID: a.ID}},
		"partition of none":    {&meta.PartitionRecord{TopicID: meta.NewID()}},
		"change of none":       {&meta.PartitionChangeRecord{Partition: 7, TopicID: a.ID}},
		"config of none":       {&meta.ConfigRecord{Resource: meta.Resource{Type: meta.TopicResource, Name: "x"}, Key: "retention.ms"}},
		"config value":         {&meta.ConfigRecord{Resource: meta.Resource{Type: meta.TopicResource, Name: "a"}, Key: "retention.ms", Value: &bad}},
		"producer ids go back": {&meta.ProducerIDsRecord{NextProducerID: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			end, im := log.EndOffset(), s.Image()
			if err := s.Commit(func(*meta.Image) ([]meta.Change, error) { return c, nil }); err == nil {
				t.Error("committed")
			}
			if log.EndOffset() != end || s.Image() != im {
				t.Error("something was written")
			}
		})
	}
}

func TestLargeCommitIsAtomic(t *testing.T) {
	s, log := metatest.Open(t, nil)
	before := len(log.Batches())
	create(t, s, "large", 20_000)
	all := len(log.Batches())
	if all-before < 2 {
		t.Fatalf("commit took %d batches; the test wants several", all-before)
	}
	if got := metatest.Reopen(t, log, nil).Image().PartitionCount; got != 20_000 {
		t.Errorf("replayed %d partitions", got)
	}
	log.Truncate(all - 1)
	cut := metatest.Reopen(t, log, nil)
	if cut.Image().Topic("large") != nil {
		t.Error("half a commit was replayed")
	}
	create(t, cut, "after", 1)
	im := metatest.Reopen(t, log, nil).Image()
	if im.Topic("after") == nil || im.Topic("large") != nil || im.Version != log.EndOffset()-1 {
		t.Errorf("after the cut: %d topics, version %d", len(im.Topics()), im.Version)
	}
}

func TestProducerIDsAreNeverGivenTwice(t *testing.T) {
	s, log := metatest.Open(t, nil)
	next := int64(0)
	for range 3 {
		for range 3 {
			first, err := s.AllocateProducerIDs(1000)
			if err != nil || first != next {
				t.Fatalf("allocated %d, %v; want %d", first, err, next)
			}
			next += 1000
		}
		s = metatest.Reopen(t, log, nil)
	}
	if _, err := s.AllocateProducerIDs(1<<63 - 1); err == nil {
		t.Error("allocated past the last id")
	}
	if _, err := s.AllocateProducerIDs(0); err == nil {
		t.Error("allocated no ids")
	}
}

func TestDamagedLogStopsTheStart(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(*metatest.Log)
	}{
		{"flipped bit", func(l *metatest.Log) { b := l.Batches()[1]; b[len(b)-1] ^= 1 }},
		{"flipped header bit", func(l *metatest.Log) { l.Batches()[1][22] ^= 1 }},
		{"batch lost", func(l *metatest.Log) { copy(l.Batches()[1:], l.Batches()[2:]) }},
		{"batch cut", func(l *metatest.Log) { l.Batches()[1] = l.Batches()[1][:70] }},
		{"batch emptied", func(l *metatest.Log) { l.Batches()[1] = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, log := metatest.Open(t, nil)
			create(t, s, "a", 1)
			create(t, s, "b", 1)
			c.damage(log)
			_, err := meta.OpenOn(log, metatest.Config(t, nil), metatest.ClusterID, meta.Options{})
			var damaged *meta.CorruptionError
			if !errors.As(err, &damaged) || damaged.Path != "memory" {
				t.Fatalf("open: %v", err)
			}
			if damaged.Offset <= 0 {
				t.Errorf("error does not say where: %v", err)
			}
		})
	}
}

func TestTopicsCreatedOneByOneAreAllThereInOrder(t *testing.T) {
	const n = 1000
	s, log := metatest.Open(t, nil)
	for i := range n {
		create(t, s, fmt.Sprintf("topic-%04d", (i*617)%n), 1)
		if i == n/2 && len(s.Image().Topics()) != i+1 { // from here on the order is kept up
			t.Errorf("%d topics after %d", len(s.Image().Topics()), i+1)
		}
	}
	for _, im := range []*meta.Image{s.Image(), metatest.Reopen(t, log, nil).Image()} {
		topics := im.Topics()
		if len(topics) != n {
			t.Fatalf("%d topics", len(topics))
		}
		for i, topic := range topics {
			if topic.Name != fmt.Sprintf("topic-%04d", i) || im.Topic(topic.Name) != topic || im.TopicByID(topic.ID) != topic {
				t.Fatalf("topic %d is %s", i, topic.Name)
			}
		}
		if &topics[0].Partitions[0].Replicas[0] != &topics[1].Partitions[0].ISR[0] && im != s.Image() {
			t.Error("equal replicas are not shared")
		}
		if from := im.TopicsFrom("topic-0990x"); len(from) != 9 || from[0].Name != "topic-0991" {
			t.Errorf("%d topics from topic-0990x on", len(from))
		}
	}
}

// 10,000 topics, the disk left out.
func BenchmarkCreateTopicsOneByOne(b *testing.B) {
	for b.Loop() {
		s, _ := metatest.Open(b, nil)
		for i := range 10_000 {
			create(b, s, fmt.Sprintf("topic-%05d", i), 1)
		}
	}
}

func BenchmarkReplayOf10000Topics(b *testing.B) {
	s, log := metatest.Open(b, nil)
	for i := range 10_000 {
		create(b, s, fmt.Sprintf("topic-%05d", i), 1)
	}
	for b.Loop() {
		metatest.Reopen(b, log, nil)
	}
}

func TestTopicBytesDoesNotAllocate(t *testing.T) {
	s, _ := metatest.Open(t, nil)
	create(t, s, "orders", 1)
	name, im := []byte("orders"), s.Image()
	if n := testing.AllocsPerRun(100, func() {
		if im.TopicBytes(name) == nil {
			t.Fatal("not found")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
