package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// startLimit is how long a restart may take before it counts as failed.
const startLimit = time.Minute

// Broker is the process under test. Its methods are for one goroutine; Addr and HTTP may be read by any.
type Broker struct {
	Addr string // HOST:PORT of the listener
	HTTP string // HOST:PORT of metrics and profiles; empty: there is none
	Log  string // the file that takes the process's output

	command []string
	cmd     *exec.Cmd
	// ended is closed when the process is gone; then result is what Wait said.
	ended  chan struct{}
	result error
}

// NewBroker prepares a broker of the program binary with the given data dir and output; sets are KEY=VALUE.
func NewBroker(binary, data, log, addr, http string, sets []string) *Broker {
	command := []string{binary, "serve", "--data-dir", data, "--listen", addr, "--http", http}
	for _, s := range sets {
		command = append(command, "--set", s)
	}
	return &Broker{Addr: addr, HTTP: http, Log: log, command: command}
}

// NewCommand prepares another broker that speaks Kafka's protocol, by its command line, split at spaces.
func NewCommand(command, log, addr string) *Broker {
	return &Broker{Addr: addr, Log: log, command: strings.Fields(command)}
}

// Start runs the process; it does not wait until it serves.
func (b *Broker) Start() error {
	out, err := os.OpenFile(b.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
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
	ended := make(chan struct{})
	b.ended = ended
	go func(cmd *exec.Cmd) {
		b.result = cmd.Wait()
		close(ended)
	}(b.cmd)
	return nil
}

// StartServing runs the process and returns how long it took until it served: until it answers the end offset of every
// partition of the topic, or, for an empty topic, ApiVersions.
func (b *Broker) StartServing(ctx context.Context, topic string, partitions int) (time.Duration, error) {
	begin := time.Now()
	if err := b.Start(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- awaitServing(ctx, b.Addr, topic, partitions) }()
	select {
	case err := <-served:
		return time.Since(begin), b.Explain(err)
	case <-b.ended:
		return 0, b.Explain(fmt.Errorf("broker ended while starting: %v", b.result))
	}
}

// StayAlive waits for d and fails if the broker ends by itself in that time.
func (b *Broker) StayAlive(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	case <-b.ended:
		return b.Explain(fmt.Errorf("broker ended by itself: %v", b.result))
	}
}

// Kill ends the process with SIGKILL and returns when it is gone.
func (b *Broker) Kill() error {
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

// Stop ends the process with SIGTERM, which is a clean shutdown, and returns when it is gone: an error if it did not
// end well.
func (b *Broker) Stop(ctx context.Context) error {
	if b.cmd == nil {
		return nil
	}
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop broker: %w", err)
	}
	select {
	case <-b.ended:
		b.cmd = nil
		if b.result != nil {
			return b.Explain(fmt.Errorf("clean shutdown: %w", b.result))
		}
		return nil
	case <-ctx.Done():
		return errors.Join(b.Explain(fmt.Errorf("clean shutdown: %w", context.Cause(ctx))), b.Kill())
	}
}

// Ended is closed when the process that runs now is gone.
func (b *Broker) Ended() <-chan struct{} { return b.ended }

// PID is the process's id, 0 while there is none.
func (b *Broker) PID() int {
	if b.cmd == nil {
		return 0
	}
	return b.cmd.Process.Pid
}

// Explain adds the end of the broker's output to an error.
func (b *Broker) Explain(err error) error {
	if err == nil {
		return nil
	}
	out, _ := os.ReadFile(b.Log)
	const tail = 4000
	return fmt.Errorf("%w\nlast output of the broker (%s):\n%s", err, b.Log, out[max(len(out)-tail, 0):])
}
