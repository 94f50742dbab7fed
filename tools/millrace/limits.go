package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What a node with many partitions and connections needs. Below, it works, but not for long.
const (
	wantedFiles = 65_536
	wantedMaps  = 65_530 // the kernel's default; indexes beyond it are unmapped and mapped again
)

// limits are those of the process and the kernel. 0: not known.
type limits struct {
	files  uint64
	memory uint64 // that may be locked, bytes; MaxUint64: no limit
	maps   uint64
}

func readLimits() limits {
	var l limits
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) == nil {
		l.files = r.Cur // Go has raised it to the hard limit
	}
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &r) == nil {
		l.memory = r.Cur
		if os.Geteuid() == 0 {
			l.memory = math.MaxUint64 // by CAP_IPC_LOCK
		}
	}
	if b, err := os.ReadFile("/proc/sys/vm/max_map_count"); err == nil {
		l.maps, _ = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	}
	return l
}

// wantingLimits names the limits that are too low for slabBytes of registered memory, many files and many maps, and
// what to change.
func wantingLimits(slabBytes int64, l limits) []string {
	var out []string
	if l.files != 0 && l.files < wantedFiles {
		out = append(out, fmt.Sprintf("%d open files: a partition takes a few, a connection one; LimitNOFILE=1048576 in the unit, or ulimit -n", l.files))
	}
	if l.memory != 0 && l.memory < uint64(slabBytes) {
		out = append(out, fmt.Sprintf("%d KiB of locked memory, less than log.slab.bytes: the ring works without registered buffers; "+
			"LimitMEMLOCK=infinity in the unit, or ulimit -l", l.memory>>10))
	}
	if l.maps != 0 && l.maps < wantedMaps {
		out = append(out, fmt.Sprintf("%d memory maps: many partitions map and unmap their indexes all the time; sysctl vm.max_map_count=1048576", l.maps))
	}
	return out
}
