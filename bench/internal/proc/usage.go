package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticksPerSecond is USER_HZ, the unit of the times in /proc/PID/stat. Linux has
// fixed it at 100 towards user space on every architecture that Go runs on.
const ticksPerSecond = 100

// Usage is what one or several processes have used since they started.
type Usage struct {
	UserSeconds float64
	SysSeconds  float64
	// RSSMiB is the memory resident now, PeakMiB the most that ever was.
	RSSMiB  float64
	PeakMiB float64
}

// CPUSeconds is the processor time in both modes.
func (u Usage) CPUSeconds() float64 { return u.UserSeconds + u.SysSeconds }

// Since is the processor time used after before was taken; memory is as it is now.
func (u Usage) Since(before Usage) Usage {
	u.UserSeconds -= before.UserSeconds
	u.SysSeconds -= before.SysSeconds
	return u
}

// Of adds up the usage of the processes with these ids, threads that ended included.
func Of(pids ...int) (Usage, error) {
	var sum Usage
	for _, pid := range pids {
		if err := sum.add(pid); err != nil {
			return Usage{}, err
		}
	}
	return sum, nil
}

func (u *Usage) add(pid int) error {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	stat, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	user, sys, err := cpuTicks(stat)
	if err != nil {
		return fmt.Errorf("parse %s: %w", path, err)
	}
	u.UserSeconds += user / ticksPerSecond
	u.SysSeconds += sys / ticksPerSecond
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return err
	}
	u.RSSMiB += kibibytes(status, "VmRSS:") / 1024
	u.PeakMiB += kibibytes(status, "VmHWM:") / 1024
	return nil
}

// cpuTicks takes utime and stime, fields 14 and 15, out of a stat line. The second
// field is the command in parentheses and may itself hold spaces and parentheses.
func cpuTicks(stat []byte) (user, sys float64, err error) {
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	if end < 0 || len(fields) < 13 {
		return 0, 0, fmt.Errorf("%d fields after the command", len(fields))
	}
	if user, err = strconv.ParseFloat(fields[11], 64); err != nil {
		return 0, 0, err
	}
	sys, err = strconv.ParseFloat(fields[12], 64)
	return user, sys, err
}

// kibibytes is the value of one "Name: 123 kB" line of a status file, 0 if it is not
// there (a process that has ended has no memory lines).
func kibibytes(status []byte, name string) float64 {
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		if len(f) >= 2 && f[0] == name {
			v, _ := strconv.ParseFloat(f[1], 64)
			return v
		}
	}
	return 0
}

// MachineBusySeconds is the processor time that all processes of the machine have used
// since it started, the kernel's own included: what is not idle, waiting for a disk, or
// taken by a hypervisor.
func MachineBusySeconds() (float64, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(line)
	if len(fields) < 8 || fields[0] != "cpu" {
		return 0, fmt.Errorf("parse /proc/stat: first line is %q", line)
	}
	busy := 0.0
	for _, i := range []int{1, 2, 3, 6, 7} { // user, nice, system, irq, softirq
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return 0, fmt.Errorf("parse /proc/stat: %w", err)
		}
		busy += v
	}
	return busy / ticksPerSecond, nil
}

// Alive tells whether there is a process with this id that has not ended.
func Alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, ok := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(" "))
	return ok && len(rest) > 0 && rest[0] != 'Z'
}
