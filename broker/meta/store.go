package meta

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"millrace/broker/config"
	"millrace/segment"
	"millrace/segment/batch"
)

// Store owns the metadata log and the current image.
type Store struct {
	log    Log
	static *config.Broker // without dynamic configs
	logger *slog.Logger
	now    func() time.Time

	image atomic.Pointer[Image]

	// mu is held for a whole commit: changes are made one after the other.
	mu          sync.Mutex
	subscribers []func(prev, next *Image)
	failed      error // the log failed after an append: what it holds is unknown
	unfinished  bool  // the log ends inside a transaction, which the next write aborts
}

// Options are the parts of a Store that tests replace.
type Options struct {
	Logger *slog.Logger     // nil: slog.Default
	Now    func() time.Time // nil: time.Now
}

// Open opens the metadata log of dir, replays it and makes this node known in it.
// cfg is the node's static configuration. Blocking.
func Open(dir *segment.Dir, cfg *config.Broker, clusterID string) (*Store, error) {
	if !HasLog(dir.Path()) {
		if err := RefuseLostLog(dir.Path()); err != nil {
			return nil, err
		}
	}
	log, err := OpenLog(dir)
	if err != nil {
		return nil, err
	}
	if log.EndOffset() == 0 {
		if err := RefuseLostLog(dir.Path()); err != nil {
			return nil, err
		}
	}
	return OpenOn(log, cfg, clusterID, Options{})
}

// OpenOn is Open on a log that is open already.
func OpenOn(log Log, cfg *config.Broker, clusterID string, o Options) (*Store, error) {
	s := &Store{log: log, static: cfg, logger: o.Logger, now: o.Now}
	if s.logger == nil {
		s.logger = slog.Default()
	}
	if s.now == nil {
		s.now = time.Now
	}
	im, unfinished, err := s.replay(clusterID)
	if err != nil {
		return nil, err
	}
	s.unfinished = unfinished
	s.image.Store(im)
	if err := s.bootstrap(); err != nil {
		return nil, err
	}
	return s, nil
}

// bootstrap writes what the log of a new cluster begins with, and the registration of
// this node if it is not the one the log has.
func (s *Store) bootstrap() error {
	return s.Commit(func(im *Image) ([]Change, error) {
		var changes []Change
		if im.Features[metadataVersion] == 0 {
			changes = append(changes, &FeatureLevelRecord{metadataVersion, metadataLevel})
		}
		r := registration(s.static)
		if !r.same(im.registrations[r.BrokerID]) {
			r.IncarnationID, r.BrokerEpoch = NewID(), im.Version+1
			changes = append(changes, r)
		}
		return changes, nil
	})
}

// The metadata.version feature that the record versions written here belong to
// (4.4-IV2).
const (
	metadataVersion       = "metadata.version"
	metadataLevel   int16 = 33
)

// Image is the current image. Any goroutine; never nil.
func (s *Store) Image() *Image { return s.image.Load() }

// Subscribe adds f to those called after each change, in order of subscription, on
// the committing goroutine, after the image is published and before Commit returns. f
// must not commit, and must be subscribed before the first commit it is to see.
func (s *Store) Subscribe(f func(prev, next *Image)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(s.subscribers, f)
}

// ErrUncertain is the error of commits after the log failed under one: whether that
// one is on the disk is known only after a restart.
var ErrUncertain = errors.New("metadata log failed")

// ErrRejected is the error of a commit whose changes do not fit the state they were to
// change. Nothing was written.
var ErrRejected = errors.New("change does not fit")

// Commit makes one change of the cluster's state. build gets the current image and
// returns the changes; it runs alone, so what it saw still holds when they are
// written. When Commit returns nil, the changes are on the disk, in the image, and
// known to every subscriber. build's error is returned as it is, and nothing is
// written; no changes means nothing to do. Blocking.
func (s *Store) Commit(build func(im *Image) ([]Change, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	prev := s.image.Load()
	changes, err := build(prev)
	if err != nil || len(changes) == 0 {
		return err
	}
	d := newDraft(prev)
	for _, c := range changes {
		if err := c.apply(d); err != nil {
			return fmt.Errorf("%w: %w", ErrRejected, err)
		}
	}
	next, err := d.index(s.static)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRejected, err)
	}
	if err := s.write(changes); err != nil {
		return err
	}
	next.Version = s.log.EndOffset() - 1
	s.image.Store(next)
	for _, f := range s.subscribers {
		f(prev, next)
	}
	return nil
}

// write appends changes and waits until they are on the disk.
func (s *Store) write(changes []Change) error {
	batches := buildBatches(changes, s.now().UnixMilli(), maxBatchBytes)
	if s.unfinished {
		abort := buildBatches([]Change{&abortTransactionRecord{}}, s.now().UnixMilli(), maxBatchBytes)
		if err := s.append(abort); err != nil {
			return err
		}
	}
	if err := s.append(batches); err != nil {
		return err
	}
	if err := s.log.WaitDurable(s.log.EndOffset()); err != nil {
		return s.fail(err)
	}
	return nil
}

// append appends the batches of one commit. Between the first and the last of several
// the log is inside a transaction.
func (s *Store) append(batches []batch.Batch) error {
	for i, b := range batches {
		if _, err := s.log.Append(b); err != nil {
			return fmt.Errorf("append to metadata log %s at offset %d: %w", s.log.Path(), s.log.EndOffset(), err)
		}
		s.unfinished = i < len(batches)-1
	}
	return nil
}

func (s *Store) fail(cause error) error {
	s.failed = fmt.Errorf("%w: %s at offset %d: %w", ErrUncertain, s.log.Path(), s.log.EndOffset(), cause)
	return s.failed
}

// AllocateProducerIDs takes n producer ids for the caller: first and the n-1 after it.
// They are never given out again, also after a restart. Blocking.
func (s *Store) AllocateProducerIDs(n int64) (first int64, err error) {
	err = s.Commit(func(im *Image) ([]Change, error) {
		first = im.NextProducerID
		if n <= 0 || first > maxProducerID-n {
			return nil, fmt.Errorf("cannot allocate %d producer ids after %d", n, first)
		}
		return []Change{&ProducerIDsRecord{BrokerID: im.NodeID, BrokerEpoch: -1, NextProducerID: first + n}}, nil
	})
	return first, err
}

const maxProducerID = 1<<63 - 1
