package segment

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Suffixes of partition directories on their way out.
const (
	deleteDirSuffix = "-delete"
	orphanInfix     = ".orphan-"
)

// Delete takes the log out of the dir: its directory is renamed aside and removed after file.delete.delay.ms, or at
// the next start. Append and Read answer ErrClosed from now on; ranges handed out stay valid. When it returns nil
// the name is free, on the disk.
func (l *Log) Delete() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.closed = true
	l.idle.Broadcast()
	for l.cutting { // it gives up, or is done soon
		l.idle.Wait()
	}
	l.waitLanded()
	l.idle.Broadcast()
	// No job may be half way when the name becomes free: it would touch files of a log made anew under it.
	l.mu.Unlock()
	l.dir.keeper.drain()
	l.epochMu.Lock() // nor may a checkpoint that writes epochs
	l.mu.Lock()
	aside, err := asideName(l.path)
	if err == nil && !l.absent {
		err = l.dir.disk.Rename(l.path, aside)
	}
	if err == nil {
		l.tail.drop()
		for _, s := range l.segments {
			s.dropped = true
			s.closeOut()
			s.closeHandle()
			s.closeIndexes()
		}
		if l.prepared != nil {
			l.prepared.discard(l.dir.disk)
			l.prepared = nil
		}
	}
	delay, absent := time.Duration(l.cfg.FileDeleteDelayMs)*time.Millisecond, l.absent
	l.mu.Unlock()
	l.epochMu.Unlock()
	l.dir.forget(topicPartition{l.topic, l.partition}, l)
	l.dir.remember(l)
	if err != nil {
		return fmt.Errorf("delete log: %w", err)
	}
	if absent {
		return nil
	}
	l.dir.recoveryPoints.remove(l.topic, l.partition)
	l.dir.startOffsets.remove(l.topic, l.partition)
	l.dir.compaction.remove(l)
	if err = syncDir(l.dir.disk, l.dir.opts.Path); err == nil {
		err = l.dir.sparing(l.dir.startOffsets.write)
	}
	// Whatever could not be written: on a full disk it is these files' space that is missing.
	l.dir.house.doom(delay, aside)
	return err
}

// maxName is the longest file name, bytes. That of a partition's directory can be so long that nothing can be added.
const maxName = 255

// asideName is Kafka's name for a partition directory that is being deleted.
func asideName(path string) (string, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", err
	}
	dir, name := filepath.Split(path)
	suffix := "." + hex.EncodeToString(id[:]) + deleteDirSuffix
	if len(name)+len(suffix) > maxName {
		name = name[:maxName-len(suffix)]
	}
	return filepath.Join(dir, name+suffix), nil
}

// orphanName is a free name to set an orphan aside under: its own, cut if need be so that topic and partition can still
// be told, and the time.
func orphanName(path string, now time.Time) string {
	dir, name := filepath.Split(path)
	for at := now.UnixNano(); ; at++ {
		suffix := fmt.Sprintf("%s%d", orphanInfix, at)
		to := name + suffix
		if over := len(to) - maxName; over > 0 {
			i := strings.LastIndexByte(name, '-')
			to = name[:i-over] + name[i:] + suffix
		}
		to = filepath.Join(dir, to)
		if _, err := os.Lstat(to); err != nil {
			return to
		}
	}
}

// Orphans looks for partition directories that the metadata does not know, by name and topic id, and renames them
// aside: data is never deleted because something else is missing. It returns their new paths. known is asked with zeros
// where a directory does not say which topic id it belongs to, which damage can cause. Directories that
// were deleted before the last stop are removed. Call it before or after opening logs; open ones are never orphans.
func (d *Dir) Orphans(known func(topic string, partition int32, id [16]byte) bool) ([]string, error) {
	entries, err := os.ReadDir(d.opts.Path)
	if err != nil {
		return nil, fmt.Errorf("list log dir: %w", err)
	}
	var aside []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		path := filepath.Join(d.opts.Path, e.Name())
		if strings.HasSuffix(e.Name(), deleteDirSuffix) && strings.Contains(e.Name(), ".") {
			d.house.doom(0, path)
			continue
		}
		topic, partition, ok := parsePartitionDir(e.Name())
		if !ok || d.isOpen(topic, partition) {
			continue
		}
		id, ok := d.stopped.topicID(topic, partition, path)
		if !ok {
			id, _ = readTopicID(path)
		}
		if known(topic, partition, id) {
			continue
		}
		to := orphanName(path, d.opts.Now())
		if err := d.disk.Rename(path, to); err != nil {
			return aside, fmt.Errorf("set orphan aside: %w", err)
		}
		d.log.Warn("partition directory unknown to the metadata, set aside", "dir", to)
		aside = append(aside, to)
	}
	if len(aside) == 0 {
		return nil, nil
	}
	return aside, syncDir(d.disk, d.opts.Path)
}

func (d *Dir) isOpen(topic string, partition int32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, taken := d.logs[topicPartition{topic, partition}]
	return taken
}

// parsePartitionDir splits TOPIC-PARTITION.
func parsePartitionDir(name string) (topic string, partition int32, ok bool) {
	i := strings.LastIndexByte(name, '-')
	if i <= 0 || strings.Contains(name, orphanInfix) {
		return "", 0, false
	}
	p, err := strconv.ParseInt(name[i+1:], 10, 32)
	if err != nil || p < 0 || strconv.FormatInt(p, 10) != name[i+1:] {
		return "", 0, false
	}
	return name[:i], int32(p), true
}
