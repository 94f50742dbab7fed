package crashimages

import (
	"errors"
	"fmt"
	"hash/crc64"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"millrace/segment"
	"millrace/segment/batch"
)

// state is what a recovered log shows.
type state struct {
	start, end int64
	epoch      int64
	batches    []found
	producers  []segment.ProducerInfo
}

type found struct {
	base, last int64
	sum        uint64
	producer   int64
	sequence   int32
}

func (s *state) has(b *Batch) bool {
	i, ok := slices.BinarySearchFunc(s.batches, b.Base, func(f found, base int64) int { return int(f.base - base) })
	return ok && s.batches[i].sum == b.Sum
}

var crcTable = crc64.MakeTable(crc64.ECMA)

// sum is over a batch but for base offset and leader epoch, which the log sets.
func sum(b batch.Batch) uint64 {
	return crc64.Update(crc64.Checksum(b[8:12], crcTable), crcTable, b[16:])
}

func dirOptions(path string, disk segment.Disk, commit string) segment.DirOptions {
	return segment.DirOptions{
		Path: path, NodeID: 1, ClusterID: "cluster", Engine: "pwritev2", IO: "buffered", SlabBytes: 1 << 20,
		Logger: slog.New(slog.DiscardHandler), RetentionCheckInterval: -1, RecoveryThreads: 1, Disk: disk,
		CheckpointBytes: 6000, Commit: commit, JournalBytes: 16 << 10,
		Now: func() time.Time { return time.UnixMilli(1_700_000_000_000) },
	}
}

// recovered is a dir with its logs after a start.
type recovered struct {
	dir    *segment.Dir
	logs   map[*LogFacts]*segment.Log
	states map[*LogFacts]*state

	mu      sync.Mutex
	durable map[*LogFacts]int64
	moved   sync.Cond
}

// settle waits until all of a log is durable.
func (r *recovered) settle(f *LogFacts) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.durable[f] < r.logs[f].EndOffset() {
		if err := r.dir.Err(); err != nil {
			return err
		}
		r.moved.Wait()
	}
	return nil
}

// recover starts as a broker does at a position: directories that the metadata does not know are set aside, then the logs
// are opened. durable is called for what is appended later.
func (f *Facts) recover(path string, disk segment.Disk, at int, durable func(*LogFacts, int64)) (*recovered, error) {
	for _, l := range f.Logs {
		if l.gone(at) {
			if err := f.mustBeGone(path, l, at); err != nil {
				return nil, err
			}
		}
	}
	d, err := segment.OpenDir(dirOptions(path, disk, f.Commit))
	if err != nil {
		return nil, fmt.Errorf("boot fails: %w", err)
	}
	r := &recovered{dir: d, logs: map[*LogFacts]*segment.Log{}, states: map[*LogFacts]*state{}, durable: map[*LogFacts]int64{}}
	r.moved.L = &r.mu
	_, err = d.Orphans(func(topic string, _ int32, id [16]byte) bool {
		l := f.living(topic, at)
		return l != nil && (id == [16]byte{} || id == l.ID)
	})
	if err != nil {
		return r, fmt.Errorf("boot fails: %w", err)
	}
	for _, l := range f.Logs {
		if !l.lives(at) || f.living(l.Topic, at) != l {
			continue
		}
		log, err := d.OpenLog(l.Topic, 0, segment.LogOptions{TopicID: l.ID, Config: l.Config,
			OnDurable: func(o int64) {
				if durable != nil {
					durable(l, o)
				}
				r.mu.Lock()
				defer r.mu.Unlock()
				r.durable[l] = o
				r.moved.Broadcast()
			},
			OnFailed: func(error) { r.moved.Broadcast() },
		})
		if err != nil {
			return r, fmt.Errorf("boot fails: %w", err)
		}
		r.logs[l] = log
		if r.states[l], err = look(log); err != nil {
			return r, fmt.Errorf("%s: %w", l.Topic, err)
		}
	}
	return r, nil
}

// living is the newest log of a name that the metadata knows at a position.
func (f *Facts) living(topic string, at int) (found *LogFacts) {
	for _, l := range f.Logs {
		if l.Topic == topic && l.lives(at) {
			found = l
		}
	}
	return found
}

// mustBeGone looks for the directory of a log that was deleted, unless a later log has its name.
func (f *Facts) mustBeGone(path string, gone *LogFacts, at int) error {
	for _, l := range f.Logs {
		if l.Topic == gone.Topic && l.Created <= at && !l.gone(at) {
			return nil
		}
	}
	if _, err := os.Lstat(filepath.Join(path, gone.Topic+"-0")); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: deleted, acknowledged so, and there again (%v)", gone.Topic, err)
	}
	return nil
}

// look reads all that a log shows, and checks that it hangs together.
func look(l *segment.Log) (*state, error) {
	s := &state{start: l.StartOffset(), end: l.EndOffset(), epoch: int64(l.LeaderEpoch()), producers: l.Producers()}
	slices.SortFunc(s.producers, func(a, b segment.ProducerInfo) int { return int(a.ProducerID - b.ProducerID) })
	if d := l.DurableOffset(); d != s.end {
		return s, fmt.Errorf("durable up to %d, ends at %d", d, s.end)
	}
	next := s.start
	err := l.ReadBatches(s.start, s.end, func(b batch.Batch) error {
		if !b.ValidCRC() {
			return fmt.Errorf("batch at %d is damaged", b.BaseOffset())
		}
		if b.BaseOffset() != next && (b.BaseOffset() > next || len(s.batches) > 0) {
			return fmt.Errorf("batch at %d, expected at %d", b.BaseOffset(), next)
		}
		next = b.NextOffset()
		s.batches = append(s.batches, found{b.BaseOffset(), b.LastOffset(), sum(b), b.ProducerID(), b.LastSequence()})
		if e := l.EpochForOffset(b.LastOffset()); e != b.LeaderEpoch() {
			return fmt.Errorf("batch at %d is of leader epoch %d, the log says %d", b.BaseOffset(), b.LeaderEpoch(), e)
		}
		return nil
	})
	if err != nil {
		return s, fmt.Errorf("read from %d to %d: %w", s.start, s.end, err)
	}
	if next < s.end {
		return s, fmt.Errorf("batches end at %d, the log at %d", next, s.end)
	}
	last := map[int64]int32{}
	for _, b := range s.batches {
		if b.producer >= 0 {
			last[b.producer] = b.sequence
		}
	}
	for _, p := range s.producers {
		if want, ok := last[p.ProducerID]; ok && p.LastSequence != want {
			return s, fmt.Errorf("producer %d is at sequence %d, its last batch at %d", p.ProducerID, p.LastSequence, want)
		}
		delete(last, p.ProducerID)
	}
	if len(last) > 0 {
		return s, fmt.Errorf("producers not known: %v", last)
	}
	return s, nil
}

// check compares what a log shows after a crash at a position with the facts.
func (f *LogFacts) check(s *state, at int) error {
	least, most := bounds(f.Starts, at, 0, f.DropsUpTo)
	if s.start < least || s.start > most {
		return fmt.Errorf("%s: starts at %d, expected between %d and %d", f.Topic, s.start, least, most)
	}
	if least := f.epoch(at, s.end); s.epoch < least && len(s.batches) > 0 {
		return fmt.Errorf("%s: at leader epoch %d, %d was assigned", f.Topic, s.epoch, least)
	}
	known := map[found]bool{}
	for _, b := range f.Batches {
		if b.may(at) {
			known[found{b.Base, b.Last, b.Sum, 0, 0}] = true
		}
		if b.must(at) && b.Last >= s.start && !s.has(b) {
			return fmt.Errorf("%s: batch at %d to %d, acknowledged at %d, is lost; the log is %d to %d",
				f.Topic, b.Base, b.Last, b.Durable, s.start, s.end)
		}
	}
	for _, b := range s.batches {
		if !known[found{b.base, b.last, b.sum, 0, 0}] {
			return fmt.Errorf("%s: batch at %d to %d must not be there", f.Topic, b.base, b.last)
		}
	}
	return nil
}

// same compares two looks at a log, of which the second may have more batches.
func same(a, b *state, appended int) error {
	if a.start != b.start || len(b.batches) != len(a.batches)+appended || !slices.Equal(a.batches, b.batches[:len(a.batches)]) {
		return fmt.Errorf("first %d to %d with %d batches, then %d to %d with %d, %d appended between",
			a.start, a.end, len(a.batches), b.start, b.end, len(b.batches), appended)
	}
	if appended == 0 && (a.end != b.end || a.epoch != b.epoch || !slices.Equal(a.producers, b.producers)) {
		return fmt.Errorf("first end %d, epoch %d, producers %v, then %d, %d, %v", a.end, a.epoch, a.producers, b.end, b.epoch, b.producers)
	}
	return nil
}
