package segment

import (
	"encoding/binary"
	"fmt"
	"math"

	"millrace/index"
	"millrace/segment/batch"
)

// Append assigns offsets to one validated batch, patches base offset and leader epoch into its copy, checks and
// updates producer state, and hands it to the writer. b is not changed and not kept. Any goroutine; it takes the log's
// mutex for microseconds and does not wait for writes: ErrNoSpace, ErrBusy and ErrDirOffline come at once. The
// first append after start creates or opens the active segment's files.
//
// When it returns nil the batch can be read, and OnDurable will tell when it counts as written.
func (l *Log) Append(b batch.Batch, leaderEpoch int32) (AppendInfo, error) {
	if len(b) < batch.HeaderSize || b.Size() != len(b) || b.LastOffsetDelta() < 0 {
		return AppendInfo{}, ErrInvalidBatch
	}
	l.mu.Lock()
	info, next, err := l.append(b, leaderEpoch)
	l.mu.Unlock()
	if next.ring {
		l.dir.writer.ring()
	}
	if next.durable {
		l.notifyDurable(info.LastOffset + 1)
	}
	return info, err
}

// afterAppend is what an append leaves to be done without the log's mutex. Waking the writer under it would wake it to wait
// for that mutex, which takes a detour through the scheduler that can be longer than a small write.
type afterAppend struct {
	ring    bool // the writer has something to do
	durable bool // the batch counts as durable already
}

func (l *Log) append(b batch.Batch, leaderEpoch int32) (info AppendInfo, next afterAppend, err error) {
	if err := l.writable(leaderEpoch); err != nil {
		return info, next, err
	}
	dup, err := l.producers.Check(b)
	if err != nil {
		return info, next, err
	}
	if dup != nil {
		return AppendInfo{
			BaseOffset: dup.BaseOffset, LastOffset: dup.LastOffset, LogStartOffset: l.start.Load(),
			AppendTimeMs: dup.TimestampMs, Duplicate: true,
		}, next, nil
	}
	now := l.dir.nowMs()
	base := l.end.Load()
	last := base + int64(b.LastOffsetDelta())
	seg, err := l.segmentFor(b, last, now)
	if err != nil {
		return info, next, l.outOfFiles(err)
	}
	if !l.tail.reserve(seg, len(b)) {
		l.dir.wantMemory()
		return info, next, ErrBusy
	}
	l.copyIn(seg, b, base, leaderEpoch)
	l.account(seg, b, base, last, leaderEpoch, now)
	next = l.hand(seg)
	info = AppendInfo{BaseOffset: base, LastOffset: last, LogStartOffset: l.start.Load(), AppendTimeMs: -1}
	if b.IsLogAppendTime() {
		info.AppendTimeMs = b.MaxTimestamp()
	}
	return info, next, nil
}

// writable says why the log takes no batch now. It waits while the log is being truncated.
func (l *Log) writable(leaderEpoch int32) error {
	for l.cutting && !l.closed {
		l.idle.Wait()
	}
	if l.closed || l.closing {
		return ErrClosed
	}
	if leaderEpoch < l.epochs.latest() {
		return fmt.Errorf("append to %s: leader epoch %d after %d", l.path, leaderEpoch, l.epochs.latest())
	}
	return l.dir.offline()
}

// copyIn copies the batch to the tail with base offset and leader epoch in place; the CRC does not cover them.
func (l *Log) copyIn(seg *segment, b batch.Batch, base int64, leaderEpoch int32) {
	var head [16]byte
	binary.BigEndian.PutUint64(head[:], uint64(base))
	copy(head[8:12], b[8:12])
	binary.BigEndian.PutUint32(head[12:], uint32(leaderEpoch))
	l.tail.write(seg, seg.size, head[:])
	l.tail.write(seg, seg.size+int64(len(head)), b[len(head):])
}

// account enters an appended batch everywhere: indexes, producers, epochs, sizes, counters.
func (l *Log) account(seg *segment, b batch.Batch, base, last int64, leaderEpoch int32, now int64) {
	pos := seg.size
	if seg.size == 0 {
		seg.firstTimestamp = b.MaxTimestamp()
		seg.baseEpoch = leaderEpoch
	}
	if ts := b.MaxTimestamp(); ts > seg.maxTimestamp {
		seg.maxTimestamp, seg.maxTimestampAt = ts, last
	}
	halfFull := seg.addIndexEntry(last, pos, len(b), l.cfg.IndexIntervalBytes)
	if halfFull && !seg.growAsked && seg.indexBytes < maxIndexBytes(&l.cfg) {
		seg.growAsked = true
		l.dir.keeper.soon(func() { l.growIndexes(seg) })
	}
	seg.size += int64(len(b))
	seg.nextOffset = last + 1
	if leaderEpoch > l.epochs.latest() {
		l.epochs.assign(leaderEpoch, base)
		l.dir.keeper.later(l.saveEpochs)
	}
	if done, ok := l.producers.Update(b, base, now); ok && done.Aborted {
		l.abortedTxn(seg, done.ProducerID, done.FirstOffset, done.LastOffset)
	}
	l.marks.add(mark{seg, seg.size, last + 1})
	l.end.Store(last + 1)
	l.appendedMs = now
	l.sinceCheckpoint += int64(len(b))
	l.sinceSnapshot += int64(len(b))
	if l.cfg.Durability == Async {
		l.countUnflushed(int64(b.Count()), now)
	}
	l.extendAhead(seg)
	if l.dir.checkpointDue(len(b)) || l.sinceCheckpoint >= l.dir.opts.CheckpointBytes && l.pending == nil {
		l.dir.rounds.request()
	}
	l.dir.stats.appendedBatches.Add(1)
	l.dir.stats.appendedBytes.Add(int64(len(b)))
}

// addIndexEntry enters the batch at pos into the sparse indexes if enough bytes have passed since the last entry, as
// Kafka does: the offset index gets the batch's last offset and first position, the time index the largest timestamp
// of the segment so far. It says whether an index is half full.
func (s *segment) addIndexEntry(last, pos int64, size int, intervalBytes int32) (halfFull bool) {
	if s.bytesSinceIndex > int(intervalBytes) {
		e := indexEntry{last, uint32(pos), s.maxTimestamp, s.maxTimestampAt}
		x := s.indexes.Load()
		if x == nil || s.growing || x.offsets.Full() || x.times.Full() {
			s.waiting = append(s.waiting, e)
		} else {
			x.add(e)
			halfFull = x.offsets.Entries()*8*2 > s.indexBytes
		}
		s.bytesSinceIndex = 0
	}
	s.bytesSinceIndex += size
	return halfFull
}

// add enters an entry. An index that cannot take it is merely sparser: look-ups start further back.
func (x *indexes) add(e indexEntry) {
	// The errors left are "full", which rolls the segment with the next batch, and a failed page.
	_ = x.offsets.Append(e.lastOffset, e.pos)
	if e.maxTs >= 0 {
		_ = x.times.Append(e.maxTs, e.maxTsAt)
	}
}

// full says that the segment has to roll because its indexes are full at their largest size.
func (s *segment) full(c *LogConfig) bool {
	x := s.indexes.Load()
	if x == nil || s.growing {
		return len(s.waiting)*8 >= maxIndexBytes(c)
	}
	return (x.offsets.Full() || x.times.Full()) && s.indexBytes >= maxIndexBytes(c)
}

// maxIndexBytes is the size of the largest offset index a segment may need.
func maxIndexBytes(c *LogConfig) int {
	need := (int64(c.SegmentBytes)/max(int64(c.IndexIntervalBytes), 1) + 2) * 8
	return int(max(min(need, int64(c.SegmentIndexBytes)), 8))
}

// abortedTxn enters an aborted transaction into the segment's transaction index.
func (l *Log) abortedTxn(seg *segment, producerID, first, last int64) {
	x, err := index.OpenTxn(seg.path+txnSuffix, seg.baseOffset)
	if err == nil {
		stable := l.end.Load()
		if open, ok := l.producers.FirstUnstableOffset(); ok {
			stable = open
		}
		err = x.Append(index.AbortedTxn{ProducerID: producerID, FirstOffset: first, LastOffset: last, LastStableOffset: stable})
	}
	if err != nil {
		l.dir.log.Error("transaction index not written; it is rebuilt at the next start", "file", seg.path+txnSuffix, "err", err)
	}
}

// hand sees to it that what was appended is written.
func (l *Log) hand(seg *segment) afterAppend {
	next := afterAppend{durable: l.cfg.Durability == Async}
	if l.mayWait(seg) {
		l.dir.lazy.add(l)
	} else {
		next.ring = l.handIn()
	}
	return next
}

// handIn puts the log on the writer's list unless it is there or will be looked at when the write under way is done. True:
// the writer has to be rung.
func (l *Log) handIn() bool {
	if l.queued || l.inFlight {
		return false
	}
	l.queued = true
	l.dir.writer.push(l)
	return true
}

// submit hands the log in and rings.
func (l *Log) submit() {
	if l.handIn() {
		l.dir.writer.ring()
	}
}

// countUnflushed asks for a flush when flush.messages is reached; flush.ms is watched by housekeeping.
func (l *Log) countUnflushed(records, now int64) {
	if l.unflushed == 0 {
		l.unflushedAt = now
	}
	l.unflushed += max(records, 1)
	if l.cfg.FlushMessages > 0 && l.unflushed >= l.cfg.FlushMessages {
		l.flushTarget, l.unflushed = l.end.Load(), 0
	}
}

// segmentFor returns the segment that takes b, rolled to if need be, with space on disk for it.
func (l *Log) segmentFor(b batch.Batch, last, now int64) (*segment, error) {
	size := int64(len(b))
	if size > int64(l.cfg.SegmentBytes) {
		return nil, fmt.Errorf("%w: %d of %d bytes", ErrBatchTooLarge, size, l.cfg.SegmentBytes)
	}
	seg := l.active()
	if seg != nil && l.mustRoll(seg, size, last, b.MaxTimestamp(), now) {
		if seg.out == nil { // right after a start; it is sealed through its open files
			if err := l.activate(seg); err != nil {
				return nil, err
			}
		}
		if err := l.roll(now); err != nil {
			return nil, err
		}
		seg = l.active()
	}
	if seg == nil {
		var err error
		if seg, err = l.newActive(now); err != nil {
			return nil, err
		}
	}
	if seg.out == nil {
		if err := l.activate(seg); err != nil {
			return nil, err
		}
	}
	if err := l.extend(seg, seg.size+size); err != nil {
		return nil, err
	}
	return seg, nil
}

// mustRoll is Kafka's LogSegment.shouldRoll.
func (l *Log) mustRoll(seg *segment, size, last, maxTimestamp, now int64) bool {
	if seg.size == 0 {
		return last-seg.baseOffset > math.MaxInt32
	}
	return seg.size+size > int64(l.cfg.SegmentBytes) ||
		l.waitedMs(seg, maxTimestamp, now) > l.cfg.SegmentMs-l.jitterMs ||
		seg.full(&l.cfg) ||
		last-seg.baseOffset > math.MaxInt32
}

// waitedMs is how long the segment has been open: by the timestamps of its first batch and the next one, or by the
// clock where batches have none.
func (l *Log) waitedMs(seg *segment, maxTimestamp, now int64) int64 {
	if seg.firstTimestamp >= 0 && maxTimestamp >= 0 {
		return maxTimestamp - seg.firstTimestamp
	}
	return now - seg.createdMs
}
