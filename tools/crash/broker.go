package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// startLimit is how long a restart may take before it counts as failed.
const startLimit = time.Minute

// broker is the process under test. Its methods are for one goroutine.
type broker struct {
	command []string
	addr    string
	log     string

	cmd *exec.Cmd
	// ended carries the result of Wait, once.
	ended chan error
}

// newBroker prepares a broker with its data and its output in dir.
func newBroker(o *options, dir, addr string) *broker {
	command := []string{o.binary, "serve", "--data-dir", filepath.Join(dir, "data"), "--listen", addr, "--http", o.http}
	for _, s := range o.sets {
		command = append(command, "--set", s)
	}
	if o.command != "" {
		command = strings.Fields(o.command)
	}
	return &broker{command: command, addr: addr, log: filepath.Join(dir, "server.log")}
}

// start runs the process; it does not wait until it serves.
func (b *broker) start() error {
	out, err := os.OpenFile(b.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	b.cmd = exec.Command(b.command[0], b.command[1:]...)
	b.cmd.Stdout, b.cmd.Stderr = out, out
	// The broker must not outlive a tester that is itself killed.
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := b.cmd.Start(); err != nil {
		return fmt.Errorf("start broker: %w", err)
	}
	b.ended = make(chan error, 1)
	go func(cmd *exec.Cmd, ended chan<- error) { ended <- cmd.Wait() }(b.cmd, b.ended)
	return nil
}

// startServing runs the process and returns how long it took until it served.
func (b *broker) startServing(ctx context.Context, topic string, partitions int) (time.Duration, error) {
	begin := time.Now()
	if err := b.start(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- awaitServing(ctx, b.addr, topic, partitions) }()
	select {
	case err := <-served:
		return time.Since(begin), b.explain(err)
	case err := <-b.ended:
		b.ended <- err
		return 0, b.explain(fmt.Errorf("broker ended while starting: %v", err))
	}
}

// stayAlive waits for d and fails if the broker ends by itself in that time.
func (b *broker) stayAlive(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	case err := <-b.ended:
		b.ended <- err
		return b.explain(fmt.Errorf("broker ended by itself: %v", err))
	}
}

// kill ends the process with SIGKILL and returns when it is gone.
func (b *broker) kill() error {
	if b.cmd == nil {
		return nil
	}
	if err := b.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill broker: %w", err)
	}
	<-b.ended
	b.cmd = nil
	return nil
}

// explain adds the end of the broker's output to an error.
func (b *broker) explain(err error) error {
	if err == nil {
		return nil
	}
	out, _ := os.ReadFile(b.log)
	const tail = 4000
	return fmt.Errorf("%w\nlast output of the broker (%s):\n%s", err, b.log, out[max(len(out)-tail, 0):])
}
