package meta

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"time"

	"millrace/segment"
	"millrace/segment/batch"
)

// Log is what the Store needs of the metadata log. One goroutine appends.
type Log interface {
	// Append assigns offsets to one batch and hands it to the writer; it does not wait
	// for the disk.
	Append(b batch.Batch) (baseOffset int64, err error)
	// WaitDurable returns when every record below offset is on the disk, or with an
	// error when that can no longer happen.
	WaitDurable(offset int64) error
	// ReadBatches calls f with each whole batch from offset up to upTo.
	ReadBatches(offset, upTo int64, f func(batch.Batch) error) error
	StartOffset() int64
	EndOffset() int64
	// Path is the directory of the log, for messages.
	Path() string
}

// The metadata log's own settings: it is never cut by retention, and segments are
// small because they are preallocated.
const (
	logSegmentBytes       = 64 << 20
	logSegmentMs          = int64(7 * 24 * time.Hour / time.Millisecond)
	logSegmentIndexBytes  = 1 << 20
	logIndexIntervalBytes = 4096
	leaderEpoch           = 0
)

// SegmentLog is the metadata log in a log dir.
type SegmentLog struct {
	log  *segment.Log
	path string

	mu      sync.Mutex
	changed sync.Cond
	durable int64 // every record below it is on the disk
	failed  error
}

// OpenLog opens the metadata log of a log dir, or creates it.
func OpenLog(dir *segment.Dir) (*SegmentLog, error) {
	l := &SegmentLog{path: filepath.Join(dir.Path(), ClusterMetadata+"-0")}
	l.changed.L = &l.mu
	log, err := dir.OpenLog(ClusterMetadata, 0, segment.LogOptions{
		TopicID: MetadataTopicID,
		Config: segment.LogConfig{
			SegmentBytes:         logSegmentBytes,
			SegmentMs:            logSegmentMs,
			SegmentIndexBytes:    logSegmentIndexBytes,
			IndexIntervalBytes:   logIndexIntervalBytes,
			RetentionMs:          -1,
			RetentionBytes:       -1,
			FlushMessages:        math.MaxInt64,
			FlushMs:              math.MaxInt64,
			Durability:           segment.Flush,
			ProducerExpirationMs: math.MaxInt64,
			KeepsNodeGoing:       true,
		},
		OnDurable: l.advance,
		OnFailed:  l.fail,
	})
	if err != nil {
		return nil, fmt.Errorf("open metadata log %s: %w", l.path, err)
	}
	l.log = log
	l.advance(log.DurableOffset())
	if log.LeaderEpoch() < leaderEpoch {
		if err := log.AssignLeaderEpoch(leaderEpoch); err != nil {
			return nil, fmt.Errorf("open metadata log %s: %w", l.path, err)
		}
	}
	return l, nil
}

func (l *SegmentLog) advance(offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.durable = max(l.durable, offset)
	l.changed.Broadcast()
}

func (l *SegmentLog) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = err
	l.changed.Broadcast()
}

// Append implements Log.
func (l *SegmentLog) Append(b batch.Batch) (int64, error) {
	info, err := l.log.Append(b, leaderEpoch)
	if errors.Is(err, segment.ErrBusy) {
		// The write buffers are full of what others write. What is ours among it will be
		// gone when it is on the disk.
		if err := l.WaitDurable(l.log.EndOffset()); err != nil {
			return 0, err
		}
		info, err = l.log.Append(b, leaderEpoch)
	}
	return info.BaseOffset, err
}

// WaitDurable implements Log.
func (l *SegmentLog) WaitDurable(offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.durable < offset && l.failed == nil {
		l.changed.Wait()
	}
	if l.durable >= offset {
		return nil
	}
	return l.failed
}

// ReadBatches implements Log.
func (l *SegmentLog) ReadBatches(offset, upTo int64, f func(batch.Batch) error) error {
	return l.log.ReadBatches(offset, upTo, f)
}

// StartOffset implements Log.
func (l *SegmentLog) StartOffset() int64 { return l.log.StartOffset() }

// EndOffset implements Log.
func (l *SegmentLog) EndOffset() int64 { return l.log.EndOffset() }

// Path implements Log.
func (l *SegmentLog) Path() string { return l.path }
