package segmenttest

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// pwriteBuffered writes to the file behind fd through the page cache, whatever flags fd was opened with.
func pwriteBuffered(fd int, b []byte, off int64) error {
	again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(again)
	_, err = unix.Pwrite(again, b, off)
	return err
}
