package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
)

// What recovery found behind the recovery point may be in the page cache only, and where it cut a file the disk may not know
// yet. All logs that a start recovers share the flushes for that: a thousand that were written just before a crash would
// need some thousand of them otherwise. Until then a log's recovery point stays where it was; a log that is appended to
// before is flushed by itself.

// unsettled is the logs with something recovered that may not be on the disk.
type unsettled struct {
	mu      sync.Mutex
	logs    []*Log
	started bool // SettleRecovered was called: logs opened from now on settle at once
}

// add takes a log that was recovered and says whether it has to be settled at once. No lock is held.
func (u *unsettled) add(l *Log) (now bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.started {
		u.logs = append(u.logs, l)
	}
	return u.started
}

// SettleRecovered makes durable what was recovered of the logs opened so far, so that the next start need not read it
// again. After an error the dir is offline. Blocking; to be called once, when the logs of a start are open.
func (d *Dir) SettleRecovered() error {
	d.unsettled.mu.Lock()
	logs := d.unsettled.logs
	d.unsettled.logs, d.unsettled.started = nil, true
	d.unsettled.mu.Unlock()
	if len(logs) == 0 {
		return nil
	}
	return d.settle(logs)
}

func (d *Dir) settle(logs []*Log) error {
	if err := d.flushAll(len(logs), func(i int) error { return logs[i].flushRecovered() }); err != nil {
		err = fmt.Errorf("flush what was recovered: %w", err)
		d.fail(err)
		return err
	}
	for _, l := range logs {
		l.mu.Lock()
		if l.unsettled && !l.closed && !l.cutting {
			l.unsettled = false
			l.advanceRecoveryPoint(l.recoveredTo)
		}
		l.mu.Unlock()
	}
	d.keeper.later(func() {}) // it writes the recovery points when it is done
	return nil
}

// flushRecovered flushes all of one log. One that was deleted meanwhile needs nothing.
func (l *Log) flushRecovered() error {
	l.mu.Lock()
	var files []string
	if l.unsettled && !l.closed {
		files = l.unsynced()
		files = append(files, filepath.Join(l.path, epochFileName))
		if l.snapshotAt != "" {
			files = append(files, l.snapshotAt)
		}
	}
	l.mu.Unlock()
	for _, path := range files {
		if err := syncFile(l.dir.disk, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(files) == 0 {
		return nil
	}
	if err := syncDir(l.dir.disk, l.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// unsynced is the segment files in which recovery found something new, or that it cut. Under l.mu.
func (l *Log) unsynced() (files []string) {
	for _, s := range l.segments {
		if s.unsynced {
			files = append(files, s.path+logSuffix)
		}
	}
	return files
}

// settleToAppend flushes the segments of a log that was not settled yet: what they end with must not change by a crash
// once there is something behind it. The recovery point is left to the next checkpoint. Under l.mu.
func (l *Log) settleToAppend() error {
	if !l.unsettled {
		return nil
	}
	for _, path := range l.unsynced() {
		if err := syncFile(l.dir.disk, path); err != nil {
			l.dir.failSoon(err)
			return err
		}
	}
	l.unsettled, l.loose = false, true
	return nil
}
