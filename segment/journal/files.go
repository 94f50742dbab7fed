package journal

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Files is how the journal changes its directory. Package segment's Disk is one.
type Files interface {
	Open(path string, flags int) (fd int, err error)
	WriteAt(fd int, b []byte, off int64) error
	Fallocate(fd int, off, size int64) error
	Fsync(fd int) error
	Remove(path string) error
}

// file is one journal file. Its blocks have all been written, so that a write in it changes no metadata.
type file struct {
	path string
	fd   int
	size int64
	used int64
	use
}

// create makes a file of zeros, on the disk.
func (j *Journal) create(path string, size int64) (*file, error) {
	fd, err := j.disk.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC|j.flags)
	if err != nil {
		return nil, err
	}
	err = j.fill(fd, size)
	if err == nil {
		err = syncDir(j.disk, filepath.Dir(path))
	}
	if err != nil {
		unix.Close(fd)
		_ = j.disk.Remove(path)
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &file{path: path, fd: fd, size: size}, nil
}

// fill writes zeros, so that later writes neither allocate nor convert anything.
func (j *Journal) fill(fd int, size int64) error {
	if err := j.disk.Fallocate(fd, 0, size); err != nil {
		return err
	}
	zeros, err := unix.Mmap(-1, 0, int(min(size, 1<<20)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	defer unix.Munmap(zeros)
	for off := int64(0); off < size; off += int64(len(zeros)) {
		if err := j.disk.WriteAt(fd, zeros[:min(size-off, int64(len(zeros)))], off); err != nil {
			return err
		}
	}
	return j.disk.Fsync(fd)
}

// invalidate overwrites the first block, on the disk.
func (j *Journal) invalidate(fd int) error {
	zeros, err := unix.Mmap(-1, 0, Block, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	defer unix.Munmap(zeros)
	if err := j.disk.WriteAt(fd, zeros, 0); err != nil {
		return err
	}
	return j.disk.Fsync(fd)
}

func (j *Journal) remove(f *file) error {
	unix.Close(f.fd)
	return j.disk.Remove(f.path)
}

func syncDir(disk Files, path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return disk.Fsync(int(d.Fd()))
}
