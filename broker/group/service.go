package group

import (
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"millrace/broker/coordinator"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Service is the group coordinator of one broker. See the package page.
type Service struct {
	opts    Options
	log     *slog.Logger
	now     func() time.Time
	started time.Time

	shards atomic.Pointer[[]*shard] // nil until the offsets topic exists
	timers timers
	parked parked

	deletions atomic.Uint64 // topics deleted; see commit.deletions

	ensuring atomic.Bool // the offsets topic is being created
	loads    chan func()
	stop     chan struct{}
	stopOnce sync.Once
	running  sync.WaitGroup
}

// loaders is how many partitions are read at once.
const loaders = 4

// New makes a Service that coordinates nothing until Start.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Service{opts: o, log: o.Logger, now: o.Now, started: o.Now(), stop: make(chan struct{})}
	s.timers.wake = make(chan struct{}, 1)
	s.parked.conns = map[uint64]map[any]func(){}
	s.loads = make(chan func(), 64)
	return s
}

// mono is the time since the Service was made; it does not jump with the clock.
func (s *Service) mono() time.Duration { return s.now().Sub(s.started) }

// Start begins to serve. If the offsets topic exists its partitions are loaded in
// the background; requests for them get COORDINATOR_LOAD_IN_PROGRESS until then.
func (s *Service) Start() {
	s.running.Add(2 + loaders)
	go s.runTimers()
	go s.runExpiry()
	for range loaders {
		go s.runLoads()
	}
	if n, ok := s.opts.Topics.PartitionCount(OffsetsTopic); ok {
		s.open(n)
	}
}

// Close stops serving. Requests that wait get NOT_COORDINATOR; records already
// handed to the log are written as the log will. It can be called twice.
func (s *Service) Close() {
	s.stopOnce.Do(func() { close(s.stop) })
	s.running.Wait()
	for _, sh := range s.all() {
		sh.giveUp()
	}
}

// Elected says that this broker now leads a partition of the offsets topic.
func (s *Service) Elected(partition int32) {
	if all := s.all(); int(partition) < len(all) {
		all[partition].takeOver()
	}
}

// Resigned says that this broker no longer leads a partition of the offsets topic.
func (s *Service) Resigned(partition int32) {
	if all := s.all(); int(partition) < len(all) {
		all[partition].giveUp()
	}
}

// open makes the shards of an offsets topic with n partitions, once, and loads them.
func (s *Service) open(n int32) {
	all := make([]*shard, n)
	for i := range all {
		all[i] = newShard(s, int32(i))
		all[i].state = loading // never NOT_COORDINATOR between here and takeOver
	}
	if !s.shards.CompareAndSwap(nil, &all) {
		return
	}
	for _, sh := range all {
		sh.lock()
		sh.load()
		sh.unlock()
	}
}

// queueLoad runs f on a loading goroutine. It does not block.
func (s *Service) queueLoad(f func()) {
	select {
	case s.loads <- f:
	default:
		go func() {
			select {
			case s.loads <- f:
			case <-s.stop:
			}
		}()
	}
}

func (s *Service) runLoads() {
	defer s.running.Done()
	for {
		select {
		case f := <-s.loads:
			f()
		case <-s.stop:
			return
		}
	}
}

// ensureTopic creates the offsets topic in the background, unless that is going on.
func (s *Service) ensureTopic() {
	if s.shards.Load() != nil || !s.ensuring.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.ensuring.Store(false)
		c := &s.opts.Config
		n, err := s.opts.Topics.EnsureInternal(OffsetsTopic, c.OffsetsTopicPartitions, map[string]string{
			"cleanup.policy":   "compact",
			"compression.type": "producer",
			"segment.bytes":    strconv.Itoa(int(c.OffsetsTopicSegmentBytes)),
		})
		if err == nil && n <= 0 {
			err = fmt.Errorf("%d partitions", n)
		}
		if err != nil {
			s.log.Error("create "+OffsetsTopic, "error", err)
			return
		}
		s.open(n)
	}()
}

func (s *Service) all() []*shard {
	if p := s.shards.Load(); p != nil {
		return *p
	}
	return nil
}

// shard locks and returns the shard of a group. If it cannot serve, the shard is
// nil and not locked, and the error is what the client gets.
func (s *Service) shard(group string) (*shard, *kerr.Error) {
	all := s.all()
	if all == nil {
		return nil, kerr.NotCoordinator
	}
	sh := all[coordinator.PartitionFor(group, int32(len(all)))]
	sh.lock()
	if err := sh.ready(); err != nil {
		sh.unlock()
		return nil, err
	}
	return sh, nil
}

// existing is the shard, locked, and the group if it exists.
func (s *Service) existing(id string) (*shard, *group, *kerr.Error) {
	sh, err := s.shard(id)
	if err != nil {
		return nil, nil, err
	}
	return sh, sh.groups[id], nil
}
