package segment

import (
	"bufio"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Files in a log dir, named as Kafka names them (but for the reserve).
const (
	lockFile          = ".lock"
	metaFile          = "meta.properties"
	recoveryPointFile = "recovery-point-offset-checkpoint"
	startOffsetFile   = "log-start-offset-checkpoint"
	cleanShutdownFile = ".kafka_cleanshutdown"
	reserveFile       = ".reserve"
	stoppedFile       = ".millrace_stopped"

	partitionMetaFile = "partition.metadata" // in each partition's directory
)

// lockDir takes the dir for this process.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrDirInUse
		}
		return nil, fmt.Errorf("lock: %w", err)
	}
	return f, nil
}

// checkMeta compares meta.properties with who we are, or writes it for a new dir.
func (d *Dir) checkMeta() error {
	path := filepath.Join(d.opts.Path, metaFile)
	props, err := readProperties(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d.writeMeta(path)
	}
	if err != nil {
		return err
	}
	if v := props["version"]; v != "1" {
		return fmt.Errorf("%w: %s has version %q, this is for version 1", ErrForeignDir, metaFile, v)
	}
	if id := props["cluster.id"]; id != d.opts.ClusterID {
		return fmt.Errorf("%w: by its %s it is of cluster %q, this is %q", ErrForeignDir, metaFile, id, d.opts.ClusterID)
	}
	if id := props["node.id"]; id != strconv.Itoa(int(d.opts.NodeID)) {
		return fmt.Errorf("%w: by its %s it is of node %s, this is %d", ErrForeignDir, metaFile, id, d.opts.NodeID)
	}
	d.id = props["directory.id"]
	if d.id == "" {
		return d.writeMeta(path)
	}
	return nil
}

func (d *Dir) writeMeta(path string) error {
	id, err := newDirectoryID()
	if err != nil {
		return err
	}
	d.id = id
	return writeFileDurable(d.disk, path, fmt.Appendf(nil, "version=1\nnode.id=%d\ncluster.id=%s\ndirectory.id=%s\n",
		d.opts.NodeID, d.opts.ClusterID, id))
}

// newDirectoryID is a random UUID in Kafka's form. Ids that begin with '-' would be taken for options.
func newDirectoryID() (string, error) {
	for {
		var u [16]byte
		if _, err := rand.Read(u[:]); err != nil {
			return "", err
		}
		u[6] = u[6]&0x0f | 0x40
		u[8] = u[8]&0x3f | 0x80
		if id := base64.RawURLEncoding.EncodeToString(u[:]); id[0] != '-' {
			return id, nil
		}
	}
}

// readProperties reads a file of key=value lines.
func readProperties(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	props := map[string]string{}
	in := bufio.NewScanner(f)
	for in.Scan() {
		line := strings.TrimSpace(in.Text())
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("%s: line %q", path, line)
		}
		props[strings.TrimSpace(key)] = strings.ReplaceAll(strings.TrimSpace(value), `\:`, ":")
	}
	return props, in.Err()
}

// checkPartitionMeta compares partition.metadata with the topic id, or writes it.
func (l *Log) checkPartitionMeta() error {
	err := l.takePartitionMeta()
	if err == nil {
		l.idNs = changedAt(filepath.Join(l.path, partitionMetaFile))
	}
	return err
}

func (l *Log) takePartitionMeta() error {
	path := filepath.Join(l.path, partitionMetaFile)
	id := base64.RawURLEncoding.EncodeToString(l.opts.TopicID[:])
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == 0 {
		// Made durable with the first segment; an empty file is what a power cut before that leaves.
		return replaceFile(l.dir.disk, path, []byte("version: 0\ntopic_id: "+id), false)
	}
	if err != nil {
		return err
	}
	if found := topicIDIn(b); found != id {
		return fmt.Errorf("%s: belongs to topic id %q, this is %q", path, found, id)
	}
	return nil
}

// topicIDIn is the topic id in the content of a partition.metadata file, "" if there is none.
func topicIDIn(b []byte) (id string) {
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "topic_id:"); ok {
			id = strings.TrimSpace(v)
		}
	}
	return id
}

// readTopicID reads the topic id a partition's directory belongs to.
func readTopicID(dir string) (id [16]byte, err error) {
	b, err := os.ReadFile(filepath.Join(dir, partitionMetaFile))
	if err != nil {
		return id, err
	}
	raw, err := base64.RawURLEncoding.DecodeString(topicIDIn(b))
	if err != nil || len(raw) != len(id) {
		return id, fmt.Errorf("%w: %s in %s", ErrCorrupt, partitionMetaFile, dir)
	}
	return [16]byte(raw), nil
}
