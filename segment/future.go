package segment

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"golang.org/x/sys/unix"
)

// A future log is the copy of a partition's log that is to take its place, in another log dir. It has Kafka's name for
// such a directory, TOPIC-PARTITION.HEXID-future, and is known by topic id and partition: a long topic name is cut. It
// is a log like others, but its checkpoint entries are under the directory's name: those under the partition's may be of
// another log.
//
//	CreateFuture, AppendAsFollower ...     the copy follows
//	Seal                                   the copy is complete and on the disk
//	(the metadata says that the partition is in this dir)
//	Promote, OpenLog                       the directory gets the partition's name
//
// A crash leaves the future as it is or, after Promote, the partition's log. Which of the two logs counts is not decided
// here.

const futureDirSuffix = "-future"

var futureDir = regexp.MustCompile(`^.+-(\d+)\.[0-9a-f]{32}` + futureDirSuffix + `$`)

// Future is the directory of a future log.
type Future struct {
	Name      string // of the directory
	TopicID   [16]byte
	Partition int32
}

// Futures lists the future logs in the dir that are not open. One that does not say whose it is has a zero topic id.
func (d *Dir) Futures() ([]Future, error) {
	entries, err := os.ReadDir(d.opts.Path)
	if err != nil {
		return nil, fmt.Errorf("list log dir: %w", err)
	}
	var out []Future
	for _, e := range entries {
		m := futureDir.FindStringSubmatch(e.Name())
		if m == nil || !e.IsDir() {
			continue
		}
		partition, err := strconv.ParseInt(m[1], 10, 32)
		if err != nil || d.isOpen(e.Name(), int32(partition)) {
			continue
		}
		id, _ := readTopicID(filepath.Join(d.opts.Path, e.Name()))
		out = append(out, Future{e.Name(), id, int32(partition)})
	}
	return out, nil
}

// CreateFuture begins a future log of a partition.
func (d *Dir) CreateFuture(topic string, partition int32, o LogOptions) (*Log, error) {
	name, err := futureName(topic, partition)
	if err != nil {
		return nil, err
	}
	return d.OpenFuture(Future{name, o.TopicID, partition}, o)
}

// OpenFuture opens a future log that was begun before.
func (d *Dir) OpenFuture(f Future, o LogOptions) (*Log, error) {
	l, err := d.openLog(topicPartition{f.Name, f.Partition}, func() *Log {
		l := newLog(d, f.Name, f.Partition, o)
		l.path = filepath.Join(d.opts.Path, f.Name)
		return l
	})
	if err != nil {
		return nil, err
	}
	// By its directory the next start knows that there is a move to go on with.
	l.mu.Lock()
	err = l.makeDirectory()
	l.mu.Unlock()
	if err != nil {
		_ = l.Delete()
		return nil, err
	}
	return l, nil
}

func futureName(topic string, partition int32) (string, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", err
	}
	suffix := fmt.Sprintf("-%d.%s%s", partition, hex.EncodeToString(id[:]), futureDirSuffix)
	return topic[:min(len(topic), maxName-len(suffix))] + suffix, nil
}

// Seal ends a future log: it is complete and on the disk with everything that current has, its producers, its leader
// epochs and its start offset among it. The caller has copied all batches, and nothing is appended to current from then
// on until the partition is served from one of the two. The log is closed, whatever comes of it.
func (l *Log) Seal(current *Log) error {
	current.mu.Lock()
	start, end := current.start.Load(), current.end.Load()
	producers, epochs := current.producers.AppendSnapshot(nil), current.epochs.format()
	current.mu.Unlock()
	l.dir.compaction.take(l, &current.dir.compaction, current)
	err := l.seals(start, end, producers, epochs)
	l.dir.forget(topicPartition{l.topic, l.partition}, l)
	if err != nil {
		return fmt.Errorf("seal %s: %w", l.path, err)
	}
	return nil
}

func (l *Log) seals(start, end int64, producers, epochs []byte) error {
	l.beginClose()
	err := l.drain()
	l.dir.keeper.drain()
	if l.start.Load() < start {
		l.start.Store(start)
	}
	var unsynced []string
	for _, s := range l.segments {
		if !s.sealed {
			unsynced = append(unsynced, s.path)
		}
	}
	err = errors.Join(err, l.close(), l.dir.offline())
	if err != nil {
		return err
	}
	// A log that has nothing left to copy: the copy takes its offset from the start offset, and must have no segments
	// that end before it.
	if got := l.end.Load(); got != end && (start != end || len(l.segments) > 0) {
		return fmt.Errorf("the copy ends at offset %d, the log at %d", got, end)
	}
	disk := l.dir.disk
	for _, path := range unsynced {
		for _, suffix := range []string{logSuffix, offsetSuffix, timeSuffix, txnSuffix} {
			if err := syncFile(disk, path+suffix); err != nil && !errors.Is(err, unix.ENOENT) {
				return err
			}
		}
	}
	if err := replaceFile(disk, filepath.Join(l.path, baseName(end)+snapshotSuffix), producers, true); err != nil {
		return err
	}
	l.epochMu.Lock() // a checkpoint may be writing them
	err = replaceFile(disk, filepath.Join(l.path, epochFileName), epochs, true)
	l.epochMu.Unlock()
	if err != nil {
		return err
	}
	if err := syncFile(disk, filepath.Join(l.path, partitionMetaFile)); err != nil {
		return err
	}
	if err := syncDir(disk, l.path); err != nil {
		return err
	}
	l.closedCleanly()
	l.dir.startOffsets.set(l.topic, l.partition, start)
	if err := l.dir.startOffsets.write(); err != nil {
		return err
	}
	if err := l.dir.recoveryPoints.write(); err != nil {
		return err
	}
	if err := l.dir.compaction.write(); err != nil {
		return err
	}
	return syncDir(disk, l.dir.opts.Path)
}

// Promote gives a sealed future log the partition's name; OpenLog opens it. Whatever else has that name is set aside.
// On the disk when it returns nil; after an error, or a crash in it, it is to be called again.
func (d *Dir) Promote(name, topic string, partition int32) error {
	for _, c := range d.checkpoints() {
		if o, ok := c.get(name, partition); ok {
			c.set(topic, partition, o)
		} else {
			c.remove(topic, partition)
		}
		if err := c.write(); err != nil {
			return err
		}
	}
	d.stopped.forget(topicPartition{topic, partition})
	path := filepath.Join(d.opts.Path, fmt.Sprintf("%s-%d", topic, partition))
	if _, err := os.Lstat(path); err == nil {
		aside := orphanName(path, d.opts.Now())
		d.log.Warn("directory in the way of a replica that was moved, set aside", "dir", aside)
		if err := d.disk.Rename(path, aside); err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
	}
	if err := d.disk.Rename(filepath.Join(d.opts.Path, name), path); err != nil {
		return fmt.Errorf("promote future log: %w", err)
	}
	if err := syncDir(d.disk, d.opts.Path); err != nil {
		return err
	}
	for _, c := range d.checkpoints() {
		c.remove(name, partition)
	}
	return nil
}

// TopicIDOf is the topic id that a partition's directory says it belongs to; zero if it does not.
func (d *Dir) TopicIDOf(name string) [16]byte {
	id, _ := readTopicID(filepath.Join(d.opts.Path, name))
	return id
}

// Discard removes a directory that is not open: a future log that is not wanted any more, or a log whose successor is in
// another dir.
func (d *Dir) Discard(name string) error {
	path := filepath.Join(d.opts.Path, name)
	aside, err := asideName(path)
	if err != nil {
		return err
	}
	if err := d.disk.Rename(path, aside); err != nil {
		return fmt.Errorf("discard: %w", err)
	}
	if m := futureDir.FindStringSubmatch(name); m != nil {
		if partition, err := strconv.ParseInt(m[1], 10, 32); err == nil {
			for _, c := range d.checkpoints() {
				c.remove(name, int32(partition))
			}
		}
	} else if topic, partition, ok := parsePartitionDir(name); ok {
		for _, c := range d.checkpoints() {
			c.remove(topic, partition)
		}
	}
	d.house.doom(0, aside)
	return syncDir(d.disk, d.opts.Path)
}
