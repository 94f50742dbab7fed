package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideEnv says to the program that it runs in its namespace already.
const insideEnv = "DISKFULL_INSIDE"

// exitError is how the program ended inside its namespace.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// inNamespace runs the program again in a mount namespace of its own, where what it mounts is seen by nobody else and goes
// when it ends, however it ends. It returns nil inside, and outside an error with how that went. Without the right to make
// one it tries a user namespace, in which everybody may mount.
func inNamespace() error {
	if os.Getenv(insideEnv) != "" {
		return nil
	}
	err := runInside(syscall.CLONE_NEWNS, nil)
	if errors.Is(err, unix.EPERM) {
		err = runInside(syscall.CLONE_NEWNS|syscall.CLONE_NEWUSER, []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}})
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
			err = fmt.Errorf("neither this user nor a user namespace may mount a disk to fill (see sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns): %w", err)
		}
	}
	if err == nil {
		return &exitError{0}
	}
	return err
}

func runInside(flags uintptr, uids []syscall.SysProcIDMap) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	attr := &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL, UidMappings: uids}
	if uids != nil {
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	cmd.SysProcAttr = attr
	err = cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return &exitError{max(ended.ExitCode(), 1)}
	}
	return err
}

// mount puts a tmpfs of so many MiB at dir.
func mount(dir string, mb int) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("diskfull", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mb)); err != nil {
		return fmt.Errorf("mount tmpfs at %s: %w", dir, err)
	}
	return nil
}

func unmount(dir string) error {
	if err := unix.Unmount(dir, 0); err != nil {
		return fmt.Errorf("unmount %s: %w", dir, err)
	}
	return nil
}

// freeBytes is what is left on the file system of dir.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("statfs %s: %w", dir, err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// ballast is a file of somebody else's on the same disk.
type ballast struct{ path string }

// topUp lets it take all that is left, to the last block. It may be called again and again.
func (b *ballast) topUp() error {
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 4096, 1} {
		piece := make([]byte, size)
		for {
			_, err := f.Write(piece)
			if errors.Is(err, unix.ENOSPC) {
				break
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// remove gives its space back; it need not exist.
func (b *ballast) remove() error {
	if err := os.Remove(b.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
