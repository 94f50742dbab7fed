package broker

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"millrace/broker/config"
	"millrace/broker/meta"
	"millrace/segment"
)

// lostDir is a log dir that could not be opened.
type lostDir struct {
	path string
	err  error
}

// openDirs opens every log dir, under one cluster id. From here on a dir has its absolute path, as clients see it in
// DescribeLogDirs. A dir whose disk does not answer is left out, as by Kafka: what is in it is offline, and the others
// serve. One that belongs to somebody else, or that is there twice, is a mistake that ends the start.
func (b *Broker) openDirs(o Options) error {
	paths, err := distinctDirs(b.config.LogDirs)
	if err != nil {
		return err
	}
	if b.clusterID, err = clusterID(paths); err != nil {
		return err
	}
	ids := map[string]string{}
	if o.Disk == nil {
		o.Disk = func(string) segment.Disk { return nil }
	}
	for _, path := range paths {
		d, err := segment.OpenDir(segment.DirOptions{
			Path:                   path,
			NodeID:                 b.config.NodeID,
			ClusterID:              b.clusterID,
			Engine:                 b.config.LogEngine,
			IO:                     b.config.LogIO,
			Commit:                 b.config.LogCommit,
			JournalBytes:           b.config.JournalBytes,
			SlabBytes:              b.config.SlabBytes,
			Now:                    time.Now,
			Logger:                 b.log,
			RetentionCheckInterval: time.Duration(b.config.LogRetentionCheckIntervalMs) * time.Millisecond,
			ScrubBytesPerSecond:    b.config.ScrubBytesPerSecond,
			ScrubInterval:          time.Duration(b.config.ScrubIntervalMs) * time.Millisecond,
			RecoveryThreads:        int(b.config.RecoveryThreads),
			Disk:                   o.Disk(path),
			Dirs:                   len(paths),
			OnOffline:              b.logDirOffline,
			Burst:                  &b.bells,
		})
		if unusable(err) {
			b.lost = append(b.lost, lostDir{path, err})
			continue
		}
		if err != nil {
			return err
		}
		b.dirs = append(b.dirs, d)
		if other, taken := ids[d.ID()]; taken {
			return fmt.Errorf("log dirs %s and %s have the same directory.id %s in meta.properties: one is a copy of the other, and only one of them can be used", other, path, d.ID())
		}
		ids[d.ID()] = path
	}
	for _, l := range b.lost {
		if len(b.dirs) == 0 {
			return l.err
		}
		b.log.Error("log dir cannot be used; its partitions are offline", "dir", l.path, "error", l.err)
	}
	return nil
}

func (b *Broker) lostPaths() (paths []string) {
	for _, l := range b.lost {
		paths = append(paths, l.path)
	}
	return paths
}

// unusable tells whether a log dir could not be opened because of the machine: a disk that fails, is read-only or is
// not there.
func unusable(err error) bool {
	var onPath *fs.PathError
	var onLink *os.LinkError
	return errors.As(err, &onPath) || errors.As(err, &onLink)
}

// distinctDirs makes paths absolute and refuses two that are one directory, by a link or a second mount.
func distinctDirs(dirs []string) ([]string, error) {
	var paths []string
	var seen []fs.FileInfo
	for _, dir := range dirs {
		path, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("log dir %s: %w", dir, err)
		}
		fi, err := os.Stat(path)
		for i := range paths {
			if paths[i] == path || err == nil && seen[i] != nil && os.SameFile(fi, seen[i]) {
				return nil, fmt.Errorf("log dirs %s and %s are the same directory", paths[i], path)
			}
		}
		if err != nil {
			fi = nil // made when it is opened, or not
		}
		paths, seen = append(paths, path), append(seen, fi)
	}
	return paths, nil
}

// clusterID is the id in the meta.properties of the log dirs, or a new one if none
// of them was used before.
func clusterID(dirs []string) (string, error) {
	for _, dir := range dirs {
		f, err := os.Open(filepath.Join(dir, "meta.properties"))
		if err != nil {
			continue // new, or opening the dir will say what is wrong with it
		}
		props, err := config.ParseProperties(f)
		f.Close()
		if unusable(err) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("read cluster id from %s: %w", f.Name(), err)
		}
		if id := props["cluster.id"]; id != "" {
			return id, nil
		}
	}
	var id [16]byte
	rand.Read(id[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(id[:]), nil
}

// metadataDir is the log dir that holds the metadata log: the first one when the node is new, and that one ever after,
// whatever the order of log.dirs has become. Where the log is missing but something else says that there was one, a new
// one is not begun: it would know of no topics.
func (b *Broker) metadataDir() (*segment.Dir, error) {
	var found *segment.Dir
	for _, d := range b.dirs {
		switch {
		case !meta.HasLog(d.Path()):
		case found != nil:
			return nil, fmt.Errorf("log dirs %s and %s both hold a metadata log", found.Path(), d.Path())
		default:
			found = d
		}
	}
	if found != nil {
		return found, nil
	}
	if len(b.lost) > 0 {
		return nil, fmt.Errorf("no log dir that can be used holds the metadata log: %w", b.lost[0].err)
	}
	for _, d := range b.dirs {
		if err := meta.RefuseLostLog(d.Path()); err != nil {
			return nil, err
		}
	}
	return b.dirs[0], nil
}
