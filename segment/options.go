package segment

import (
	"log/slog"
	"time"
)

// Durability says when an appended batch counts as written.
type Durability int8

const (
	Flush      Durability = iota // on disk (default)
	Replicated                   // in memory of every in-sync replica; with one replica the same as Flush
	Async                        // in the leader's memory
)

// DirOptions configures one log dir.
type DirOptions struct {
	Path                   string
	NodeID                 int32
	ClusterID              string
	Engine                 string // "auto" | "ring" | "pwritev2"
	IO                     string // "auto" | "direct" | "buffered"
	SlabBytes              int64  // budget for slabs, bytes; 0: 256 MiB
	Now                    func() time.Time
	Logger                 *slog.Logger
	RetentionCheckInterval time.Duration // 0: 5 minutes; negative: never
	ScrubBytesPerSecond    int64         // how fast sealed segments are read again; 0: never
	ScrubInterval          time.Duration // from the begin of one pass over them to the next; 0: 7 days
	RecoveryThreads        int           // logs with much to read that are recovered at once; 0: number of CPUs
	CheckpointBytes        int64         // appended to a log between recovery points, bytes; twice that to all logs; 0: 64 MiB
	Dirs                   int           // log dirs of the process, which share its open files; 0: one
	LivelyLogs             int           // with an open active segment at once; 0: by the process's limit of open files
	Disk                   Disk          // nil: the real one
	Commit                 string        // "auto" | "direct" | "journal": how new bytes become durable; "": auto
	JournalBytes           int64         // of the largest file of the commit journal; 0: 64 MiB, less on a small file system
	// OnOffline is called once, after every log's OnFailed, when the dir can no longer be written. Any goroutine; nil: nobody.
	OnOffline func(error)
	// Burst is told before and after the OnDurable calls of writes that were completed together, on the writer goroutine:
	// whom these wake may be woken once, at the end. nil: nobody.
	Burst interface {
		Hold()
		Release()
	}
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
	Compact              bool  // cleanup.policy has compact; the next five are for package compact
	MinDirtyRatio        float64
	MinCompactionLagMs   int64
	MaxCompactionLagMs   int64
	DeleteRetentionMs    int64
	CompressionLevels    [5]int // by codec, of what is compressed again; see batch.DefaultLevel
	FlushMessages        int64
	FlushMs              int64
	FileDeleteDelayMs    int64
	Preallocate          bool // allocate segments whole instead of in steps
	KeepsNodeGoing       bool // metadata and offsets: on a full disk it may take the reserve
	Durability           Durability
	ProducerExpirationMs int64
}

// LogOptions opens one log.
type LogOptions struct {
	TopicID [16]byte
	Config  LogConfig
	// OnDurable is called on the writer goroutine after a write (or, with Async, on the appending
	// goroutine after the append, and by SetConfig when it makes a log Async): every record below
	// offset counts as written. Offsets never go
	// back as long as, with Async, the caller appends to a log from one goroutine at a time. It must
	// not block and must not call into the log's append path.
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
// The holder calls Ref.Release exactly once.
type Range struct {
	Mem []byte // nil: file range
	Fd  int    // never 0 for a file range
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
