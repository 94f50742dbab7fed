package segment

import (
	"fmt"
	"path/filepath"
	"sync"
)

// nameAtOnce is how many directories are synced at the same time; the disk merges their flushes.
const nameAtOnce = 16

// newcomer is a segment whose file has to get its name and a durable directory entry before it is written.
type newcomer struct {
	log  *Log
	seg  *segment
	from string // present path of the file
}

// naming collects newcomers, so that the first appends to a thousand partitions share flushes.
type naming struct {
	dir *Dir

	mu      sync.Mutex
	waiting []newcomer
}

// add hands a segment over; the keeper names it and lets the writer begin. Under the log's lock.
func (n *naming) add(c newcomer) {
	n.mu.Lock()
	n.waiting = append(n.waiting, c)
	first := len(n.waiting) == 1
	n.mu.Unlock()
	if first {
		n.dir.keeper.soon(n.run)
	}
}

// run names all that wait, on the keeper.
func (n *naming) run() {
	n.mu.Lock()
	batch := n.waiting
	n.waiting = nil
	n.mu.Unlock()
	errs := make([]error, len(batch))
	fresh := make([]bool, len(batch))
	slots := make(chan struct{}, nameAtOnce)
	var wg sync.WaitGroup
	for i, c := range batch {
		slots <- struct{}{}
		wg.Go(func() {
			fresh[i], errs[i] = c.name()
			<-slots
		})
	}
	wg.Wait()
	var rootErr error
	for _, f := range fresh {
		if f {
			rootErr = n.newDirs()
			break
		}
	}
	for i, c := range batch {
		err := errs[i]
		if err == nil && fresh[i] {
			err = rootErr
		}
		c.named(err)
	}
	for _, c := range batch {
		c.log.makeIndexes(c.seg)
	}
}

// newDirs makes the entries of new partition directories durable, and first that what the checkpoints knew of an
// earlier log of the same name is gone: after a crash it would be believed of the new one.
func (n *naming) newDirs() error {
	if err := n.dir.recoveryPoints.write(); err != nil {
		return err
	}
	if err := n.dir.startOffsets.write(); err != nil {
		return err
	}
	return syncDir(n.dir.disk, n.dir.opts.Path)
}

// name gives the file its name and makes the log's directory durable. fresh: the dir's own entry has to follow.
func (c newcomer) name() (fresh bool, err error) {
	l := c.log
	l.mu.Lock()
	path, gone, fresh := c.seg.path, l.closed || c.seg.dropped, l.fresh
	l.mu.Unlock()
	if gone {
		return false, nil
	}
	if to := path + logSuffix; c.from != to {
		if err := l.dir.disk.Rename(c.from, to); err != nil {
			return false, err
		}
	}
	if fresh {
		if err := syncFile(l.dir.disk, filepath.Join(filepath.Dir(path), partitionMetaFile)); err != nil {
			return false, err
		}
	}
	return fresh, syncDir(l.dir.disk, filepath.Dir(path))
}

// named lets the writer begin, or takes the dir offline because files cannot be made in it.
func (c newcomer) named(err error) {
	l := c.log
	l.mu.Lock()
	gone := l.closed || c.seg.dropped
	if err == nil && !gone {
		c.seg.named, l.fresh = true, false
		l.submit()
	}
	l.mu.Unlock()
	if err != nil && !gone {
		l.dir.fail(fmt.Errorf("create segment %s: %w", c.seg.path, err))
	}
}
