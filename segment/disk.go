package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Disk is every way in which the files of a log dir are changed or made durable. What is only read is read from the file
// system itself. Not here are the lock file and the probe for direct I/O, which leave nothing behind that counts, and
// the contents of indexes, which package index maps; the segment makes them durable through Fsync and renames and
// removes them here.
//
// Methods may be called from any goroutine, with locks of the log held. Errors are the system's own.
type Disk interface {
	// Engine wraps the engine that was chosen, which writes and flushes log files.
	Engine(e Engine) Engine
	// Open opens a file that will or may be changed, with the flags of open(2). The descriptor is never 0, and is
	// the caller's to close.
	Open(path string, flags int) (fd int, err error)
	// WriteAt writes all of b at off through the page cache.
	WriteAt(fd int, b []byte, off int64) error
	// Fallocate allocates bytes [off, off+size) of the file, extending it; ENOSPC when there is no room.
	Fallocate(fd int, off, size int64) error
	// Truncate sets the size of the file.
	Truncate(fd int, size int64) error
	// Fsync makes content and size of a file durable, or the entries of a directory.
	Fsync(fd int) error
	// Syncfs is Fsync of everything on the file system that fd is on.
	Syncfs(fd int) error
	Mkdir(path string) error
	Rename(from, to string) error
	Remove(path string) error
	RemoveAll(path string) error
}

// RealDisk is the machine's own disk, what a nil DirOptions.Disk stands for.
type RealDisk struct{}

var _ Disk = RealDisk{}

func (RealDisk) Engine(e Engine) Engine { return e }

func (RealDisk) Open(path string, flags int) (fd int, err error) { return openFd(path, flags) }

func (RealDisk) WriteAt(fd int, b []byte, off int64) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(fd, b, off)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}

func (RealDisk) Fallocate(fd int, off, size int64) error {
	err := ignoringEINTR(func() error { return unix.Fallocate(fd, 0, off, size) })
	if errors.Is(err, unix.EOPNOTSUPP) {
		// Without allocation a full disk is met by a write, which takes the dir offline.
		return unix.Ftruncate(fd, off+size)
	}
	return err
}

func (RealDisk) Truncate(fd int, size int64) error {
	return ignoringEINTR(func() error { return unix.Ftruncate(fd, size) })
}

func (RealDisk) Fsync(fd int) error  { return ignoringEINTR(func() error { return unix.Fsync(fd) }) }
func (RealDisk) Syncfs(fd int) error { return ignoringEINTR(func() error { return unix.Syncfs(fd) }) }

func (RealDisk) Mkdir(path string) error      { return os.Mkdir(path, 0o755) }
func (RealDisk) Rename(from, to string) error { return os.Rename(from, to) }
func (RealDisk) Remove(path string) error     { return os.Remove(path) }
func (RealDisk) RemoveAll(path string) error  { return os.RemoveAll(path) }

func ignoringEINTR(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// syncDir makes what was created, renamed and removed in a directory durable.
func syncDir(disk Disk, path string) error {
	if err := syncPath(disk, path, unix.O_RDONLY|unix.O_DIRECTORY); err != nil {
		return fmt.Errorf("sync directory %s: %w", path, err)
	}
	return nil
}

// syncFile makes the content of a file durable.
func syncFile(disk Disk, path string) error {
	if err := syncPath(disk, path, unix.O_RDONLY); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}

func syncPath(disk Disk, path string, flags int) error {
	fd, err := openFd(path, flags)
	if err != nil {
		return err
	}
	err = disk.Fsync(fd)
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	return err
}

// writeFileDurable replaces the file at path. When it returns nil the content and the directory entry are on
// the disk; after an error path has either its old or its new content, whole.
func writeFileDurable(disk Disk, path string, content []byte) error {
	if err := replaceFile(disk, path, content, true); err != nil {
		return err
	}
	return syncDir(disk, filepath.Dir(path))
}

// replaceFile replaces the file at path by way of a temporary one, whose content is on the disk first if sync says so.
func replaceFile(disk Disk, path string, content []byte, sync bool) error {
	tmp := path + ".tmp"
	fd, err := disk.Open(tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC)
	if err != nil {
		return err
	}
	err = disk.WriteAt(fd, content, 0)
	if err == nil && sync {
		err = disk.Fsync(fd)
	}
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	if err == nil {
		err = disk.Rename(tmp, path)
	} else {
		err = fmt.Errorf("write %s: %w", tmp, err)
	}
	if err != nil {
		_ = disk.Remove(tmp)
	}
	return err
}
