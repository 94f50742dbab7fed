package segment

import (
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"

	"millrace/segment/producer"
	"millrace/segment/slab"
)

// Log is one partition's log. All methods may be called from any goroutine.
type Log struct {
	dir       *Dir
	topic     string
	partition int32
	opts      LogOptions

	// Readable without the lock. start <= durable <= end.
	start   atomic.Int64 // first offset that may be read
	durable atomic.Int64 // one past the last offset known to be on the disk
	end     atomic.Int64 // one past the last appended offset
	// notified is the highest offset OnDurable was called with.
	notified atomic.Int64
	failed   atomic.Bool // OnFailed was called

	mu     sync.Mutex
	idle   sync.Cond // signalled when anything ends that is waited for; uses mu
	path   string    // partition directory
	absent bool      // there is no directory yet, since nothing was appended
	idNs   int64     // when partition.metadata was changed last, as far as it is known
	fresh  bool      // the directory may not be on the disk yet
	loose  bool      // leader-epoch-checkpoint was written while it was fresh, and may not be on the disk
	cfg    LogConfig
	// appendedMs is when the last batch was appended, or the active segment opened.
	appendedMs int64
	jitterMs   int64 // taken from segment.ms, chosen anew for each segment
	segments   []*segment
	tail       tail
	producers  *producer.State
	epochs     epochCache

	// Submission to the writer.
	queued      bool   // in one of the writer's lists, to be committed
	waiting     bool   // in the dir's list of those that may wait for it
	spillQueued bool   // likewise, to be spilled
	inFlight    bool   // a commit or flush is under way
	writing     bool   // a write of a segment file is under way: a commit or a spill
	emptying    bool   // everything committed is to be spilled now
	journaled   uint64 // generation of the last journal file that has something of the log; 0: none
	marks       markRing
	points      pointRing
	// flushTarget is the offset up to which an Async log was asked to flush. Nothing is committed before it has.
	flushTarget int64
	unflushed   int64 // records appended since the last flush request, for flush.messages
	unflushedAt int64 // when the oldest of them was appended, ms

	// The next segment's file, made ahead by the keeper.
	prepared  *preparedFile
	preparing bool

	// Recovery.
	opening     bool  // it is under way, and nobody else knows the log
	unsettled   bool  // what it found may not be on the disk (settle.go)
	recoveredTo int64 // the recovery point when it is
	replayed    int64 // bytes of batches that were looked through for producers

	// Recovery point.
	recoveryPoint   int64
	pending         *checkpoint // being made
	sinceCheckpoint int64       // bytes appended since the last checkpoint was taken
	sinceSnapshot   int64       // and since the last one with a producer snapshot
	snapshotAt      string      // file of the newest snapshot made by a checkpoint
	epochMu         sync.Mutex  // serialises writing leader-epoch-checkpoint; before mu

	// gapsBelow: segments below this offset need not follow each other without a gap, because Kafka compacted them.
	gapsBelow int64

	uncompacted int // how many want no compaction now

	swapping bool // compaction is putting a segment in the place of others
	pointing bool // a checkpoint is writing its snapshot
	cutting  bool // Truncate is changing files
	closing  bool // Dir.Close has begun
	closed   bool // deleted or closed
	// abandoned: closed with batches that found no space for their segment; the files are as after a crash.
	abandoned bool
}

// Topic and Partition name the log.
func (l *Log) Topic() string    { return l.topic }
func (l *Log) Partition() int32 { return l.partition }

// StartOffset is the first offset that may be read.
func (l *Log) StartOffset() int64 { return l.start.Load() }

// EndOffset is one past the last appended offset.
func (l *Log) EndOffset() int64 { return l.end.Load() }

// DurableOffset is one past the last offset known to be on the disk, whatever the durability of the topic.
func (l *Log) DurableOffset() int64 { return l.durable.Load() }

// Size is the bytes in all segments.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sizeLocked()
}

func (l *Log) sizeLocked() (n int64) {
	for _, s := range l.segments {
		n += s.size
	}
	return n
}

// SetConfig changes the configuration from the next append on.
func (l *Log) SetConfig(c LogConfig) {
	l.mu.Lock()
	was, is := l.cfg.Durability, c.Durability
	if was == Async && is != Async {
		l.commitAsync()
		l.flushTarget, l.unflushed = l.end.Load(), 0
		l.submit()
	}
	l.cfg = c
	l.producers.SetExpiration(c.ProducerExpirationMs)
	end := l.end.Load()
	l.mu.Unlock()
	if was != Async && is == Async {
		l.notifyDurable(end) // nothing is to come that would tell those who wait
	}
}

// Producers describes the active producer ids, the one that has been silent longest first.
func (l *Log) Producers() []ProducerInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	infos := l.producers.Producers()
	out := make([]ProducerInfo, len(infos))
	for i, p := range infos {
		out[i] = ProducerInfo(p)
	}
	return out
}

// FirstUnstableOffset is the first offset of the earliest open transaction; false if none is open.
func (l *Log) FirstUnstableOffset() (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.producers.FirstUnstableOffset()
}

// name is that of the partition directory.
func (l *Log) name() string { return filepath.Base(l.path) }

func newLog(d *Dir, topic string, partition int32, o LogOptions) *Log {
	l := &Log{dir: d, topic: topic, partition: partition, opts: o, cfg: o.Config}
	l.path = d.logPath(topicPartition{topic, partition})
	l.idle.L = &l.mu
	l.tail = tail{pool: d.pool, align: d.align, class: slab.Small, urgent: o.Config.KeepsNodeGoing}
	l.producers = producer.New(o.Config.ProducerExpirationMs)
	l.notified.Store(-1)
	l.drawJitter()
	return l
}

func (l *Log) drawJitter() {
	l.jitterMs = 0
	if l.cfg.SegmentJitterMs > 0 {
		l.jitterMs = rand.Int64N(min(l.cfg.SegmentJitterMs, max(l.cfg.SegmentMs, 1)) + 1)
	}
}

// active is the segment appended to, nil if the log has none yet.
func (l *Log) active() *segment {
	if n := len(l.segments); n > 0 && !l.segments[n-1].rolled {
		return l.segments[n-1]
	}
	return nil
}

// notifyDurable calls OnDurable unless a higher offset was reported already. No lock is held.
func (l *Log) notifyDurable(offset int64) {
	for {
		seen := l.notified.Load()
		if offset <= seen {
			return
		}
		if l.notified.CompareAndSwap(seen, offset) {
			break
		}
	}
	if l.opts.OnDurable != nil {
		l.opts.OnDurable(offset)
	}
}

// fail tells the owner, once, that the log cannot be written any more.
func (l *Log) fail(err error) {
	if !l.failed.Swap(true) && l.opts.OnFailed != nil {
		l.opts.OnFailed(err)
	}
}
