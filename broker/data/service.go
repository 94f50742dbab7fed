package data

import (
	"log/slog"
	"runtime"
	"sync"
	"time"

	"millrace/broker/meta"
	"millrace/broker/purgatory"
	"millrace/replication"
	"millrace/segment"
)

// Service is the data plane of one broker.
type Service struct {
	dirs   []*segment.Dir
	images Images
	log    *slog.Logger
	now    func() time.Time

	topics    table
	applying  sync.Mutex // serialises changes of topics
	placement sync.Mutex // guards perDir
	perDir    map[*segment.Dir]map[*replication.Partition]struct{}

	reopening reopening

	working  chan struct{} // holds a value for each batch being decompressed
	sessions *sessionCache
	parked   purgatory.Purgatory
	reads    readers
	produced produceCounters
	fetched  fetchCounters
}

// Images gives the current metadata image.
type Images interface{ Image() *meta.Image }

// Options of a Service.
type Options struct {
	Dirs         []*segment.Dir
	Images       Images
	SessionSlots int // fetch sessions kept at most
	Logger       *slog.Logger
	Now          func() time.Time
}

// New makes the data plane. Apply must be called with the first image before any
// request.
func New(o Options) *Service {
	s := &Service{
		dirs:     o.Dirs,
		images:   o.Images,
		log:      o.Logger,
		now:      o.Now,
		perDir:   map[*segment.Dir]map[*replication.Partition]struct{}{},
		working:  make(chan struct{}, runtime.GOMAXPROCS(0)),
		sessions: newSessionCache(o.SessionSlots),
	}
	s.reads.start()
	return s
}

// Close ends the workers. Requests in flight are answered or dropped with their
// connections before.
func (s *Service) Close() {
	s.reopening.close()
	s.reads.stop()
}
