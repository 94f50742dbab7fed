package data

import (
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"millrace/broker/meta"
	"millrace/broker/purgatory"
	"millrace/replication"
	"millrace/segment"
)

// Service is the data plane of one broker.
type Service struct {
	dirs   []*segment.Dir
	byID   map[meta.ID]*segment.Dir // dirs by directory.id
	images Metadata
	lost   []string // paths of log dirs that could not be opened: what is not found may be in them
	log    *slog.Logger
	now    func() time.Time
	usable func(*segment.Dir) int64 // free bytes; tests have their own

	topics    table
	applying  sync.Mutex // serialises changes of topics
	placement sync.Mutex // guards the fields below
	perDir    map[*segment.Dir]map[*replication.Partition]struct{}
	preferred map[topicPartition]*segment.Dir // asked for by AlterReplicaLogDirs before the partition is
	moves     map[*replication.Partition]*move
	futures   map[*segment.Dir][]segment.Future // like found
	found     survey                            // of the log dirs; from the first Apply to Settle
	settled   bool                              // the first Apply is over
	unsettled []assignment                      // where partitions were found, other than the metadata says

	altering sync.Mutex    // serialises AlterReplicaLogDirs; before applying and placement
	closing  atomic.Bool   // moves end, and none begins
	copying  chan struct{} // holds a value for each move that copies
	throttle throttle      // of moves

	reopening reopening

	working  chan struct{} // holds a value for each batch being decompressed
	sessions *sessionCache
	parked   purgatory.Purgatory
	reads    readers
	produced produceCounters
	fetched  fetchCounters
}

// Metadata gives the current image of the cluster, and takes changes of it.
type Metadata interface {
	Image() *meta.Image
	Commit(build func(im *meta.Image) ([]meta.Change, error)) error
}

// Options of a Service.
type Options struct {
	Dirs         []*segment.Dir
	Metadata     Metadata
	Lost         []string // paths of log dirs that could not be opened
	SessionSlots int      // fetch sessions kept at most
	Logger       *slog.Logger
	Now          func() time.Time
}

// New makes the data plane. Apply must be called with the first image before any
// request.
func New(o Options) *Service {
	s := &Service{
		dirs:   o.Dirs,
		byID:   map[meta.ID]*segment.Dir{},
		images: o.Metadata,
		lost:   o.Lost,
		log:    o.Logger,
		now:    o.Now,
		usable: func(d *segment.Dir) int64 {
			_, usable := d.Usage()
			return usable
		},
		perDir:    map[*segment.Dir]map[*replication.Partition]struct{}{},
		preferred: map[topicPartition]*segment.Dir{},
		moves:     map[*replication.Partition]*move{},
		copying:   make(chan struct{}, copyAtOnce),
		working:   make(chan struct{}, runtime.GOMAXPROCS(0)),
		sessions:  newSessionCache(o.SessionSlots),
	}
	for _, d := range o.Dirs {
		if id, ok := meta.ParseID(d.ID()); ok {
			s.byID[id] = d
		}
	}
	s.reads.start()
	return s
}

// EndWaits answers fetches that wait for data, with what there is, so that draining ends: their clients may be ready to
// wait much longer than a shutdown may take.
func (s *Service) EndWaits() { s.parked.Close() }

// Close ends the workers. Requests in flight are answered or dropped with their
// connections before.
func (s *Service) Close() {
	s.reopening.close()
	s.stopMoves()
	s.reads.stop()
}
