package segmenttest

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"millrace/segment"
)

// Loose is a segment.Disk for directories in memory that live for moments: nothing is synced, allocation makes holes,
// and after Kill nothing is changed any more though it all seems to work, so that a dir that is closed leaves its files
// as a killed process would.
type Loose struct {
	segment.RealDisk
	killed atomic.Bool
}

// Kill makes the disk ignore all that comes.
func (d *Loose) Kill() { d.killed.Store(true) }

func (d *Loose) Engine(e segment.Engine) segment.Engine { return e }

func (d *Loose) Open(path string, flags int) (int, error) {
	if d.killed.Load() {
		path, flags = "/dev/null", unix.O_RDWR
	}
	return d.RealDisk.Open(path, flags)
}

func (d *Loose) WriteAt(fd int, b []byte, off int64) error {
	return d.unlessKilled(func() error { return d.RealDisk.WriteAt(fd, b, off) })
}

func (d *Loose) Fallocate(fd int, off, size int64) error {
	return d.unlessKilled(func() error { return extendSparse(fd, off+size) })
}

func (d *Loose) Truncate(fd int, size int64) error {
	return d.unlessKilled(func() error { return d.RealDisk.Truncate(fd, size) })
}

func (d *Loose) Fsync(int) error  { return nil }
func (d *Loose) Syncfs(int) error { return nil }

func (d *Loose) Mkdir(path string) error {
	return d.unlessKilled(func() error { return d.RealDisk.Mkdir(path) })
}

func (d *Loose) Rename(from, to string) error {
	return d.unlessKilled(func() error { return d.RealDisk.Rename(from, to) })
}

func (d *Loose) Remove(path string) error {
	return d.unlessKilled(func() error { return d.RealDisk.Remove(path) })
}

func (d *Loose) RemoveAll(path string) error {
	return d.unlessKilled(func() error { return d.RealDisk.RemoveAll(path) })
}

func (d *Loose) unlessKilled(f func() error) error {
	if d.killed.Load() {
		return nil
	}
	return f()
}
