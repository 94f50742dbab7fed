package segment

import (
	"path/filepath"
)

// What is appended since the last checkpoints is what a restart after kill -9 has to read again, so it is bounded, in
// bytes: for each log, and for all logs of a dir together. To that comes what is written while a checkpoint is taken.
const defaultCheckpointBytes = 64 << 20

// checkpointDue counts n appended bytes and says whether the logs of the dir need a checkpoint.
func (d *Dir) checkpointDue(n int) bool {
	sum := d.uncheckpointed.Add(int64(n))
	return sum >= 2*d.opts.CheckpointBytes && d.uncheckpointed.CompareAndSwap(sum, 0)
}

// checkpointAll takes a recovery point of every log that has something to gain, on the keeper.
func (d *Dir) checkpointAll() {
	for _, l := range d.all() {
		l.mu.Lock()
		due := l.sinceCheckpoint > 0 && !l.checkpointing
		l.mu.Unlock()
		if due {
			l.checkpoint()
		}
	}
}

// checkpoint is a recovery point being made: once everything below offset is on the disk, the producer state as it was
// there is written, and then the offset.
type checkpoint struct {
	offset   int64
	snapshot []byte
}

// checkpoint takes a recovery point at the end of the log, on the keeper.
func (l *Log) checkpoint() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checkpointing = true
	end := l.end.Load()
	if l.closed || l.cutting || l.pending != nil || end <= l.recoveryPoint {
		l.checkpointing = l.pending != nil
		return
	}
	l.pending = &checkpoint{end, l.producers.AppendSnapshot(nil)}
	l.sinceCheckpoint = 0
	if l.cfg.Durability == Async {
		l.flushTarget = end
		l.submit()
	}
	l.checkpointDurable()
}

// checkpointDurable hands the pending checkpoint on once its offset is durable. Under l.mu.
func (l *Log) checkpointDurable() {
	c := l.pending
	if c == nil || l.durable.Load() < c.offset {
		return
	}
	l.pending = nil
	l.dir.keeper.later(func() { l.writeCheckpoint(c) })
}

func (l *Log) writeCheckpoint(c *checkpoint) {
	l.mu.Lock()
	path := filepath.Join(l.path, baseName(c.offset)+snapshotSuffix)
	skip := l.closed || l.cutting || c.offset > l.end.Load()
	l.mu.Unlock()
	ok := !skip && l.writeSnapshot(path, c.snapshot) && l.epochsFixed()
	l.mu.Lock()
	l.checkpointing = false
	if !ok || l.closed || l.cutting {
		l.mu.Unlock()
		return
	}
	l.advanceRecoveryPoint(c.offset)
	obsolete := l.snapshotAt
	l.snapshotAt = path
	for _, s := range l.segments {
		if obsolete == s.path+snapshotSuffix {
			obsolete = ""
		}
	}
	l.mu.Unlock()
	if obsolete != "" && obsolete != path {
		_ = l.dir.disk.Remove(obsolete)
	}
}

// writeSnapshot writes a producer snapshot durably. Without one the next start reads more; that is all.
func (l *Log) writeSnapshot(path string, snapshot []byte) bool {
	err := writeFileDurable(l.dir.disk, path, snapshot)
	if err != nil && !l.isClosed() {
		l.dir.log.Warn("producer snapshot not written", "file", path, "err", err)
	}
	return err == nil
}

// epochsFixed is fixEpochs; without the epochs the recovery point stays where it is.
func (l *Log) epochsFixed() bool {
	err := l.fixEpochs()
	if err != nil && !l.isClosed() {
		l.dir.log.Warn("leader epochs not written", "dir", l.path, "err", err)
	}
	return err == nil
}

func (l *Log) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// advanceRecoveryPoint notes that everything below offset is on the disk and need not be read at the next start.
// Under l.mu. The file is written when the keeper is done with what it has.
func (l *Log) advanceRecoveryPoint(offset int64) {
	if offset > l.recoveryPoint {
		l.recoveryPoint = offset
		l.dir.recoveryPoints.set(l.topic, l.partition, offset)
	}
}
