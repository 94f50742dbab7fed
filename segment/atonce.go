package segment

import (
	"errors"
	"sync"
)

const (
	// manyAtOnce is how many files, directories or logs are waited for at the same time; the disk merges their flushes.
	manyAtOnce = 16
	// syncEach is up to how many files are flushed by themselves. Beyond that the file system is, which may hold
	// unwritten data of other programs too, but costs one flush.
	syncEach = 64
)

// atOnce calls f with 0 to n-1, manyAtOnce of them at a time, and joins the errors.
func atOnce(n int, f func(i int) error) error {
	errs := make([]error, n)
	slots := make(chan struct{}, manyAtOnce)
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = f(i)
			<-slots
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// flushAll makes n things durable, each by itself or, if they are many, all by a flush of the file system.
func (d *Dir) flushAll(n int, each func(i int) error) error {
	if n > syncEach {
		return d.disk.Syncfs(int(d.lock.Fd()))
	}
	return atOnce(n, each)
}
