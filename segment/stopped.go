package segment

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// A clean stop leaves a file with all that opening the logs takes, .millrace_stopped, so that the next start opens none of
// their files and lists none of their directories. It counts only together with the clean-shutdown marker that names it:
// that of Kafka, or of an earlier version, which ran in between, does not. Of each log the start still asks for the time of
// the directory's last change and the sizes of the segments. What does not fit is recovered from its files.
//
//	"MRSTOP" | version uint16 (1) | id [16] | logs uint32 | logs x
//	    length uint32 | log, see (*stoppedLog).append; varints
//	CRC-32C of all that, uint32; big-endian
const (
	stoppedMagic   = "MRSTOP"
	stoppedVersion = 1
	stoppedHeader  = len(stoppedMagic) + 2 + 16 + 4
	// A log with a larger producer snapshot is recovered: the file is not to become much larger than what it spares.
	maxStoppedSnapshot = 64 << 10
)

// stoppedLog is a log as it was closed.
type stoppedLog struct {
	topic     string
	partition int32
	topicID   [16]byte
	changedNs int64 // when the directory was changed last, by the stop
	idNs      int64 // and partition.metadata, as it was last read or written
	epochs    []epochEntry
	producers []byte // snapshot at the end offset; empty: there are none
	segments  []stoppedSegment

	// Of the last segment.
	nextOffset                                   int64
	firstTimestamp, maxTimestamp, maxTimestampAt int64
	baseEpoch                                    int32
}

type stoppedSegment struct{ base, size int64 }

// stopped is the logs of the last clean stop that were not opened yet.
type stopped struct {
	mu   sync.Mutex
	logs map[topicPartition]*stoppedLog
}

// take gives what is known of a log, once: it says nothing of a successor.
func (s *stopped) take(l *Log) *stoppedLog {
	return s.forget(topicPartition{l.topic, l.partition})
}

func (s *stopped) forget(tp topicPartition) *stoppedLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.logs[tp]
	delete(s.logs, tp)
	return found
}

// stoppedAs describes a log that was closed, nil if its files have to be looked at by the next start.
func (l *Log) stoppedAs(doomed map[string]bool) *stoppedLog {
	n := len(l.segments)
	if n == 0 || l.absent || l.abandoned || l.path != l.dir.logPath(topicPartition{l.topic, l.partition}) || doomed[l.path] {
		return nil
	}
	s := &stoppedLog{topic: l.topic, partition: l.partition, topicID: l.opts.TopicID, epochs: l.epochs.entries}
	for i, seg := range l.segments {
		if len(seg.badRanges()) > 0 || i < n-1 && !seg.sealed {
			return nil
		}
		s.segments = append(s.segments, stoppedSegment{seg.baseOffset, seg.size})
	}
	last := l.segments[n-1]
	if !last.timesKnown || last.rolled || l.end.Load() != max(last.nextOffset, l.start.Load()) {
		return nil
	}
	s.nextOffset, s.baseEpoch = last.nextOffset, last.baseEpoch
	s.firstTimestamp, s.maxTimestamp, s.maxTimestampAt = last.firstTimestamp, last.maxTimestamp, last.maxTimestampAt
	if l.producers.Len() > 0 {
		if s.producers = l.producers.AppendSnapshot(nil); len(s.producers) > maxStoppedSnapshot {
			return nil
		}
	}
	s.changedNs, s.idNs = changedAt(l.path), l.idNs
	if s.changedNs == 0 || s.idNs == 0 {
		return nil
	}
	return s
}

// changedAt is when a file was changed last, ns; 0 if that cannot be asked.
func changedAt(path string) int64 {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return 0
	}
	return st.Mtim.Nano()
}

// topicID is the topic id of a partition's directory if it was not changed since the stop.
func (s *stopped) topicID(topic string, partition int32, path string) (id [16]byte, ok bool) {
	s.mu.Lock()
	found := s.logs[topicPartition{topic, partition}]
	s.mu.Unlock()
	if found == nil || changedAt(path) != found.changedNs || changedAt(filepath.Join(path, partitionMetaFile)) != found.idNs {
		return id, false
	}
	return found.topicID, true
}

// resume takes the log over as it was stopped. False: it is not like that any more, and nothing has changed.
func (l *Log) resume(s *stoppedLog) bool {
	rp, _ := l.dir.recoveryPoints.get(l.topic, l.partition)
	start, _ := l.dir.startOffsets.get(l.topic, l.partition)
	start = max(start, s.segments[0].base)
	end := max(s.nextOffset, start)
	if s.topicID != l.opts.TopicID || rp != end || changedAt(l.path) != s.changedNs ||
		changedAt(filepath.Join(l.path, partitionMetaFile)) != s.idNs {
		return false
	}
	segments := make([]*segment, len(s.segments))
	for i, of := range s.segments {
		seg := newSegment(l.path, of.base)
		if fi, err := os.Stat(seg.path + logSuffix); err != nil || fi.Size() != of.size {
			return false
		}
		seg.size, seg.nextOffset = of.size, s.nextOffset
		if i < len(segments)-1 {
			seg.nextOffset, seg.unread = s.segments[i+1].base, true
		}
		l.asSealed(seg)
		segments[i] = seg
	}
	if len(s.producers) > 0 && l.producers.DecodeSnapshot(s.producers) != nil {
		return false
	}
	last := segments[len(segments)-1]
	last.rolled, last.sealed, last.resting = false, false, true
	last.timesKnown, last.createdMs, last.baseEpoch = true, l.dir.nowMs(), s.baseEpoch
	last.firstTimestamp, last.maxTimestamp, last.maxTimestampAt = s.firstTimestamp, s.maxTimestamp, s.maxTimestampAt
	l.segments, l.epochs = segments, epochCache{s.epochs}
	l.epochs.cutEnd(end + 1)
	l.start.Store(start)
	l.end.Store(end)
	l.durable.Store(end)
	l.recoveryPoint, l.idNs = rp, s.idNs
	l.gapsBelow = l.dir.compaction.gapsBelow(l)
	l.snapshotAt = filepath.Join(l.path, baseName(end)+snapshotSuffix)
	return true
}

// marker is the content of the clean-shutdown marker; Kafka's has the first two.
type marker struct {
	Version     int    `json:"version"`
	BrokerEpoch int64  `json:"brokerEpoch"`
	Stopped     string `json:"millraceStopped,omitempty"` // id of the file of stopped logs
}

// leaveMarker writes the file of stopped logs and then the marker.
func (d *Dir) leaveMarker(logs []*Log) error {
	m := marker{BrokerEpoch: -1}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	if err := writeFileDurable(d.disk, filepath.Join(d.opts.Path, stoppedFile), encodeStopped(id, d.stoppedLogs(logs))); err == nil {
		m.Stopped = hex.EncodeToString(id[:])
	} else {
		d.log.Warn("state of the logs not written; the next start looks at their files", "dir", d.opts.Path, "err", err)
	}
	content, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeFileDurable(d.disk, filepath.Join(d.opts.Path, cleanShutdownFile), content)
}

func (d *Dir) stoppedLogs(logs []*Log) (list []*stoppedLog) {
	doomed := d.house.doomedIn()
	for _, l := range logs {
		l.mu.Lock()
		if s := l.stoppedAs(doomed); s != nil {
			list = append(list, s)
		}
		l.mu.Unlock()
	}
	return list
}

// doomedIn is the directories with files that are still to be removed.
func (h *housekeeping) doomedIn() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	in := map[string]bool{}
	for _, d := range h.doomed {
		for _, p := range d.paths {
			in[filepath.Dir(p)] = true
		}
	}
	return in
}

// takeMarker removes the marker and the file it names, on the disk, and remembers what is in that. It says whether
// there was a marker.
func (d *Dir) takeMarker() (clean bool, err error) {
	path, list := filepath.Join(d.opts.Path, cleanShutdownFile), filepath.Join(d.opts.Path, stoppedFile)
	content, err := os.ReadFile(path)
	if err == nil {
		clean = true
		d.loadStopped(content, list)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	removed := false
	for _, p := range []string{path, list} {
		switch err := d.disk.Remove(p); {
		case err == nil:
			removed = true
		case !errors.Is(err, fs.ErrNotExist):
			return clean, err
		}
	}
	if removed {
		err = syncDir(d.disk, d.opts.Path)
		return clean, err
	}
	return clean, nil
}

// loadStopped reads the file of stopped logs that the marker names. Without it the logs are opened from their files.
func (d *Dir) loadStopped(markerContent []byte, path string) {
	var m marker
	if json.Unmarshal(markerContent, &m) != nil || m.Stopped == "" {
		return
	}
	b, err := os.ReadFile(path)
	if err == nil {
		d.stopped.logs, err = decodeStopped(b, m.Stopped)
	}
	if err != nil {
		d.log.Warn("state of the logs at the last stop not usable; their files are looked at", "file", path, "err", err)
	}
}

func encodeStopped(id [16]byte, logs []*stoppedLog) []byte {
	be := binary.BigEndian
	b := be.AppendUint16([]byte(stoppedMagic), stoppedVersion)
	b = be.AppendUint32(append(b, id[:]...), uint32(len(logs)))
	for _, s := range logs {
		at := len(b)
		b = s.append(append(b, 0, 0, 0, 0))
		be.PutUint32(b[at:], uint32(len(b)-at-4))
	}
	return be.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func (s *stoppedLog) append(b []byte) []byte {
	put := func(values ...int64) {
		for _, v := range values {
			b = binary.AppendVarint(b, v)
		}
	}
	put(int64(len(s.topic)))
	b = append(b, s.topic...)
	put(int64(s.partition))
	b = append(b, s.topicID[:]...)
	put(s.changedNs, s.idNs, s.nextOffset, s.firstTimestamp, s.maxTimestamp, s.maxTimestampAt, int64(s.baseEpoch), int64(len(s.epochs)))
	for _, e := range s.epochs {
		put(int64(e.epoch), e.start)
	}
	put(int64(len(s.segments)))
	for _, seg := range s.segments {
		put(seg.base, seg.size)
	}
	put(int64(len(s.producers)))
	return append(b, s.producers...)
}

func decodeStopped(b []byte, id string) (map[topicPartition]*stoppedLog, error) {
	be := binary.BigEndian
	if len(b) < stoppedHeader+4 || !strings.HasPrefix(string(b), stoppedMagic) {
		return nil, fmt.Errorf("%w: %d bytes", ErrCorrupt, len(b))
	}
	if v := be.Uint16(b[len(stoppedMagic):]); v != stoppedVersion {
		return nil, fmt.Errorf("version %d", v)
	}
	if want, got := be.Uint32(b[len(b)-4:]), crc32.Checksum(b[:len(b)-4], castagnoli); want != got {
		return nil, fmt.Errorf("%w: CRC %#x, %#x computed", ErrCorrupt, want, got)
	}
	if got := hex.EncodeToString(b[len(stoppedMagic)+2:][:16]); got != id {
		return nil, fmt.Errorf("it is %s, the marker names %s", got, id)
	}
	n := be.Uint32(b[stoppedHeader-4:])
	logs := make(map[topicPartition]*stoppedLog, min(int(n), len(b)/32))
	for b = b[stoppedHeader : len(b)-4]; len(b) > 0; {
		if len(b) < 4 || be.Uint32(b) > uint32(len(b)-4) {
			return nil, fmt.Errorf("%w: entry %d", ErrCorrupt, len(logs))
		}
		size := int(be.Uint32(b))
		s, ok := decodeStoppedLog(b[4 : 4+size])
		if !ok {
			return nil, fmt.Errorf("%w: entry %d", ErrCorrupt, len(logs))
		}
		logs[topicPartition{s.topic, s.partition}] = s
		b = b[4+size:]
	}
	if len(logs) != int(n) {
		return nil, fmt.Errorf("%w: %d entries, %d announced", ErrCorrupt, len(logs), n)
	}
	return logs, nil
}

// varints reads what (*stoppedLog).append wrote; bad is set where it does not fit.
type varints struct {
	b   []byte
	bad bool
}

func (r *varints) next() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads how many things of at least size bytes follow.
func (r *varints) count(size int) int {
	n := r.next()
	if n < 0 || n > int64(len(r.b)/size) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *varints) take(n int) []byte {
	if n > len(r.b) {
		r.bad = true
		return make([]byte, n)
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func decodeStoppedLog(b []byte) (*stoppedLog, bool) {
	r := &varints{b: b}
	s := &stoppedLog{}
	s.topic = string(r.take(r.count(1)))
	s.partition = int32(r.next())
	copy(s.topicID[:], r.take(16))
	s.changedNs, s.idNs, s.nextOffset = r.next(), r.next(), r.next()
	s.firstTimestamp, s.maxTimestamp, s.maxTimestampAt, s.baseEpoch = r.next(), r.next(), r.next(), int32(r.next())
	for range r.count(2) {
		s.epochs = append(s.epochs, epochEntry{int32(r.next()), r.next()})
	}
	for range r.count(2) {
		s.segments = append(s.segments, stoppedSegment{r.next(), r.next()})
	}
	s.producers = r.take(r.count(1))
	ok := !r.bad && len(r.b) == 0 && len(s.segments) > 0
	for i, seg := range s.segments {
		ok = ok && seg.base >= 0 && seg.size >= 0 && (i == 0 || seg.base > s.segments[i-1].base)
	}
	return s, ok && s.nextOffset >= s.segments[len(s.segments)-1].base
}
