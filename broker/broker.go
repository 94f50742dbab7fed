package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"millrace/broker/admin"
	"millrace/broker/config"
	"millrace/broker/controller"
	"millrace/broker/data"
	"millrace/broker/group"
	"millrace/broker/http"
	"millrace/broker/meta"
	"millrace/broker/txn"
	"millrace/net/server"
	"millrace/segment"
	"millrace/segment/compact"
)

// Options of a node.
type Options struct {
	Config     *config.Broker
	Properties map[string]string // what Config was made from, for reports
	Logger     *slog.Logger
	Version    string
	Disk       func(dir string) segment.Disk // of a log dir; nil, or giving nil: the real one. For tests
	Cores      int                           // event loops unless net.event.loops says otherwise; 0: GOMAXPROCS
}

// Broker is a running node.
type Broker struct {
	config    *config.Broker
	clusterID string
	log       *slog.Logger
	started   time.Time
	took      time.Duration

	dirs        []*segment.Dir
	lost        []lostDir // log dirs that could not be opened
	meta        *meta.Store
	data        *data.Service
	groups      *group.Service
	controller  *controller.Controller
	admin       *admin.Admin
	producerIDs *txn.ProducerIDs
	cleaner     *compact.Cleaner // nil: switched off
	bells       server.Bells
	server      *server.Server
	http        *http.Server

	failed   chan error
	stopping sync.Once
	stopErr  error
}

// Start opens the log dirs, recovers what is in them, and serves. It returns when
// the node answers requests. What was opened is closed again on error.
func Start(ctx context.Context, o Options) (b *Broker, err error) {
	b = &Broker{config: o.Config, log: o.Logger, started: time.Now(), failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close(ctx))
			b = nil
		}
	}()
	if err := b.openDirs(o); err != nil {
		return b, err
	}
	if err := b.openPlanes(); err != nil {
		return b, err
	}
	if err := b.serve(o); err != nil {
		return b, err
	}
	b.took = time.Since(b.started)
	return b, nil
}

// logDirOffline ends the node when no log dir is left. One of them also holds the
// metadata log: without it nothing can be created, but what is open goes on.
func (b *Broker) logDirOffline(err error) {
	for _, d := range b.dirs {
		if d.Err() == nil {
			return
		}
	}
	select {
	case b.failed <- fmt.Errorf("no log dir is left: %w", err):
	default: // said already
	}
}

// openPlanes replays the metadata log, opens the partitions it names and starts
// the coordinators.
func (b *Broker) openPlanes() (err error) {
	dir, err := b.metadataDir()
	if err != nil {
		return err
	}
	if b.meta, err = meta.Open(dir, b.config, b.clusterID); err != nil {
		return err
	}
	image := b.meta.Image()
	b.data = data.New(data.Options{
		Dirs:         b.dirs,
		Metadata:     b.meta,
		Lost:         b.lostPaths(),
		SessionSlots: int(image.Config.FetchSessionSlots),
		Logger:       b.log,
		Now:          time.Now,
	})
	// Before anything is opened: a directory of a deleted topic may have the name of one created since.
	if err := b.setOrphansAside(image); err != nil {
		return err
	}
	b.data.Apply(nil, image)
	b.meta.Subscribe(b.data.Apply)
	if err := b.data.Settle(); err != nil {
		return err
	}
	b.startCleaner()
	b.producerIDs = txn.New(b.meta)
	return nil
}

// setOrphansAside renames partition directories that the metadata log does not
// know: a topic exists because the log says so, never because a directory is
// there, and a directory is never deleted because the log does not know it. One
// that has the name of a topic but cannot be its own by damage or by a mix-up, since
// it says no topic id or that of another living topic, stays: opening it is refused,
// each time, until somebody has looked. Aside it would be replaced by an empty one.
func (b *Broker) setOrphansAside(image *meta.Image) error {
	for _, d := range b.dirs {
		aside, err := d.Orphans(func(topic string, partition int32, id [16]byte) bool {
			if topic == meta.ClusterMetadata {
				return true
			}
			t := image.Topic(topic)
			if t == nil || int(partition) >= len(t.Partitions) {
				return false
			}
			return id == [16]byte{} || t.ID == meta.ID(id) || image.TopicByID(id) != nil
		})
		if err != nil {
			return err
		}
		for _, name := range aside {
			b.log.Warn("partition directory is not in the metadata log; renamed aside", "directory", name)
		}
	}
	return nil
}

// serve starts the coordinators, the listeners and the HTTP port.
func (b *Broker) serve(o Options) error {
	image := b.meta.Image()
	cfg := image.Config
	b.controller = controller.New(b.meta, controller.Options{Logger: b.log, Placer: b.data, Room: b.room})
	b.admin = admin.New(b.meta, b.controller, logDirs{b})
	b.groups = group.New(group.Options{
		Topics: internalTopics{b},
		Config: groupConfig(cfg),
		NodeID: cfg.NodeID,
		Logger: b.log,
		Now:    time.Now,
	})
	b.meta.Subscribe(b.forgetOffsets)
	b.groups.Start()

	d := newDispatcher(image.ClusterID, cfg.NodeID, b.groups.Disconnected, b.log)
	d.serve(b.table(d))
	var err error
	if b.server, err = server.Start(b.serverOptions(cfg, o.Cores, d)); err != nil {
		return err
	}
	return b.serveHTTP(o.Version)
}

// forgetOffsets removes what groups committed for topics that are gone.
func (b *Broker) forgetOffsets(prev, next *meta.Image) {
	next.EachChanged(prev, func(old, now *meta.Topic) {
		if old != nil && (now == nil || now.ID != old.ID) {
			b.groups.TopicDeleted(old.Name)
		}
	})
}

// Shutdown stops taking requests, answers what is under way until ctx ends, writes
// what is left and marks the log dirs clean. A second call waits for the first.
func (b *Broker) Shutdown(ctx context.Context) error {
	b.stopping.Do(func() { b.stopErr = b.close(ctx) })
	return b.stopErr
}

// close ends everything that was started, top down. Parts that were not started
// are nil.
func (b *Broker) close(ctx context.Context) error {
	var errs []error
	if b.groups != nil {
		b.groups.Close() // joins and syncs that wait are answered, so that draining ends
	}
	if b.data != nil {
		b.data.EndWaits() // likewise fetches
	}
	if b.server != nil {
		errs = append(errs, b.server.Shutdown(ctx))
	}
	if b.controller != nil {
		b.controller.Close()
	}
	if b.cleaner != nil {
		b.cleaner.Close()
	}
	if b.data != nil {
		b.data.Close()
	}
	if b.http != nil {
		errs = append(errs, b.http.Shutdown(ctx))
	}
	for _, d := range b.dirs {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// Done gives an error when the node cannot go on: every log dir is offline. The
// caller then shuts down.
func (b *Broker) Done() <-chan error { return b.failed }
