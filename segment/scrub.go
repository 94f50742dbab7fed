package segment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A disk may lose or change what it has stored, and nobody notices until it is read, or the copy that could have replaced
// it is gone as well. So sealed segments are read again now and then, at a bounded rate, and each batch is held against
// its CRC. Reading is direct where the file system can, so that the page cache keeps what clients want.
//
// A damaged piece becomes a badRange of its segment, as in recovery: reads end before it, an offset in it answers
// ErrCorrupt, and what is behind it is served. Nothing is changed on the disk. The ranges are forgotten by a restart and
// found again by the next pass, or as soon as a look-up meets them.

const (
	defaultScrubInterval = 7 * 24 * time.Hour
	// scrubDelay is how long after the start of the process the first pass begins, unless the interval is shorter.
	scrubDelay = time.Minute
)

// scrubber is the dir's goroutine that reads sealed segments.
type scrubber struct {
	dir            *Dir
	bytesPerSecond int64 // 0: it does nothing
	interval       time.Duration
	quit           chan struct{}
	wake           chan struct{} // capacity 1: there are suspects
	done           chan struct{}

	due time.Time // when what has been read so far may have been read

	mu       sync.Mutex
	suspects []suspect
}

// suspect is a segment in which a look-up met damage.
type suspect struct {
	log *Log
	seg *segment
}

func startScrubber(d *Dir) *scrubber {
	s := &scrubber{
		dir: d, bytesPerSecond: d.opts.ScrubBytesPerSecond, interval: d.opts.ScrubInterval,
		quit: make(chan struct{}), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if s.interval <= 0 {
		s.interval = defaultScrubInterval
	}
	go s.run()
	return s
}

func (s *scrubber) close() {
	close(s.quit)
	<-s.done
}

// suspect has a segment scrubbed soon. Any goroutine, with any lock held.
func (s *scrubber) suspect(l *Log, seg *segment) {
	if s.bytesPerSecond <= 0 {
		return
	}
	s.mu.Lock()
	s.suspects = append(s.suspects, suspect{l, seg})
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *scrubber) run() {
	defer close(s.done)
	if s.bytesPerSecond <= 0 {
		<-s.quit
		return
	}
	next := time.NewTimer(min(scrubDelay, s.interval))
	defer next.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-s.wake:
			s.examine()
		case begun := <-next.C:
			if !s.pass() {
				return
			}
			next.Reset(max(s.interval-time.Since(begun), 0))
		}
	}
}

// pass reads all sealed segments once; false if the dir is being closed. The logs come in random order, so that a node
// that is restarted often gets to all of them in the end.
func (s *scrubber) pass() bool {
	logs := s.dir.all()
	rand.Shuffle(len(logs), func(i, j int) { logs[i], logs[j] = logs[j], logs[i] })
	for _, l := range logs {
		for _, seg := range l.sealedSegments() {
			s.examine()
			if !s.scrub(l, seg) {
				return false
			}
		}
	}
	s.dir.stats.scrubPasses.Add(1)
	s.dir.stats.scrubPassEndMs.Store(time.Now().UnixMilli())
	return true
}

// examine scrubs the suspects.
func (s *scrubber) examine() {
	for {
		s.mu.Lock()
		if len(s.suspects) == 0 {
			s.suspects = nil
			s.mu.Unlock()
			return
		}
		x := s.suspects[0]
		s.suspects = s.suspects[1:]
		s.mu.Unlock()
		if !s.scrub(x.log, x.seg) {
			return
		}
	}
}

// sealedSegments are the segments whose files do not change any more.
func (l *Log) sealedSegments() (out []*segment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, seg := range l.segments {
		if seg.sealed && seg.size > 0 {
			out = append(out, seg)
		}
	}
	return out
}

// scrub reads one segment and publishes what is damaged; false if the dir is being closed.
func (s *scrubber) scrub(l *Log, seg *segment) bool {
	pass, err := l.openScrub(seg, s.wait)
	if err != nil {
		s.dir.log.Error("scrub: segment not readable", "file", seg.path+logSuffix, "err", err)
		return true
	}
	if pass == nil {
		return !s.closing() // it is gone, or not sealed
	}
	defer pass.close()
	err = pass.walk()
	s.dir.stats.scrubbedBytes.Add(pass.read)
	if pass.stopped {
		return false
	}
	if err != nil && l.stillSealed(seg, pass.size) {
		s.dir.log.Error("scrub: segment not readable to its end", "file", seg.path+logSuffix, "err", err)
	}
	l.publishBad(seg, pass.size, pass.found)
	return true
}

func (s *scrubber) closing() bool {
	select {
	case <-s.quit:
		return true
	default:
		return false
	}
}

// wait takes n bytes into account that have been read, and returns when more may be: false if the dir is being closed.
func (s *scrubber) wait(n int64) bool {
	now := time.Now()
	if s.due.Before(now) {
		s.due = now
	}
	s.due = s.due.Add(time.Duration(float64(n) / float64(s.bytesPerSecond) * float64(time.Second)))
	d := s.due.Sub(now)
	if d < time.Millisecond {
		return !s.closing()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-s.quit:
		return false
	case <-t.C:
		return true
	}
}

// segmentScrub is one reading of one segment.
type segmentScrub struct {
	seg  *segment
	scan *scanner
	file *file
	wait func(n int64) bool

	size, nextOffset int64

	read    int64
	found   []badRange
	stopped bool // by wait
}

// openScrub opens a sealed segment for reading past the page cache; nil if it is not sealed, or no longer there.
func (l *Log) openScrub(seg *segment, wait func(int64) bool) (*segmentScrub, error) {
	l.mu.Lock()
	path, size, next := seg.path+logSuffix, seg.size, seg.nextOffset
	l.mu.Unlock()
	if !l.stillSealed(seg, size) {
		return nil, nil
	}
	seg.openMu.Lock() // while it takes the place of others, the name is still that of an old one
	fd, err := openFd(path, unix.O_RDONLY|l.dir.directFlag)
	seg.openMu.Unlock()
	if err != nil {
		if !l.stillSealed(seg, size) {
			return nil, nil
		}
		return nil, err
	}
	f := newFile(fd)
	// The name may belong to a successor by now; then this segment was taken out of its log before.
	if !l.stillSealed(seg, size) {
		f.Release()
		return nil, nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Release()
		return nil, fmt.Errorf("stat: %w", err)
	}
	scan, err := newScanner(fd, min(st.Size, size))
	if err != nil {
		f.Release()
		return nil, err
	}
	return &segmentScrub{seg: seg, scan: scan, file: f, wait: wait, size: size, nextOffset: next}, nil
}

func (p *segmentScrub) close() {
	p.scan.close()
	p.file.Release()
}

// walk holds each batch against its CRC.
func (p *segmentScrub) walk() error {
	pos, least := int64(0), p.seg.baseOffset
	for pos < p.size {
		if bad, ok := p.seg.badAt(pos); ok && pos >= bad.from {
			pos, least = bad.to, bad.toOffset // known
			continue
		}
		next, offset, ok, err := p.valid(pos, least)
		if err == nil && !ok {
			p.scan.forget() // once more from the disk
			next, offset, ok, err = p.valid(pos, least)
		}
		if err == nil && !ok {
			next, offset, err = p.behind(pos, least)
			p.found = append(p.found, badRange{from: pos, to: next, fromOffset: least, toOffset: offset})
		}
		if err != nil {
			return err
		}
		p.read += next - pos
		if !p.wait(next - pos) {
			p.stopped = true
			return nil
		}
		pos, least = next, offset
	}
	return nil
}

// valid says whether there is a good batch at pos, and where the next one begins.
func (p *segmentScrub) valid(pos, least int64) (next, offset int64, ok bool, err error) {
	b, err := p.scan.batchAt(pos, least, math.MinInt32, true)
	if err != nil || b == nil || b.NextOffset() > p.nextOffset {
		return 0, 0, false, err
	}
	return pos + int64(b.Size()), b.NextOffset(), true, nil
}

// behind finds where the log goes on behind a damaged batch at pos.
func (p *segmentScrub) behind(pos, least int64) (next, offset int64, err error) {
	// Mostly the length is good, and the next batch where it says. What lies between is not looked at then: the value of a
	// record may look like a batch.
	if h, err := p.scan.batchAt(pos, least, math.MinInt32, false); err != nil {
		return 0, 0, err
	} else if h != nil {
		at := pos + int64(h.Size())
		if at == p.size {
			return p.size, p.nextOffset, nil
		}
		if b, err := p.scan.batchAt(at, least, math.MinInt32, true); err != nil {
			return 0, 0, err
		} else if b != nil && b.NextOffset() <= p.nextOffset {
			return at, b.BaseOffset(), nil
		}
	}
	at, found, _, err := p.scan.next(pos+1, least, math.MinInt32)
	if err != nil || !found {
		return p.size, p.nextOffset, err
	}
	b, err := p.scan.batchAt(at, least, math.MinInt32, false)
	if err != nil || b == nil || b.NextOffset() > p.nextOffset {
		return p.size, p.nextOffset, err
	}
	return at, b.BaseOffset(), nil
}

// stillSealed says that a segment is part of the log, and is what it was.
func (l *Log) stillSealed(seg *segment, size int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stillSealedLocked(seg, size)
}

func (l *Log) stillSealedLocked(seg *segment, size int64) bool {
	return !l.closed && !l.cutting && !seg.dropped && seg.sealed && seg.size == size && slices.Contains(l.segments, seg)
}

// publishBad makes damaged ranges known to readers. What was truncated or deleted while it was read says nothing.
func (l *Log) publishBad(seg *segment, size int64, found []badRange) {
	if len(found) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stillSealedLocked(seg, size) {
		return
	}
	all := append(slices.Clone(seg.badRanges()), found...)
	slices.SortFunc(all, func(a, b badRange) int { return int(min(max(a.from-b.from, -1), 1)) })
	seg.scrubbed.Store(&all)
	l.dir.stats.corruptRanges.Add(int64(len(found)))
	for _, b := range found {
		l.dir.log.Error("damage found; the range is kept and answers an error", "file", seg.path+logSuffix,
			"from", b.from, "to", b.to, "fromOffset", b.fromOffset, "toOffset", b.toOffset)
	}
}
