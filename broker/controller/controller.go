package controller

import (
	"log/slog"
	"sync"

	"millrace/broker/meta"
)

// Limits of Kafka: one request creates at most this many partitions, a commit has at
// most this many records.
const (
	maxPartitionsPerRequest = 10_000
	maxPendingAutoCreate    = 10_000
)

// DefaultMaxPartitions is the cluster's cap on partitions unless Options say another.
const DefaultMaxPartitions = 200_000

// Store is the metadata log as this package uses it.
type Store interface {
	Image() *meta.Image
	Commit(build func(im *meta.Image) ([]meta.Change, error)) error
}

// Options of a Controller.
type Options struct {
	MaxPartitions int // of the whole cluster; 0: DefaultMaxPartitions
	// Room says how many partitions the machine has room for, those there are included, and which limit says so. It is asked
	// before each change that adds some, and may be asked often; nil: any number.
	Room   func(im *meta.Image) (partitions int, limit string)
	Placer Placer       // nil: brokers choose log dirs themselves
	Logger *slog.Logger // nil: slog.Default
}

// Controller serves the requests that change the cluster's state.
type Controller struct {
	store         Store
	log           *slog.Logger
	maxPartitions int
	room          func(im *meta.Image) (partitions int, limit string)
	placer        Placer

	// Auto-creation: names waiting for the one worker, which runs while there are any.
	mu      sync.Mutex
	idle    sync.Cond
	pending map[string]struct{}
	working bool
	closed  bool
}

// New makes a Controller on a store.
func New(store Store, o Options) *Controller {
	c := &Controller{store: store, log: o.Logger, maxPartitions: o.MaxPartitions, room: o.Room, placer: o.Placer, pending: make(map[string]struct{})}
	if c.log == nil {
		c.log = slog.Default()
	}
	if c.maxPartitions == 0 {
		c.maxPartitions = DefaultMaxPartitions
	}
	c.idle.L = &c.mu
	return c
}

// Close stops auto-creation and waits for what is under way.
func (c *Controller) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	clear(c.pending)
	for c.working {
		c.idle.Wait()
	}
}
