package segment

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// reserveBytes is the disk space kept for metadata, offsets and recovery on a full disk.
const reserveBytes = 4 << 20

// makeReserve allocates the reserve, if there is room for it.
func (d *Dir) makeReserve() error {
	path := filepath.Join(d.opts.Path, reserveFile)
	if fi, err := os.Stat(path); err == nil && fi.Size() >= reserveBytes {
		return nil
	}
	fd, err := d.disk.Open(path, unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := d.disk.Fallocate(fd, 0, reserveBytes); err != nil {
		_ = d.disk.Remove(path)
		return err
	}
	return nil
}

// releaseReserve gives the reserved space up. Until there is a reserve again only logs that keep the node going are
// given space: they would not get any of it if producers could take it first.
// False: it is not there, nor was it a moment ago.
func (d *Dir) releaseReserve() bool {
	d.reserveMu.Lock()
	defer d.reserveMu.Unlock()
	if d.disk.Remove(filepath.Join(d.opts.Path, reserveFile)) != nil {
		return time.Since(d.reserveLeft) < time.Second // another's request has just given it up
	}
	d.reserveLeft = time.Now()
	d.reserveGone.Store(true)
	d.log.Warn("disk is full; the reserve is given up for metadata and offsets, other logs wait for space", "dir", d.opts.Path)
	return true
}

// remakeReserve puts the reserve back once there is space for it; other logs may then grow again.
func (d *Dir) remakeReserve() {
	d.reserveMu.Lock()
	defer d.reserveMu.Unlock()
	if d.reserveGone.Load() && d.makeReserve() == nil {
		d.reserveGone.Store(false)
		d.log.Info("disk has space again", "dir", d.opts.Path)
	}
}

// full says that the file system has little space left, or that it does not tell.
func (d *Dir) full() bool {
	var st unix.Statfs_t
	err := unix.Statfs(d.opts.Path, &st)
	return err != nil || st.Bavail*uint64(st.Bsize) < reserveBytes
}

// allocate gives a file of a log the bytes from from up to to, or on a disk that has not that much left up to least, and
// says which. The reserve is given in the smaller pieces: it has to last. ENOSPC: not now.
func (d *Dir) allocate(fd int, from, to, least int64, c *LogConfig) (end int64, err error) {
	if d.reserveGone.Load() {
		if !c.KeepsNodeGoing {
			d.hungry.Store(true)
			return 0, unix.ENOSPC
		}
		to = least
	}
	err = d.disk.Fallocate(fd, from, to-from)
	if noSpace(err) && to > least {
		to = least
		err = d.disk.Fallocate(fd, from, to-from)
	}
	if noSpace(err) {
		d.hungry.Store(true)
		if c.KeepsNodeGoing && d.releaseReserve() {
			err = d.disk.Fallocate(fd, from, to-from)
		}
	}
	return to, err
}

// sparing does f, which writes something small that does not belong to a log's data, once more with the reserve given up
// for it if the disk is full.
func (d *Dir) sparing(f func() error) error {
	err := f()
	if noSpace(err) {
		d.hungry.Store(true)
		if d.releaseReserve() {
			err = f()
		}
	}
	return err
}

// noSpace says that an error comes from a full disk or an exhausted quota.
func noSpace(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
