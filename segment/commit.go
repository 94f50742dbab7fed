package segment

// How far a segment of a log is:
//
//	0 ... flushed ... written ... committed ... size
//	      in the file, on the disk
//	                  in the file, maybe on the disk: all of it is in the journal as well, or the log is Async
//	                              durable by the journal alone; in slabs for readers
//	                                            appended, not committed
//
// A commit advances committed: by a durable write of the segment itself, which advances written too, or by the journal. A
// spill advances written to committed. A checkpoint (checkpoint.go) advances flushed to written. For an Async log nothing has
// to happen for bytes to count as committed.

// form is how new bytes of a log are committed, or what else is done with its segment file.
type form int8

const (
	noCommit   form = iota
	viaSegment      // one durable write to the segment
	viaJournal      // part of a turn of the journal
	flushOnly       // an Async log is flushed
	spilling        // committed bytes are written to the segment, not durably
)

// What DirOptions.Commit can be.
const (
	commitAuto    = "auto"
	commitDirect  = "direct"
	commitJournal = "journal"
)

const (
	// directBytes is from how many new bytes on a log is worth a durable write of its own. Such a write costs a flush and
	// the conversion of the extent it falls in, which many at a time share; the journal costs a copy and a second write.
	// Measured with 16 partitions and 2 GB: 0.8 broker CPU s/GB from 64 KiB on, 1.0 from 256 KiB, 1.2 with the journal only.
	directBytes = 64 << 10
	// spillBytes is how many bytes that only the journal has are worth a write to the segment.
	spillBytes = 256 << 10
	// maxSpill is the most of one spill, so that it does not keep the disk from commits.
	maxSpill = 1 << 20
)

// commitForm says how the log's next bytes are to be committed now; noCommit if there is nothing to commit, or if it
// has to wait for what is under way. Under Log.mu, on the writer.
func (w *writer) commitForm(l *Log) form {
	if l.closed || l.cutting || l.inFlight || w.dir.offline() != nil {
		return noCommit
	}
	if l.cfg.Durability == Async {
		l.commitAsync()
	}
	if l.flushTarget > l.durable.Load() {
		if seg := l.firstUnspilled(); seg != nil && seg.writtenOffset < l.flushTarget {
			return noCommit // its spill comes first
		}
		if l.first(func(s *segment) bool { return s.flushed < s.written }) != nil {
			return flushOnly
		}
		l.durable.Store(l.flushTarget) // a checkpoint has been quicker
	}
	seg := l.firstUncommitted()
	if seg == nil || !seg.named {
		return noCommit
	}
	pending, mode := seg.size-seg.committed, w.dir.opts.Commit
	if mode == commitJournal || mode == commitAuto && pending < directBytes {
		if w.turnTakes(l, pending) {
			return viaJournal
		}
		w.dir.rounds.ask() // for a journal file
	}
	if l.writing || seg.committed-seg.written > maxSpill {
		return noCommit // after the spill
	}
	return viaSegment
}

// commitAsync counts everything appended as committed.
func (l *Log) commitAsync() {
	for i := len(l.segments) - 1; i >= 0 && !l.segments[i].sealed; i-- {
		s := l.segments[i]
		s.committed, s.committedOffset = s.size, s.nextOffset
	}
	l.marks.reset()
}

// spillDue says that committed bytes should be written to their segment now. Under Log.mu.
func (l *Log) spillDue() bool {
	if l.closed || l.writing || l.cutting && !l.emptying || l.dir.offline() != nil {
		return false
	}
	seg := l.firstUnspilled()
	if seg == nil || !seg.named {
		return false
	}
	debt := seg.committed - seg.written
	return debt >= spillBytes || debt >= l.tail.firstFull(seg) || seg.rolled || l.closing || l.emptying ||
		l.cfg.Durability == Async ||
		l.flushTarget > max(l.durable.Load(), seg.writtenOffset) ||
		l.pending != nil && l.pending.offset > seg.writtenOffset
}

// first returns the oldest segment that is not sealed and has what is asked for.
func (l *Log) first(has func(s *segment) bool) (found *segment) {
	for i := len(l.segments) - 1; i >= 0 && !l.segments[i].sealed; i-- {
		if s := l.segments[i]; has(s) {
			found = s
		}
	}
	return found
}

// firstUncommitted is the oldest segment with bytes that are not committed.
func (l *Log) firstUncommitted() *segment {
	return l.first(func(s *segment) bool { return s.committed < s.size })
}

// firstUnspilled is the oldest segment with committed bytes that are not in its file.
func (l *Log) firstUnspilled() *segment {
	return l.first(func(s *segment) bool { return s.written < s.committed })
}

// firstUnwritten is the oldest segment with bytes that are not in its file.
func (l *Log) firstUnwritten() *segment {
	return l.first(func(s *segment) bool { return s.written < s.size })
}

// firstUnflushed is the oldest segment with bytes that are not known to be on the disk in its own file.
func (l *Log) firstUnflushed() *segment {
	return l.first(func(s *segment) bool { return s.flushed < s.size })
}

// committedTo advances the log to a batch boundary whose bytes are durable. Under Log.mu.
func (l *Log) committedTo(m mark) {
	if m.pos > m.seg.committed { // unless the log became Async meanwhile
		m.seg.committed, m.seg.committedOffset = m.pos, m.offset
	}
	l.marks.written(m)
	l.points.add(m)
	l.durable.Store(m.offset)
}
