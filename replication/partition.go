package replication

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"millrace/segment"
	"millrace/segment/batch"
)

// Errors of the partition's role; the broker maps them to protocol codes.
var (
	ErrNotLeader          = errors.New("not the leader")
	ErrFencedLeaderEpoch  = errors.New("fenced leader epoch")
	ErrUnknownLeaderEpoch = errors.New("unknown leader epoch")
)

// Isolation is the isolation level of a reader.
type Isolation int8

// The isolation levels of the protocol.
const (
	ReadUncommitted Isolation = 0
	ReadCommitted   Isolation = 1
)

// Partition is one led partition.
type Partition struct {
	Topic   string
	TopicID [16]byte
	Index   int32

	// log is replaced by a Swap, under appending; read by any goroutine.
	log atomic.Pointer[placedLog]

	// appending is held for reading by appends, for a moment, and for writing while the log is replaced. After role.
	appending sync.RWMutex
	broken    atomic.Pointer[error] // the log could neither be replaced nor kept
	swapping  atomic.Bool           // the log is being replaced, or is about to be
	// moving keeps changes of the log start from a log that is being replaced. Before role.
	moving sync.Mutex

	// role guards leaderEpoch and leads against a change while an append is
	// under way: an append belongs to exactly one leader epoch.
	role        sync.RWMutex
	leaderEpoch int32
	leads       bool

	// highWatermark is one past the last record that every in-sync replica has.
	// Never goes back. Written under waiting.mu, read by any goroutine.
	highWatermark atomic.Int64

	waiting waiting
}

// Open opens (or creates and recovers) the log of a partition in dir. The
// partition leads nothing until BecomeLeader. Blocking: it may scan the log's tail.
func Open(dir *segment.Dir, topic string, id [16]byte, index int32, cfg segment.LogConfig) (*Partition, error) {
	p := &Partition{Topic: topic, TopicID: id, Index: index}
	l, err := p.openLog(dir, cfg)
	if err != nil {
		return nil, err
	}
	p.log.Store(l)
	p.advanceHighWatermark(l.DurableOffset())
	return p, nil
}

// placedLog is a log of the partition, in one log dir.
type placedLog struct {
	*segment.Log
	retired atomic.Bool // another one has taken its place
}

// openLog opens the partition's log in dir without making it the one that is used. Blocking.
func (p *Partition) openLog(dir *segment.Dir, cfg segment.LogConfig) (*placedLog, error) {
	l := &placedLog{}
	log, err := dir.OpenLog(p.Topic, p.Index, segment.LogOptions{
		TopicID:   p.TopicID,
		Config:    cfg,
		OnDurable: p.advanceHighWatermark,
		OnFailed: func(err error) {
			if !l.retired.Load() {
				p.fail(err)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("open partition %s-%d: %w", p.Topic, p.Index, err)
	}
	l.Log = log
	return l, nil
}

// BecomeLeader starts leading in the given epoch. The epoch is on disk when it
// returns. Calling it again with the same epoch changes nothing.
func (p *Partition) BecomeLeader(epoch int32) error {
	p.role.Lock()
	defer p.role.Unlock()
	if p.leads && p.leaderEpoch == epoch {
		return nil
	}
	if log := p.Log(); epoch > log.LeaderEpoch() {
		if err := log.AssignLeaderEpoch(epoch); err != nil {
			return fmt.Errorf("lead %s-%d in epoch %d: %w", p.Topic, p.Index, epoch, err)
		}
	}
	p.leaderEpoch, p.leads = epoch, true
	return nil
}

// LeaderEpoch is the epoch this replica leads in.
func (p *Partition) LeaderEpoch() int32 {
	p.role.RLock()
	defer p.role.RUnlock()
	return p.leaderEpoch
}

// CheckLeaderEpoch compares the epoch a client knows with the current one
// (KIP-320). -1 means that the client did not say.
func (p *Partition) CheckLeaderEpoch(known int32) error {
	p.role.RLock()
	defer p.role.RUnlock()
	switch {
	case !p.leads:
		return ErrNotLeader
	case known < 0 || known == p.leaderEpoch:
		return nil
	case known < p.leaderEpoch:
		return ErrFencedLeaderEpoch
	default:
		return ErrUnknownLeaderEpoch
	}
}

// HighWatermark is one past the last record a consumer may see.
func (p *Partition) HighWatermark() int64 { return p.highWatermark.Load() }

// LastStableOffset is one past the last record a read_committed consumer may
// see. No transaction can be open yet, so it is the high watermark.
func (p *Partition) LastStableOffset() int64 { return p.highWatermark.Load() }

// LogStartOffset is the first offset that may be read.
func (p *Partition) LogStartOffset() int64 { return p.Log().StartOffset() }

// LogEndOffset is one past the last appended record.
func (p *Partition) LogEndOffset() int64 { return p.Log().EndOffset() }

// Log is the log under the partition, for look-ups that need no role:
// timestamps, epochs, sizes, producers. It may be replaced by one in another log dir at
// any time, and answers segment.ErrClosed some time after that.
func (p *Partition) Log() *segment.Log { return p.log.Load().Log }

// readBound is the offset a reader of the given isolation may not reach.
func (p *Partition) readBound(iso Isolation) int64 {
	if iso == ReadCommitted {
		return p.LastStableOffset()
	}
	return p.HighWatermark()
}

// Read appends to dst the ranges of batches from the one that holds offset on, at
// most maxBytes, up to what iso allows. An offset between that bound and the log
// end gives no ranges and no error: the reader waits. With block false it answers
// segment.ErrWouldBlock instead of waiting for the disk. The caller releases the
// ranges, also those in dst when an error comes back.
func (p *Partition) Read(dst []segment.Range, offset int64, maxBytes int, iso Isolation, minOne, block bool) ([]segment.Range, error) {
	bound := p.readBound(iso)
	for {
		log := p.Log()
		if offset < log.StartOffset() || offset > log.EndOffset() {
			return dst, segment.ErrOffsetOutOfRange
		}
		if offset >= bound {
			return dst, nil
		}
		out, err := log.Read(dst, offset, maxBytes, bound, minOne, block)
		if errors.Is(err, segment.ErrClosed) && log != p.Log() { // replaced meanwhile
			dst = out
			continue
		}
		return out, err
	}
}

// ReadAll calls f with each batch from log start to the high watermark. Blocking.
func (p *Partition) ReadAll(f func(batch.Batch) error) error {
	log := p.Log()
	return log.ReadBatches(log.StartOffset(), p.HighWatermark(), f)
}

// DeleteRecords moves the log start to offset (-1: the high watermark) and returns
// the new log start. It is durable when it returns. Blocking.
func (p *Partition) DeleteRecords(offset int64) (int64, error) {
	p.moving.Lock()
	defer p.moving.Unlock()
	log, hw := p.Log(), p.HighWatermark()
	if offset == -1 {
		offset = hw
	}
	if offset < 0 || offset > hw {
		return -1, segment.ErrOffsetOutOfRange
	}
	if err := log.AdvanceStartOffset(offset); err != nil {
		return -1, fmt.Errorf("delete records of %s-%d before %d: %w", p.Topic, p.Index, offset, err)
	}
	return log.StartOffset(), nil
}

// Delete ends the partition: waiters are told, the log is renamed aside and removed.
func (p *Partition) Delete() error {
	p.role.Lock()
	p.leads = false
	p.role.Unlock()
	p.fail(ErrNotLeader)
	p.appending.Lock()
	log := p.Log()
	p.appending.Unlock()
	return log.Delete()
}
