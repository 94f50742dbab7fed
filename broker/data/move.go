package data

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"millrace/broker/meta"
	"millrace/replication"
	"millrace/segment"
	"millrace/segment/batch"
)

// A replica moves to another log dir while it is written and read:
//
//	follow   a future log in the other dir is appended all there is, in passes, until a pass was short
//	swap     appends wait; the rest is copied, the future log sealed on the disk; the metadata log says where the
//	         partition is now; the future log gets the partition's name and is opened in place of the old one
//	         appends go on; the old log is deleted
//
// The record in the metadata log is the one point where the partition changes its place: before it the future log is
// only a copy, after it the old log is. A start finds one of the two and finishes or goes on with the move (home,
// settleMoves). The order is Kafka's (KIP-858).
type move struct {
	s     *Service
	topic *topic
	p     *replication.Partition
	to    *segment.Dir

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	// future is replaced when a swap was given up after sealing. Set by the goroutine of the move, under
	// Service.placement; others read it there.
	future *segment.Log

	source *segment.Log // not compacted meanwhile

	// Of the goroutine of the move.
	name      segment.Future
	cfg       segment.LogConfig
	unwritten int           // bytes appended since all was on the disk
	hurry     bool          // appends to the partition wait: no throttle, and no waiting for space
	keep      bool          // the future log may be the one that counts
	full      bool          // the target has no space; said so
	began     time.Time     // when appends began to wait
	waited    time.Duration // how long they did
	progress  chan struct{} // capacity 1: the future log was written or failed
	failed    atomic.Pointer[error]
}

const (
	// copyAtOnce is how many moves copy at the same time.
	copyAtOnce = 4
	// copyWindow is the bytes of a move that wait for the target's disk; they take slabs there.
	copyWindow = 8 << 20
	// shortPass is what a pass may have copied, bytes, so that the rest is left to the swap, while appends wait.
	// Where passes do not become shorter the partition is written about as fast as it is copied; then a longer wait
	// is the price of ever arriving, up to longPass.
	shortPass     = 1 << 20
	longPass      = 32 << 20
	passesPerStep = 4
	// retryMove is how long a move waits for what may pass, like a full disk.
	retryMove = time.Second
)

var errMoveGone = errors.New("the partition is gone")

// startMove begins or resumes a move. Under altering.
func (s *Service) startMove(t *topic, p *replication.Partition, to *segment.Dir, resume *segment.Future) error {
	m := &move{s: s, topic: t, p: p, to: to, done: make(chan struct{}), progress: make(chan struct{}, 1)}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.cfg = s.futureConfig(t)
	var err error
	if resume != nil {
		if m.future, err = to.OpenFuture(*resume, m.options()); err == nil && m.future.EndOffset() > p.LogEndOffset() {
			// A crash took records from the log that were in the copy: what comes in their place is not in it.
			err = m.future.Delete()
			resume, m.future = nil, nil
		}
	}
	if m.future == nil && err == nil {
		if err = s.discardFutures(t, p.Index, to); err == nil {
			m.future, err = to.CreateFuture(t.name, p.Index, m.options())
		}
	}
	if err != nil {
		m.cancel()
		return fmt.Errorf("move %s-%d to %s: %w", t.name, p.Index, to.Path(), err)
	}
	m.source = p.Log()
	m.source.PauseCompaction()
	m.name = segment.Future{Name: m.future.Topic(), TopicID: t.id, Partition: p.Index}
	s.placement.Lock()
	s.moves[p] = m
	s.placement.Unlock()
	go m.run()
	return nil
}

// discardFutures removes what is left of earlier moves of a partition to a dir. A start promotes the one it finds.
func (s *Service) discardFutures(t *topic, index int32, d *segment.Dir) error {
	list, err := d.Futures()
	if err != nil {
		return err
	}
	for _, f := range list {
		if f.TopicID == t.id && f.Partition == index {
			if err := d.Discard(f.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// futureConfig is the topic's configuration for a log that only follows: durable, and cut by nobody.
func (s *Service) futureConfig(t *topic) segment.LogConfig {
	cfg := logConfig(t.config.Load(), s.images.Image().Config)
	cfg.Compact = false // that of the log counts, which rests until the copy is complete
	cfg.Durability, cfg.RetentionMs, cfg.RetentionBytes, cfg.DeleteByRetention, cfg.FileDeleteDelayMs = segment.Flush, -1, -1, false, 0
	return cfg
}

func (m *move) options() segment.LogOptions {
	signal := func() {
		select {
		case m.progress <- struct{}{}:
		default:
		}
	}
	return segment.LogOptions{
		TopicID: m.topic.id, Config: m.cfg,
		OnDurable: func(int64) { signal() },
		OnFailed: func(err error) {
			m.failed.Store(&err)
			signal()
		},
	}
}

// run is the goroutine of a move.
func (m *move) run() {
	defer close(m.done)
	defer m.source.ResumeCompaction()
	s := m.s
	err := m.follow()
	switch log := s.log.With("topic", m.topic.name, "partition", m.p.Index, "to", m.to.Path()); {
	case err == nil:
		log.Info("replica moved to another log dir", "bytes", m.p.Log().Size(), "appends waited", m.waited)
	case s.closing.Load() || m.keep:
		// The next start goes on with it.
	default:
		if !errors.Is(err, context.Canceled) && !errors.Is(err, errMoveGone) {
			log.Error("replica not moved to another log dir", "error", err)
		}
		if err := m.future.Delete(); errors.Is(err, segment.ErrClosed) { // sealed
			err = m.to.Discard(m.name.Name)
			if err != nil {
				log.Warn("copy of a replica not removed", "error", err)
			}
		} else if err != nil {
			log.Warn("copy of a replica not removed", "error", err)
		}
	}
	s.placement.Lock()
	delete(s.moves, m.p)
	s.placement.Unlock()
	m.cancel()
}

// stop ends a move and waits for that. It may be too late: then the replica has moved.
func (m *move) stop() {
	m.cancel()
	<-m.done
}

// follow copies until the partition is served from the other dir.
func (m *move) follow() error {
	for pass := 0; ; pass++ {
		n, err := m.copy(m.p.HighWatermark)
		if err != nil {
			return err
		}
		if n > min(int64(shortPass)<<min(pass/passesPerStep, 30), longPass) {
			continue
		}
		done, err := m.swap()
		if done || err != nil {
			return err
		}
		if err := m.pause(retryMove); err != nil {
			return err
		}
	}
}

// copy makes one pass: it appends to the future log what it lacks up to end.
func (m *move) copy(end func() int64) (bytes int64, err error) {
	select {
	case m.s.copying <- struct{}{}:
		defer func() { <-m.s.copying }()
	case <-m.ctx.Done():
		return 0, m.ctx.Err()
	}
	return m.pass(m.p.Log(), end())
}

func (m *move) pass(log *segment.Log, upTo int64) (bytes int64, err error) {
	for {
		if m.future.EndOffset() < log.StartOffset() && m.future.Size() > 0 {
			if err := m.restart(); err != nil { // all that was copied has been deleted
				return bytes, err
			}
		}
		from := max(m.future.EndOffset(), log.StartOffset())
		if from >= upTo {
			return bytes, m.settle()
		}
		err := log.ReadBatches(from, upTo, func(b batch.Batch) error {
			bytes += int64(len(b))
			return m.append(b)
		})
		if errors.Is(err, segment.ErrOffsetOutOfRange) && log.StartOffset() > from {
			continue // retention was here
		}
		if err != nil {
			return bytes, err
		}
		return bytes, m.settle()
	}
}

// restart begins the copy anew.
func (m *move) restart() error {
	if err := m.future.Delete(); err != nil {
		return err
	}
	future, err := m.to.CreateFuture(m.topic.name, m.p.Index, m.options())
	if err != nil {
		return err
	}
	m.s.placement.Lock()
	m.future, m.name.Name = future, future.Topic()
	m.s.placement.Unlock()
	return nil
}

// append appends one batch to the future log, waiting for what it needs.
func (m *move) append(b batch.Batch) error {
	if !m.hurry {
		if err := m.s.throttle.take(m.ctx, len(b), m.rate); err != nil {
			return err
		}
	}
	if len(b) > int(m.cfg.SegmentBytes) { // of a time when segment.bytes was larger
		m.cfg.SegmentBytes = int32(len(b))
		m.future.SetConfig(m.cfg)
	}
	for {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		switch err := m.future.AppendAsFollower(b); {
		case err == nil:
			if m.unwritten += len(b); m.unwritten < copyWindow {
				return nil
			}
			return m.settle()
		case errors.Is(err, segment.ErrBusy) && !m.hurry:
			if err := errors.Join(m.settle(), m.pause(10*time.Millisecond)); err != nil {
				return err
			}
		case errors.Is(err, segment.ErrNoSpace) && !m.hurry:
			if !m.full {
				m.full = true
				m.s.log.Warn("log dir has no space for a replica that is being moved to it; waiting", "dir", m.to.Path(), "topic", m.topic.name, "partition", m.p.Index)
			}
			if err := m.pause(retryMove); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func (m *move) rate() int64 { return m.s.images.Image().Config.AlterLogDirsBytesPerSecond }

// settle waits until all of the future log is on the disk.
func (m *move) settle() error {
	for m.future.DurableOffset() < m.future.EndOffset() {
		if err := m.failed.Load(); err != nil {
			return fmt.Errorf("%w: %w", segment.ErrDirOffline, *err)
		}
		select {
		case <-m.progress:
		case <-m.ctx.Done():
			if !m.hurry {
				return m.ctx.Err()
			}
			<-m.progress // the swap goes through: what is under way is a write
		}
	}
	m.unwritten = 0
	return nil
}

func (m *move) pause(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-m.ctx.Done():
		return m.ctx.Err()
	}
}

// swap has the partition served from the future log. False without an error: not now.
func (m *move) swap() (done bool, err error) {
	var swap *replication.Swap
	sealed := false
	// Inside the commit, so that appends do not wait for others' commits, and nobody deletes the topic meanwhile.
	err = m.s.images.Commit(func(im *meta.Image) ([]meta.Change, error) {
		change := assign(im, assignment{m.topic.id, m.p.Index, m.to})
		if change == nil {
			return nil, errMoveGone
		}
		if err := m.ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if swap, err = m.p.BeginSwap(); err != nil {
			return nil, err
		}
		m.hurry, m.began = true, time.Now()
		defer func() { m.hurry = false }()
		current := m.p.Log()
		if _, err := m.pass(current, current.EndOffset()); err != nil {
			return nil, err
		}
		sealed = true
		return []meta.Change{change}, m.future.Seal(current)
	})
	switch {
	case err == nil:
		return true, m.finish(swap)
	case swap == nil:
	case errors.Is(err, meta.ErrUncertain):
		m.keep = true
		swap.Fail(fmt.Errorf("which log dir has the partition is known after a restart: %w", err))
	default:
		swap.Abort()
	}
	if sealed && !m.keep {
		if again := m.reopen(); again != nil {
			return false, errors.Join(err, again)
		}
	}
	if errors.Is(err, segment.ErrNoSpace) || errors.Is(err, segment.ErrBusy) {
		return false, nil
	}
	return false, err
}

// reopen goes on with a future log that was sealed in vain.
func (m *move) reopen() error {
	future, err := m.to.OpenFuture(m.name, m.options())
	if err != nil {
		return err
	}
	m.s.placement.Lock()
	m.future = future
	m.s.placement.Unlock()
	return nil
}

// finish does what follows from the commit. If it cannot, the partition is offline until the next start, which does it.
func (m *move) finish(swap *replication.Swap) error {
	s, from := m.s, m.p.Log().Dir()
	m.keep = true
	if err := m.to.Promote(m.name.Name, m.topic.name, m.p.Index); err != nil {
		swap.Fail(err)
		return err
	}
	old, err := swap.Finish(m.to, s.currentConfig(m.topic))
	if err != nil {
		return err
	}
	m.waited = time.Since(m.began)
	m.p.Log().SetConfig(s.currentConfig(m.topic)) // it may have changed while the log was opened
	if err := old.Delete(); err != nil {
		s.log.Warn("log of a replica that was moved is not deleted; the next start does that", "topic", m.topic.name, "partition", m.p.Index, "error", err)
	}
	s.placement.Lock()
	delete(s.perDir[from], m.p)
	if s.perDir[m.to] == nil {
		s.perDir[m.to] = map[*replication.Partition]struct{}{}
	}
	s.perDir[m.to][m.p] = struct{}{}
	s.placement.Unlock()
	return nil
}

// currentConfig is what the logs of a topic are to follow.
func (s *Service) currentConfig(t *topic) segment.LogConfig {
	im := s.images.Image()
	if m := im.TopicByID(t.id); m != nil {
		return logConfigOf(m, im.Config)
	}
	return logConfig(t.config.Load(), im.Config) // deleted meanwhile
}

// Move is a replica that is being moved.
type Move struct {
	Topic     string
	Partition int32
	Size      int64 // bytes copied
	OffsetLag int64 // records to be copied yet
}

// MovesTo lists the replicas that are being moved to a log dir, in no order.
func (s *Service) MovesTo(d *segment.Dir) (out []Move) {
	s.placement.Lock()
	defer s.placement.Unlock()
	for p, m := range s.moves {
		if m.to == d && p.Log().Dir() != d {
			out = append(out, Move{p.Topic, p.Index, m.future.Size(), max(0, p.LogEndOffset()-m.future.EndOffset())})
		}
	}
	return out
}

// stopMoves ends all moves; the next start goes on with them.
func (s *Service) stopMoves() {
	s.altering.Lock()
	defer s.altering.Unlock()
	s.closing.Store(true)
	s.placement.Lock()
	var all []*move
	for _, m := range s.moves {
		all = append(all, m)
	}
	s.placement.Unlock()
	for _, m := range all {
		m.stop()
	}
}
