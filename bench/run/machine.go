package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// describeMachine is what a reader needs to know to place the figures.
func describeMachine(dir string) string {
	var u unix.Utsname
	_ = unix.Uname(&u)
	kernel := string(bytes.TrimRight(u.Release[:], "\x00"))
	s := fmt.Sprintf("%d CPUs, %s, Linux %s, %s", runtime.NumCPU(), cpuModel(), kernel, runtime.Version())
	flush, err := flushTime(dir)
	if err != nil {
		return s + fmt.Sprintf("; direct durable writes fail here (%v)", err)
	}
	return s + fmt.Sprintf("; a durable direct write of 64 KiB takes %v", flush.Round(time.Microsecond))
}

func cpuModel() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// flushTime is the median time of a durable direct write into an allocated file: a flush
// costs little on some disks and much on others, and flushing before the
// acknowledgement must be read in that light.
func flushTime(dir string) (time.Duration, error) {
	const size, writes = 64 << 10, 51
	path := filepath.Join(dir, "flush-probe")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_DIRECT|unix.O_DSYNC, 0o644)
	if err != nil {
		return 0, err
	}
	defer os.Remove(path)
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), 0, 0, size*writes); err != nil {
		return 0, err
	}
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return 0, err
	}
	defer unix.Munmap(mem)
	times := make([]time.Duration, writes)
	for i := range times {
		begin := time.Now()
		if _, err := f.WriteAt(mem, int64(i*size)); err != nil {
			return 0, err
		}
		times[i] = time.Since(begin)
	}
	slices.Sort(times)
	return times[writes/2], nil
}
