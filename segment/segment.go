package segment

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"millrace/index"
	"millrace/segment/batch"
)

// Suffixes of a segment's files and of files on their way out.
const (
	logSuffix       = ".log"
	offsetSuffix    = ".index"
	timeSuffix      = ".timeindex"
	txnSuffix       = ".txnindex"
	snapshotSuffix  = ".snapshot"
	deletedSuffix   = ".deleted"
	preparedLogName = "prepared.log" + deletedSuffix // Kafka, too, removes *.deleted at start
)

// segment is one .log file with its indexes. Fields are guarded by Log.mu unless they are atomic or said to be
// immutable.
type segment struct {
	baseOffset int64  // immutable
	path       string // directory and base name without suffix; changes only when the log is deleted

	// How far it is, bytes; see commit.go. flushed <= written <= committed <= size <= allocated (once active).
	flushed, written, committed, size int64
	allocated                         int64
	nextOffset                        int64 // one past the last offset in it; baseOffset if empty
	committedOffset                   int64 // one past the last offset below committed
	writtenOffset                     int64 // one past an offset below written: the last one, or one before
	baseEpoch                         int32 // of the first batch; for looking at, -1 unknown

	firstTimestamp int64 // max timestamp of the first batch, -1: unknown or empty
	maxTimestamp   int64 // -1: none
	maxTimestampAt int64 // last offset of the batch that has it
	timesKnown     bool  // the three above are valid
	createdMs      int64

	bytesSinceIndex int

	// out is the file opened for writing while the segment is active or rolled and not sealed, else nil.
	out *file
	// named: the file has its final name and its directory entry is on the disk, so that writes may begin.
	named bool
	// rolled: no longer active; sealing: handed to the keeper; sealed: cut to size, indexes sealed, on the disk.
	rolled, sealing, sealed bool
	// resting: the active segment, but its files are as those of a sealed one, cut to size and opened for readers on
	// demand; activate ends it. mending: its indexes are being rebuilt, which activate waits for.
	resting, mending bool
	// extending: the keeper is allocating the next step.
	extending bool
	// dropped: retention or truncation took it out of the log.
	dropped bool
	// replaced: compaction put another segment in its place, under the same name. Its files are not opened any more; a
	// reader starts over. Set with openMu and Log.mu held.
	replaced atomic.Bool
	// warned: timestamps in the future were logged.
	warned bool
	// unread: taken over as it was found. Its last batch may not be the one before the next segment, if files were lost.
	unread bool
	// unsynced: recovery has found something in it that may not be on the disk, or has cut it.
	unsynced bool
	// reported: damage that a read met was logged.
	reported atomic.Bool

	// handle is the file opened for reading, nil if it is not open. Swapped out by the handle cache.
	handle atomic.Pointer[file]

	// indexes is nil until they are made or first used. waiting holds entries meanwhile (under Log.mu).
	indexes    atomic.Pointer[indexes]
	openMu     sync.Mutex // serialises opening indexes of a sealed segment and its handle
	waiting    []indexEntry
	indexBytes int  // allocated for the offset index
	growAsked  bool // the keeper was asked to make larger indexes
	growing    bool // it is doing so; entries go to waiting

	// bad are damaged ranges, ascending; written during recovery only. scrubbed replaces them once there are more: the
	// list is not changed, but replaced by a longer one, under Log.mu, and read without.
	bad      []badRange
	scrubbed atomic.Pointer[[]badRange]
}

// indexes are the two sparse indexes of a segment.
type indexes struct {
	offsets *index.Offset
	times   *index.Time
}

// indexEntry is an entry that could not be entered yet.
type indexEntry struct {
	lastOffset int64
	pos        uint32
	maxTs      int64
	maxTsAt    int64
}

// badRange is a damaged piece of a segment: bytes [from, to) hold no valid batch, and with them are gone
// offsets [fromOffset, toOffset).
type badRange struct {
	from, to             int64
	fromOffset, toOffset int64
}

func newSegment(dir string, baseOffset int64) *segment {
	return &segment{
		baseOffset:      baseOffset,
		path:            filepath.Join(dir, baseName(baseOffset)),
		nextOffset:      baseOffset,
		committedOffset: baseOffset,
		writtenOffset:   baseOffset,
		baseEpoch:       -1,
		firstTimestamp:  -1,
		maxTimestamp:    -1,
		maxTimestampAt:  -1,
	}
}

// baseName is how Kafka names the files of a segment.
func baseName(baseOffset int64) string { return fmt.Sprintf("%020d", baseOffset) }

// open returns the file for reading, with a reference for the caller. If it is not open and block is false it
// answers ErrWouldBlock, since opening may have to read the directory.
func (s *segment) open(files *handleCache, block bool) (*file, error) {
	if f := s.handle.Load(); f != nil && f.tryRetain() {
		return f, nil
	}
	if !block {
		return nil, ErrWouldBlock
	}
	s.openMu.Lock()
	defer s.openMu.Unlock()
	if f := s.handle.Load(); f != nil && f.tryRetain() { // another was first
		return f, nil
	}
	if s.replaced.Load() {
		return nil, errReplaced
	}
	f, err := openFile(s.path+logSuffix, files.blocks)
	if err != nil {
		return nil, err
	}
	f.refs.Add(1) // one for the segment
	f.used.Store(true)
	s.handle.Store(f)
	files.add(s)
	return f, nil
}

// closeHandle gives up the segment's reference to its open file.
func (s *segment) closeHandle() {
	if f := s.handle.Swap(nil); f != nil {
		f.Release()
	}
}

// retainOut takes a reference to the file for writing, nil if it is not open. Under Log.mu.
func (s *segment) retainOut() *file {
	if s.out == nil || !s.out.tryRetain() {
		return nil
	}
	return s.out
}

// closeOut gives up the segment's reference to the file for writing. Under Log.mu.
func (s *segment) closeOut() {
	if s.out != nil {
		s.out.Release()
		s.out = nil
	}
}

// badRanges are the damaged ranges known now, ascending.
func (s *segment) badRanges() []badRange {
	if p := s.scrubbed.Load(); p != nil {
		return *p
	}
	return s.bad
}

// badAt returns the damaged range at or after pos, if there is one.
func (s *segment) badAt(pos int64) (badRange, bool) {
	for _, b := range s.badRanges() {
		if b.to > pos {
			return b, true
		}
	}
	return badRange{}, false
}

// endsBad says that the segment ends with a damaged range; then nothing is appended to it any more.
func (s *segment) endsBad() bool {
	n := len(s.bad)
	return n > 0 && s.bad[n-1].to >= s.size
}

// countTimestamp takes in the timestamp of a batch. One that compaction has emptied has none that a look-up could find.
func (s *segment) countTimestamp(b batch.Batch) {
	if ts := b.MaxTimestamp(); ts > s.maxTimestamp && b.Count() > 0 {
		s.maxTimestamp, s.maxTimestampAt = ts, b.LastOffset()
	}
}
