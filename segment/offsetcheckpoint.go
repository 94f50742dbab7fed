package segment

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
)

type topicPartition struct {
	topic     string
	partition int32
}

// offsetCheckpoint is one of Kafka's checkpoint files of a log dir, an offset for each partition:
//
//	0                       version
//	2                       entries
//	topic-a 0 4711
//	topic-b 3 0
type offsetCheckpoint struct {
	disk Disk
	path string

	mu      sync.Mutex
	entries map[topicPartition]int64
	dirty   bool
	// Entries that were removed and may still be on the disk, before and during the write under way.
	removed, leaving map[topicPartition]bool

	writeMu sync.Mutex // serialises writing, so that the newest content comes last
}

// maxCheckpointEntries bounds what is believed of the second line.
const maxCheckpointEntries = 10_000_000

// loadOffsetCheckpoint reads the file. A missing file is empty; a damaged one is an error that wraps ErrCorrupt, and
// the checkpoint is empty.
func loadOffsetCheckpoint(disk Disk, path string) (*offsetCheckpoint, error) {
	c := &offsetCheckpoint{disk: disk, path: path, entries: map[topicPartition]int64{}}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	defer f.Close()
	entries, err := parseOffsetCheckpoint(bufio.NewScanner(f))
	if err != nil {
		return c, fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
	}
	c.entries = entries
	return c, nil
}

func parseOffsetCheckpoint(in *bufio.Scanner) (map[topicPartition]int64, error) {
	header := [2]int{}
	for i := range header {
		if !in.Scan() {
			return nil, fmt.Errorf("line %d missing", i+1)
		}
		n, err := strconv.Atoi(strings.TrimSpace(in.Text()))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		header[i] = n
	}
	if header[0] != 0 || header[1] < 0 || header[1] > maxCheckpointEntries {
		return nil, fmt.Errorf("version %d, %d entries", header[0], header[1])
	}
	entries := map[topicPartition]int64{}
	for in.Scan() {
		f := strings.Fields(in.Text())
		if len(f) != 3 {
			return nil, fmt.Errorf("entry %q", in.Text())
		}
		p, err := strconv.ParseInt(f[1], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", in.Text(), err)
		}
		o, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil || o < 0 {
			return nil, fmt.Errorf("entry %q: offset", in.Text())
		}
		entries[topicPartition{f[0], int32(p)}] = o
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if len(entries) != header[1] {
		return nil, fmt.Errorf("%d entries, %d announced", len(entries), header[1])
	}
	return entries, nil
}

func (c *offsetCheckpoint) get(topic string, partition int32) (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.entries[topicPartition{topic, partition}]
	return o, ok
}

// set changes an entry in memory; write makes it durable.
func (c *offsetCheckpoint) set(topic string, partition int32, offset int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[topicPartition{topic, partition}] = offset
	c.dirty = true
}

func (c *offsetCheckpoint) remove(topic string, partition int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.entries[topicPartition{topic, partition}]; ok {
		delete(c.entries, topicPartition{topic, partition})
		c.dirty = true
		if c.removed == nil {
			c.removed = map[topicPartition]bool{}
		}
		c.removed[topicPartition{topic, partition}] = true
	}
}

// forget is remove, and when it returns nil there is no entry on the disk either.
func (c *offsetCheckpoint) forget(topic string, partition int32) error {
	c.remove(topic, partition)
	c.mu.Lock()
	tp := topicPartition{topic, partition}
	there := c.removed[tp] || c.leaving[tp]
	c.mu.Unlock()
	if !there {
		return nil
	}
	return c.write()
}

// write makes all changes before it durable.
func (c *offsetCheckpoint) write() error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	c.mu.Lock()
	if !c.dirty {
		c.mu.Unlock()
		return nil
	}
	lines := make([]string, 0, len(c.entries))
	for tp, o := range c.entries {
		lines = append(lines, fmt.Sprintf("%s %d %d\n", tp.topic, tp.partition, o))
	}
	c.dirty, c.leaving, c.removed = false, c.removed, nil
	c.mu.Unlock()
	sort.Strings(lines)
	content := fmt.Sprintf("0\n%d\n%s", len(lines), strings.Join(lines, ""))
	err := writeFileDurable(c.disk, c.path, []byte(content))
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.leaving
	c.leaving = nil
	if err != nil {
		c.dirty = true
		if c.removed == nil {
			c.removed = left
		} else {
			maps.Copy(c.removed, left)
		}
		return fmt.Errorf("write checkpoint: %w", err)
	}
	return nil
}
