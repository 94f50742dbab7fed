package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// The broker must serve and must be gone within these.
const (
	startLimit = 30 * time.Second
	stopLimit  = 60 * time.Second
)

// broker is the process under test. Its methods are for one goroutine.
type broker struct {
	bin, dir, addr, http string
	cmd                  *exec.Cmd
	ended                chan error
}

func (b *broker) data() string { return filepath.Join(b.dir, "data") }

// startBroker starts a broker on free loopback ports with its data below dir.
func startBroker(ctx context.Context, bin, dir string) (*broker, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	b := &broker{bin: bin, dir: dir}
	var err error
	if b.addr, err = freeAddr(); err != nil {
		return nil, err
	}
	if b.http, err = freeAddr(); err != nil {
		return nil, err
	}
	return b, b.start(ctx)
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// start runs the process and returns when it accepts connections.
func (b *broker) start(ctx context.Context) error {
	log, err := os.OpenFile(b.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	b.cmd = exec.Command(b.bin, "serve", "--data-dir", b.data(), "--listen", b.addr, "--http", b.http,
		"--set", "group.initial.rebalance.delay.ms=500", "--set", "auto.create.topics.enable=false")
	b.cmd.Stdout, b.cmd.Stderr = log, log
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := b.cmd.Start(); err != nil {
		return fmt.Errorf("start broker: %w", err)
	}
	b.ended = make(chan error, 1)
	go func(cmd *exec.Cmd, ended chan<- error) { ended <- cmd.Wait() }(b.cmd, b.ended)
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		if c, err := net.Dial("tcp", b.addr); err == nil {
			return c.Close()
		}
		select {
		case err := <-b.ended:
			b.cmd = nil
			return fmt.Errorf("broker ended while starting: %v; see %s", err, b.logFile())
		case <-ctx.Done():
			return fmt.Errorf("broker does not accept connections: %w; see %s", ctx.Err(), b.logFile())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (b *broker) logFile() string { return filepath.Join(b.dir, "server.log") }

// stop ends the process with SIGTERM; anything but exit 0 is an error.
func (b *broker) stop() error {
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop broker: %w", err)
	}
	select {
	case err := <-b.ended:
		b.cmd = nil
		if err != nil {
			return fmt.Errorf("stop broker: %w; see %s", err, b.logFile())
		}
		return nil
	case <-time.After(stopLimit):
		return fmt.Errorf("broker still runs %v after SIGTERM; see %s", stopLimit, b.logFile())
	}
}

// kill ends the process, if it runs, with SIGKILL.
func (b *broker) kill() {
	if b.cmd == nil {
		return
	}
	b.cmd.Process.Kill()
	<-b.ended
	b.cmd = nil
}
