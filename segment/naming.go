package segment

import (
	"fmt"
	"path/filepath"
	"sync"
)

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
	hungry  []newcomer // those that wait for space
	closing bool       // there will be no space in time any more
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
	_ = atOnce(len(batch), func(i int) error {
		fresh[i], errs[i] = batch[i].name()
		return nil
	})
	var rootErr error
	for _, f := range fresh {
		if f {
			rootErr = syncDir(n.dir.disk, n.dir.opts.Path)
			break
		}
	}
	for i, c := range batch {
		if errs[i] == nil && fresh[i] {
			errs[i] = rootErr
		}
		if noSpace(errs[i]) {
			n.putOff(c)
		} else {
			c.named(errs[i])
		}
	}
	for i, c := range batch {
		if !noSpace(errs[i]) {
			c.log.makeIndexes(c.seg)
		}
	}
}

// putOff keeps a newcomer until there may be space: what was appended to it is not acknowledged meanwhile. Nothing has
// failed that would take the dir offline.
func (n *naming) putOff(c newcomer) {
	n.dir.hungry.Store(true)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closing {
		c.abandon()
		return
	}
	n.hungry = append(n.hungry, c)
}

// close has those that were put off tried a last time: a log whose new segment finds no space even now ends where its
// last one does.
func (n *naming) close() {
	n.mu.Lock()
	n.closing = true
	hungry := len(n.hungry) > 0
	n.mu.Unlock()
	if hungry {
		n.dir.releaseReserve()
		n.again()
	}
}

// again has the keeper try those that were put off. Called by housekeeping.
func (n *naming) again() {
	n.mu.Lock()
	retry := len(n.hungry) > 0
	n.waiting = append(n.waiting, n.hungry...)
	n.hungry = nil
	n.mu.Unlock()
	if retry {
		n.dir.keeper.soon(n.run)
	}
}

// name gives the file its name and makes the log's directory durable. fresh: the dir's own entry has to follow.
func (c *newcomer) name() (fresh bool, err error) {
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
		c.from = to
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

// abandon closes the log, whose last batches cannot be written any more, so that Dir.Close does not wait for them.
func (c newcomer) abandon() {
	l := c.log
	l.mu.Lock()
	lost := l.end.Load() - c.seg.baseOffset
	l.closed, l.abandoned = true, true
	l.idle.Broadcast()
	l.mu.Unlock()
	l.dir.log.Error("disk is full; records that wait for a segment are not written", "file", c.seg.path+logSuffix, "records", lost)
}
