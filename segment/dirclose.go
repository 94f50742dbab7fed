package segment

import (
	"errors"
	"fmt"
)

// Close drains and flushes all logs, cuts files to size, writes producer snapshots and checkpoints and, if all went
// well, the clean-shutdown marker. Appends answer ErrClosed from its beginning on.
func (d *Dir) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	d.mu.Unlock()
	d.scrubber.close()
	d.house.close()
	d.naming.close()
	var errs []error
	logs := d.all()
	for _, l := range logs {
		l.beginClose()
	}
	for _, l := range logs {
		if err := l.drain(); err != nil {
			errs = append(errs, err)
		}
	}
	d.rounds.close()
	d.keeper.drain()
	if d.reserveGone.Load() || d.full() {
		d.releaseReserve() // what makes the next start quick is worth it, and the reserve is made anew then
	}
	errs = append(errs, atOnce(len(logs), func(i int) error { return logs[i].close() }))
	d.writer.close()
	if err := d.disk.Syncfs(int(d.lock.Fd())); err != nil {
		errs = append(errs, fmt.Errorf("syncfs: %w", err))
	}
	abandoned := false
	for _, l := range logs {
		if l.abandoned {
			abandoned = true
		} else if errors.Join(errs...) == nil && d.Err() == nil {
			l.closedCleanly()
		}
	}
	d.keeper.close()
	if err := d.startOffsets.write(); err != nil {
		errs = append(errs, err)
	}
	if err := d.compaction.write(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, d.journal.Close(abandoned || errors.Join(errs...) != nil || d.Err() != nil))
	err := errors.Join(errs...)
	if err == nil && d.Err() == nil {
		err = d.leaveMarker(logs)
	}
	if !d.writer.dead.Load() {
		d.pool.Close()
	}
	d.lock.Close()
	if err != nil {
		return fmt.Errorf("close log dir %s: %w", d.opts.Path, err)
	}
	return nil
}
