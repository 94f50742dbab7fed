package segment

import (
	"math/bits"
	"sync/atomic"
	"time"

	"millrace/segment/cold"
	"millrace/segment/slab"
)

// LatencyBuckets is how many buckets the write latency histogram has. Bucket i counts operations that took less than
// LatencyBound(i); the last one counts the rest.
const LatencyBuckets = 20

// LatencyBound is the upper bound of bucket i: 16 us, doubling.
func LatencyBound(i int) time.Duration { return 16 * time.Microsecond << i }

// histogram counts durations in buckets that double.
type histogram struct {
	buckets [LatencyBuckets]atomic.Int64
	sumNs   atomic.Int64
}

func (h *histogram) observe(d time.Duration) {
	i := bits.Len64(uint64(d / LatencyBound(0)))
	h.buckets[min(i, LatencyBuckets-1)].Add(1)
	h.sumNs.Add(int64(d))
}

// dirStats are the counters behind DirStats.
type dirStats struct {
	appendedBatches, appendedBytes atomic.Int64
	writes, writtenBytes, flushes  atomic.Int64
	inFlight                       atomic.Int64
	segmentsCreated, rolls, rests  atomic.Int64
	segmentsDeleted, noSpace       atomic.Int64
	slabReadBytes, fileReadBytes   atomic.Int64
	corruptReads, corruptRanges    atomic.Int64
	recoveredBytes, replayedBytes  atomic.Int64
	turns, turnLogs, turnBytes     atomic.Int64
	directCommits                  atomic.Int64
	spills, spilledBytes, rounds   atomic.Int64
	scrubbedBytes, scrubPasses     atomic.Int64
	scrubPassEndMs                 atomic.Int64
	latency                        histogram
}

// DirStats is a snapshot of a dir's counters since it was opened; bytes unless the name says otherwise.
type DirStats struct {
	Logs            int
	LivelyLogs      int   // with an open active segment
	Rests           int64 // of active segments that were closed
	AppendedBatches int64
	AppendedBytes   int64
	Writes          int64 // write operations; AppendedBatches/Writes is how well commits are grouped
	WrittenBytes    int64 // with the blocks written again
	Flushes         int64 // operations that were durable, or made what is before them durable
	QueuedLogs      int64 // logs waiting for the writer now
	InFlight        int64 // operations under way now
	SegmentsCreated int64
	SegmentRolls    int64
	SegmentsDeleted int64
	NoSpace         int64 // allocations refused by a full disk
	SlabReadBytes   int64 // read from memory
	FileReadBytes   int64 // handed out as file ranges
	CorruptReads    int64 // reads that met damage
	CorruptRanges   int64 // damaged ranges found at start and by scrubbing
	RecoveredBytes  int64 // read by recovery
	ReplayedBytes   int64 // taken from the commit journal at start
	JournalTurns    int64 // commits that went to the journal, each for one log or many
	JournalLogs     int64 // logs in them
	JournalBytes    int64 // with the padding
	DirectCommits   int64 // commits that went to a segment
	Spills          int64 // writes to segments of what the journal had
	SpilledBytes    int64
	Checkpoints     int64
	ScrubbedBytes   int64 // of sealed segments, held against their CRCs
	ScrubPasses     int64 // times that all of them were
	ScrubPassEndMs  int64 // when the last such pass ended, ms since the epoch; 0: none has
	Slabs           slab.Stats

	// WriteLatency counts operations by duration, see LatencyBound.
	WriteLatency      [LatencyBuckets]int64
	WriteLatencySumNs int64
}

// ColdStats counts what was read past the page cache.
type ColdStats = cold.Stats

// ReadColdStats reads the counters, which are of all dirs.
func ReadColdStats() ColdStats { return coldBlocks().Stats() }

// Stats reads the counters, each by itself.
func (d *Dir) Stats() DirStats {
	s := &d.stats
	out := DirStats{
		AppendedBatches: s.appendedBatches.Load(),
		AppendedBytes:   s.appendedBytes.Load(),
		Writes:          s.writes.Load(),
		WrittenBytes:    s.writtenBytes.Load(),
		Flushes:         s.flushes.Load(),
		InFlight:        s.inFlight.Load(),
		SegmentsCreated: s.segmentsCreated.Load(),
		SegmentRolls:    s.rolls.Load(),
		SegmentsDeleted: s.segmentsDeleted.Load(),
		NoSpace:         s.noSpace.Load(),
		SlabReadBytes:   s.slabReadBytes.Load(),
		FileReadBytes:   s.fileReadBytes.Load(),
		CorruptReads:    s.corruptReads.Load(),
		CorruptRanges:   s.corruptRanges.Load(),
		RecoveredBytes:  s.recoveredBytes.Load(),
		ReplayedBytes:   s.replayedBytes.Load(),
		JournalTurns:    s.turns.Load(),
		JournalLogs:     s.turnLogs.Load(),
		JournalBytes:    s.turnBytes.Load(),
		DirectCommits:   s.directCommits.Load(),
		Spills:          s.spills.Load(),
		SpilledBytes:    s.spilledBytes.Load(),
		Checkpoints:     s.rounds.Load(),
		ScrubbedBytes:   s.scrubbedBytes.Load(),
		ScrubPasses:     s.scrubPasses.Load(),
		ScrubPassEndMs:  s.scrubPassEndMs.Load(),
		Slabs:           d.pool.Stats(),

		WriteLatencySumNs: s.latency.sumNs.Load(),
	}
	for i := range out.WriteLatency {
		out.WriteLatency[i] = s.latency.buckets[i].Load()
	}
	d.writer.mu.Lock()
	out.QueuedLogs = int64(len(d.writer.pending))
	d.writer.mu.Unlock()
	out.LivelyLogs, out.Rests = len(d.lively.list()), s.rests.Load()
	d.mu.Lock()
	out.Logs = len(d.logs)
	d.mu.Unlock()
	return out
}
