package segment

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A log that was not appended to for a while rests: it holds no open file, no map, no slab and no preallocated space, and
// looks as it would after a clean stop. The next append opens its files again (activate). When very many logs are
// appended to, those that were not for longest rest sooner, so that the process keeps within its limit of open files.

// idleFiles is how long after its last append a log rests.
const idleFiles = time.Minute

// lively is the logs whose active segment is open: the ones housekeeping has to look after each second.
type lively struct {
	most int // there are to be at once

	mu   sync.Mutex
	logs map[*Log]struct{}
}

// add enters a log and says whether there are so many that others should rest. Under Log.mu.
func (v *lively) add(l *Log) (crowded bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.logs[l] = struct{}{}
	return len(v.logs) > v.most*9/10
}

func (v *lively) remove(l *Log) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.logs, l)
}

func (v *lively) list() []*Log {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := make([]*Log, 0, len(v.logs))
	for l := range v.logs {
		out = append(out, l)
	}
	return out
}

// livelyShare of the open files the process may have go to active segments, and readShare to files open for
// reading; the rest is for connections.
const (
	livelyShare = 0.6
	readShare   = 0.2
	leastLively = 16
)

// fileLimits is how many logs may be lively, and how many files open for reading, with dirs log dirs.
func fileLimits(dirs int) (logs, reading int) {
	logs, reading = math.MaxInt32, defaultOpenFiles
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) == nil && r.Cur < math.MaxInt32 {
		share := float64(r.Cur) / float64(max(dirs, 1))
		logs = max(int(share*livelyShare), leastLively)
		reading = min(reading, max(int(share*readShare), leastLively))
	}
	return logs, reading
}

// LivelyLogs is how many logs of the process can have their files open for appending at once, in all of its log dirs
// together or, with the number of dirs, in each.
func LivelyLogs(dirs int) int {
	logs, _ := fileLimits(dirs)
	return logs
}

// enliven notes that the active segment was opened. Under l.mu.
func (l *Log) enliven() {
	l.appendedMs = l.dir.nowMs()
	if l.dir.lively.add(l) {
		l.dir.house.ring()
	}
}

// relieve has the logs rest that were not appended to for longest, if too many are lively.
func (d *Dir) relieve() {
	logs := d.lively.list()
	excess := len(logs) - d.lively.most*8/10
	if len(logs) <= d.lively.most*9/10 {
		return
	}
	type aged struct {
		log *Log
		at  int64
	}
	all := make([]aged, len(logs))
	for i, l := range logs {
		l.mu.Lock()
		all[i] = aged{l, l.appendedMs}
		l.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b aged) int { return cmp.Compare(a.at, b.at) })
	for _, a := range all {
		if excess <= 0 {
			return
		}
		a.log.mu.Lock()
		if a.log.rest() {
			excess--
		}
		a.log.mu.Unlock()
	}
	d.rounds.request() // what is in the journal alone keeps a log from resting
}

// restless says that something of the log is under way, or not on the disk in its own files. Under l.mu.
func (l *Log) restless(seg *segment) bool {
	x := seg.indexes.Load()
	return l.closed || l.closing || l.cutting || l.swapping || l.queued || l.spillQueued || l.inFlight || l.writing ||
		l.pending != nil || l.preparing || l.unsettled || l.durable.Load() < l.end.Load() || l.firstUnflushed() != nil ||
		!seg.named || seg.extending || seg.growing || x == nil || len(seg.waiting) > 0 ||
		len(l.segments) > 1 && !l.segments[len(l.segments)-2].sealed
}

// rest closes the files of the active segment, if nothing keeps it from that. Under l.mu.
func (l *Log) rest() bool {
	seg := l.active()
	if seg == nil || seg.out == nil {
		if seg != nil && seg.resting {
			l.dir.lively.remove(l)
		}
		return false
	}
	if l.restless(seg) {
		return false
	}
	if err := l.dir.disk.Truncate(seg.out.fd, seg.size); err != nil {
		l.dir.log.Warn("idle segment not cut to size", "file", seg.path+logSuffix, "err", err)
		return false
	}
	x := seg.indexes.Load()
	if seg.maxTimestamp >= 0 {
		_ = x.times.Append(seg.maxTimestamp, seg.maxTimestampAt) // a full index merely lacks its last entry
	}
	// What is not sealed is cut when it is opened.
	if err := errors.Join(x.offsets.Seal(), x.times.Seal()); err != nil {
		l.dir.log.Warn("index of an idle segment not cut to size", "file", seg.path, "err", err)
	}
	x.offsets.Release()
	x.times.Release()
	seg.indexes.Store(nil)
	seg.closeOut()
	seg.closeHandle()
	seg.allocated, seg.resting = seg.size, true
	if l.prepared != nil {
		l.prepared.discard(l.dir.disk)
		l.prepared = nil
	}
	l.tail.drop()
	l.tail.slabs = nil
	l.marks, l.points = markRing{}, pointRing{}
	l.dir.lively.remove(l)
	l.dir.stats.rests.Add(1)
	return true
}

// outOfFiles turns the lack of file descriptors into ErrBusy, and has other logs give up theirs.
func (l *Log) outOfFiles(err error) error {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		l.dir.house.ring()
		return ErrBusy
	}
	return err
}
