package segment

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const epochFileName = "leader-epoch-checkpoint"

type epochEntry struct {
	epoch int32
	start int64 // first offset of the epoch
}

// epochCache is the log's leader epochs, ascending, each with its first offset. Guarded by Log.mu.
type epochCache struct{ entries []epochEntry }

func (c *epochCache) latest() int32 {
	if len(c.entries) == 0 {
		return -1
	}
	return c.entries[len(c.entries)-1].epoch
}

// assign starts an epoch at offset. Entries it contradicts (same or later offset, same or later epoch) go.
func (c *epochCache) assign(epoch int32, start int64) bool {
	n := len(c.entries)
	if n > 0 && c.entries[n-1].epoch == epoch && c.entries[n-1].start <= start {
		return false
	}
	for n > 0 && (c.entries[n-1].epoch >= epoch || c.entries[n-1].start >= start) {
		n--
	}
	c.entries = append(c.entries[:n], epochEntry{epoch, start})
	return true
}

// endOffset is the end of the largest epoch at or below the asked one: the start of the next, or end for the
// latest. -1, -1 if there is none.
func (c *epochCache) endOffset(epoch int32, end int64) (int32, int64) {
	for i := len(c.entries) - 1; i >= 0; i-- {
		if c.entries[i].epoch > epoch {
			continue
		}
		if i+1 < len(c.entries) {
			return c.entries[i].epoch, c.entries[i+1].start
		}
		return c.entries[i].epoch, end
	}
	return -1, -1
}

// at is the epoch of the record at offset, -1 if it is not known.
func (c *epochCache) at(offset int64) int32 {
	for i := len(c.entries) - 1; i >= 0; i-- {
		if c.entries[i].start <= offset {
			return c.entries[i].epoch
		}
	}
	return -1
}

// cutEnd forgets epochs that start at or after offset.
func (c *epochCache) cutEnd(offset int64) {
	for n := len(c.entries); n > 0 && c.entries[n-1].start >= offset; n-- {
		c.entries = c.entries[:n-1]
	}
}

// contradicted forgets epochs that cannot be, because the batch that ends before offset next is of epoch last and older:
// kept, they would have each append refused. If last is not there then, it starts at from. It says whether there were any.
func (c *epochCache) contradicted(last int32, next, from int64) bool {
	n := len(c.entries)
	for n > 0 && c.entries[n-1].epoch > last && c.entries[n-1].start < next {
		n--
	}
	if last < 0 || n == len(c.entries) {
		return false
	}
	c.entries = c.entries[:n]
	c.assign(last, from)
	return true
}

// cutStart forgets epochs that end at or before offset; the one that offset is in then starts there.
func (c *epochCache) cutStart(offset int64) {
	i := len(c.entries) - 1
	for i >= 0 && c.entries[i].start > offset {
		i--
	}
	if i < 0 {
		return
	}
	c.entries = append(c.entries[:0], c.entries[i:]...)
	c.entries[0].start = offset
}

func (c *epochCache) format() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "0\n%d\n", len(c.entries))
	for _, e := range c.entries {
		fmt.Fprintf(&b, "%d %d\n", e.epoch, e.start)
	}
	return []byte(b.String())
}

// readEpochs reads a leader-epoch-checkpoint file; a missing one is empty.
func readEpochs(path string) (epochCache, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return epochCache{}, nil
	}
	if err != nil {
		return epochCache{}, err
	}
	defer f.Close()
	c, err := parseEpochs(bufio.NewScanner(f))
	if err != nil {
		return epochCache{}, fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
	}
	return c, nil
}

func parseEpochs(in *bufio.Scanner) (epochCache, error) {
	var c epochCache
	header := [2]int{}
	for i := range header {
		if !in.Scan() {
			return c, fmt.Errorf("line %d missing", i+1)
		}
		n, err := strconv.Atoi(strings.TrimSpace(in.Text()))
		if err != nil {
			return c, fmt.Errorf("line %d: %w", i+1, err)
		}
		header[i] = n
	}
	if header[0] != 0 {
		return c, fmt.Errorf("version %d", header[0])
	}
	for in.Scan() {
		f := strings.Fields(in.Text())
		if len(f) != 2 {
			return c, fmt.Errorf("entry %q", in.Text())
		}
		epoch, err1 := strconv.ParseInt(f[0], 10, 32)
		start, err2 := strconv.ParseInt(f[1], 10, 64)
		n := len(c.entries)
		if err1 != nil || err2 != nil || epoch < 0 || start < 0 ||
			n > 0 && (int32(epoch) <= c.entries[n-1].epoch || start < c.entries[n-1].start) {
			return c, fmt.Errorf("entry %q", in.Text())
		}
		c.entries = append(c.entries, epochEntry{int32(epoch), start})
	}
	if err := in.Err(); err != nil {
		return c, err
	}
	if len(c.entries) != header[1] {
		return c, fmt.Errorf("%d entries, %d announced", len(c.entries), header[1])
	}
	return c, nil
}

// LeaderEpoch is the newest epoch, -1 if there is none.
func (l *Log) LeaderEpoch() int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epochs.latest()
}

// AssignLeaderEpoch starts an epoch at the end offset. When it returns nil leader-epoch-checkpoint is on the
// disk, unless nothing was ever appended to the log. Blocking.
func (l *Log) AssignLeaderEpoch(epoch int32) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	changed := l.epochs.assign(epoch, l.end.Load())
	l.mu.Unlock()
	if !changed {
		return nil
	}
	return l.writeEpochs()
}

func (l *Log) writeEpochs() error {
	l.epochMu.Lock()
	defer l.epochMu.Unlock()
	l.mu.Lock()
	path, content, closed, absent, fresh := filepath.Join(l.path, epochFileName), l.epochs.format(), l.closed, l.absent, l.fresh
	l.loose = l.loose || fresh
	l.mu.Unlock()
	if closed {
		return ErrClosed
	}
	if absent {
		return nil // they are written when the directory is made
	}
	write := writeFileDurable
	if fresh {
		// Nothing was written in any epoch: there is nothing to be protected yet.
		write = func(disk Disk, path string, content []byte) error { return replaceFile(disk, path, content, false) }
	}
	if err := l.dir.sparing(func() error { return write(l.dir.disk, path, content) }); err != nil {
		return fmt.Errorf("write leader epochs: %w", err)
	}
	if !fresh {
		l.mu.Lock()
		l.loose = false
		l.mu.Unlock()
	}
	return nil
}

// fixEpochs makes the leader epochs durable if they are not: the recovery point is about to pass the batches that
// tell of them. On the keeper.
func (l *Log) fixEpochs() error {
	l.mu.Lock()
	loose := l.loose
	l.mu.Unlock()
	if !loose {
		return nil
	}
	return l.writeEpochs()
}

// saveEpochs is writeEpochs on the keeper. A lost entry is found again in the batches.
func (l *Log) saveEpochs() {
	if err := l.writeEpochs(); err != nil && !errors.Is(err, ErrClosed) && !l.isClosed() {
		l.dir.log.Warn("leader epochs not written", "topic", l.topic, "partition", l.partition, "err", err)
	}
}

// EndOffsetForEpoch returns the largest epoch at or below the asked one and where it ends; -1, -1 if there is
// none.
func (l *Log) EndOffsetForEpoch(epoch int32) (foundEpoch int32, endOffset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epochs.endOffset(epoch, l.end.Load())
}

// EpochForOffset is the leader epoch of the record at offset, -1 if it is not known.
func (l *Log) EpochForOffset(offset int64) int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epochs.at(offset)
}
