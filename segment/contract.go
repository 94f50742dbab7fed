package segment

import (
	"errors"
	"log/slog"
	"time"

	"millrace/segment/batch"
)

// Errors a caller acts on. Others are failures of the machine and carry operation, file and position.
var (
	ErrOffsetOutOfRange     = errors.New("offset out of range")
	ErrWouldBlock           = errors.New("read would block") // Read with block == false met a cold page
	ErrOutOfOrderSequence   = errors.New("out of order sequence")
	ErrInvalidProducerEpoch = errors.New("invalid producer epoch")
	ErrDirOffline           = errors.New("log dir offline")
	ErrNoSpace              = errors.New("no space in log dir")
	ErrClosed               = errors.New("log closed")
)

// Durability says when an appended batch counts as written.
type Durability int8

const (
	Flush      Durability = iota // on disk (default)
	Replicated                   // in memory of every in-sync replica
	Async                        // in the leader's memory
)

// DirOptions configures one log dir.
type DirOptions struct {
	Path                   string
	NodeID                 int32
	ClusterID              string
	Engine                 string // "auto" | "ring" | "pwritev2"
	IO                     string // "auto" | "direct" | "buffered"
	SlabBytes              int64  // budget for slabs, bytes
	Now                    func() time.Time
	Logger                 *slog.Logger
	RetentionCheckInterval time.Duration
	RecoveryThreads        int
}

// LogConfig is the part of a topic's configuration the log acts on. Units are in the names.
type LogConfig struct {
	SegmentBytes         int32
	SegmentMs            int64
	SegmentJitterMs      int64
	SegmentIndexBytes    int32
	IndexIntervalBytes   int32
	RetentionMs          int64 // -1: no limit
	RetentionBytes       int64 // -1: no limit
	DeleteByRetention    bool  // cleanup.policy has delete
	FlushMessages        int64
	FlushMs              int64
	FileDeleteDelayMs    int64
	Preallocate          bool
	Durability           Durability
	ProducerExpirationMs int64
}

// LogOptions opens one log.
type LogOptions struct {
	TopicID [16]byte
	Config  LogConfig
	// OnDurable is called on the writer goroutine after a write (or, with Async, on the appending
	// goroutine after the append): every record below offset counts as written. Offsets never go
	// back. It must not block and must not call into the log's append path.
	OnDurable func(offset int64)
	// OnFailed is called once, from any goroutine, when the log can no longer be written.
	OnFailed func(error)
}

// AppendInfo is what an append did.
type AppendInfo struct {
	BaseOffset     int64
	LastOffset     int64
	LogStartOffset int64
	AppendTimeMs   int64 // max timestamp of the batch when log append time, else -1; for a duplicate: of the first append
	Duplicate      bool  // an idempotent retry; nothing was appended
}

// Range is a piece of what Read found: memory of a slab or part of a file.
// The holder calls Release exactly once.
type Range struct {
	Mem []byte // nil: file range
	Fd  int
	Off int64
	Len int
	Ref interface{ Release() }
}

// TimestampOffset is the answer to a look-up by time.
type TimestampOffset struct {
	Timestamp   int64 // -1: none
	Offset      int64 // -1: none
	LeaderEpoch int32
}

// ProducerInfo describes one active producer id (DescribeProducers).
type ProducerInfo struct {
	ProducerID            int64
	ProducerEpoch         int32
	LastSequence          int32
	LastTimestamp         int64
	CoordinatorEpoch      int32
	CurrentTxnStartOffset int64
}

// The functions (implemented in dir.go, log.go, read.go ...):
//
//	func OpenDir(o DirOptions) (*Dir, error)   // lock file, meta.properties, probe of engine and I/O mode
//	func (d *Dir) OpenLog(topic string, partition int32, o LogOptions) (*Log, error) // creates or recovers topic-partition/
//	func (d *Dir) Close() error      // drains, flushes, cuts files to size, producer snapshots, clean-shutdown marker
//	func (d *Dir) Err() error        // why the dir is offline, nil if it is not
//	func (d *Dir) Engine() string; IO() string; Path() string; Usage() (totalBytes, usableBytes int64)
//	func (d *Dir) Stats() DirStats   // counters for metrics
//	func (d *Dir) Orphans(known func(topic string, partition int32, id [16]byte) bool) ([]string, error)
//	                                 // partition dirs the metadata does not know: renamed aside (NAME.orphan-...), never deleted
//
//	// Append assigns offsets to one validated batch, patches base offset and leader epoch into its copy,
//	// checks and updates producer state, and hands it to the writer. b is not kept. Any goroutine; takes the log's
//	// mutex for microseconds; never waits for the disk (ErrNoSpace / ErrDirOffline come at once).
//	func (l *Log) Append(b batch.Batch, leaderEpoch int32) (AppendInfo, error)
//	// AppendBuilt appends control or internal batches likewise: same function, no separate path.
//
//	// Read appends to dst the ranges of batches from the one that holds offset on, at most maxBytes (a range may end
//	// inside a batch), never past the batch that ends before upTo. If minOne, the first batch comes whole whatever its
//	// size. offset == upTo: no ranges, no error. With block false it never waits for the disk: ErrWouldBlock.
//	func (l *Log) Read(dst []Range, offset int64, maxBytes int, upTo int64, minOne, block bool) ([]Range, error)
//	// ReadBatches calls f with each whole batch from offset up to upTo (blocking; for coordinators, tools, recovery).
//	func (l *Log) ReadBatches(offset, upTo int64, f func(batch.Batch) error) error
//
//	func (l *Log) StartOffset() int64; EndOffset() int64; DurableOffset() int64   // atomics, any goroutine
//	func (l *Log) LeaderEpoch() int32              // newest epoch in the epoch cache, -1 if none
//	func (l *Log) AssignLeaderEpoch(epoch int32) error  // starts an epoch at the end offset; written to leader-epoch-checkpoint
//	func (l *Log) EndOffsetForEpoch(epoch int32) (foundEpoch int32, endOffset int64) // largest epoch <= asked; -1,-1 if none
//	func (l *Log) OffsetForTimestamp(ts int64) (TimestampOffset, error)  // record granularity; blocking
//	func (l *Log) MaxTimestamp() (TimestampOffset, error)                // blocking
//	func (l *Log) EpochForOffset(offset int64) int32
//	func (l *Log) AdvanceStartOffset(offset int64) error   // DeleteRecords; durable when it returns; blocking
//	func (l *Log) Truncate(offset int64) error              // drops everything from offset on; blocking
//	func (l *Log) Producers() []ProducerInfo
//	func (l *Log) Size() int64                              // bytes in segments
//	func (l *Log) SetConfig(c LogConfig)
//	func (l *Log) ApplyRetention() (segments int, err error) // one idempotent pass; also run by the dir's housekeeping
//	func (l *Log) Delete() error                            // renames aside, then deletes; Append and Read answer ErrClosed at once
var _ batch.Batch
