package journal

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// create makes a file of zeros, on the disk.
func create(path string, size int64, flags int) (*file, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC|flags, 0o644)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err := fill(fd, size); err != nil {
		unix.Close(fd)
		os.Remove(path)
		return nil, &os.PathError{Op: "write", Path: path, Err: err}
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		unix.Close(fd)
		os.Remove(path)
		return nil, err
	}
	return &file{path: path, fd: fd, size: size}, nil
}

// fill writes zeros, so that later writes neither allocate nor convert anything.
func fill(fd int, size int64) error {
	if err := unix.Fallocate(fd, 0, 0, size); err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	zeros, err := unix.Mmap(-1, 0, int(min(size, 1<<20)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	defer unix.Munmap(zeros)
	for off := int64(0); off < size; {
		n, err := unix.Pwrite(fd, zeros[:min(size-off, int64(len(zeros)))], off)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		off += int64(n)
	}
	return unix.Fsync(fd)
}

// invalidate overwrites the first block, on the disk.
func invalidate(fd int) error {
	zeros, err := unix.Mmap(-1, 0, Block, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	defer unix.Munmap(zeros)
	for {
		n, err := unix.Pwritev2(fd, [][]byte{zeros}, 0, unix.RWF_DSYNC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case n < Block:
			return unix.EIO
		}
		return nil
	}
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
