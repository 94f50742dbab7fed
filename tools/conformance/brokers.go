package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// startTimeout is how long a broker may take until it listens; Kafka's first start
// on a slow disk is the measure.
const startTimeout = 90 * time.Second

// runningBroker is a broker that this command started.
type runningBroker struct {
	addr string
	stop func()
}

// startKafka starts one Kafka node by the launcher, which waits until it serves.
func startKafka(ctx context.Context, launcher, dir string) (*runningBroker, error) {
	port, err := freePort(100) // the controller listens 100 above
	if err != nil {
		return nil, err
	}
	start := exec.CommandContext(ctx, launcher, "start", "kafka", "--port", strconv.Itoa(port), "--dir", dir, "--fresh")
	start.Env = append(os.Environ(), "KAFKA_HEAP_OPTS=-Xmx512m")
	stop := func() { _ = exec.Command(launcher, "stop", "kafka", "--dir", dir).Run() }
	if out, err := start.CombinedOutput(); err != nil {
		stop()
		return nil, fmt.Errorf("start kafka: %w\n%s", err, out)
	}
	return &runningBroker{net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), stop}, nil
}

// launcherSettings are what the launcher writes into Kafka's server.properties:
// a setting that is there has another source in DescribeConfigs than a default of
// the same value, so Millrace is told the same.
var launcherSettings = []string{
	"node.id=1", "group.initial.rebalance.delay.ms=0", "num.partitions=1", "default.replication.factor=1",
	"min.insync.replicas=1", "log.retention.hours=168", "log.segment.bytes=1073741824", "socket.request.max.bytes=104857600",
}

// startMillrace starts the program under test on an empty directory, with the
// settings of Kafka's launcher.
func startMillrace(ctx context.Context, program, dir string) (*runningBroker, error) {
	port, err := freePort(1)
	if err != nil {
		return nil, err
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var log bytes.Buffer
	args := []string{"serve", "--data-dir", filepath.Join(dir, "data"), "--listen", addr,
		"--http", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+1))}
	for _, setting := range launcherSettings {
		args = append(args, "--set", setting)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
	}
	if err := listening(addr, ended); err != nil {
		stop()
		return nil, fmt.Errorf("%s: %w\n%s", program, err, log.String())
	}
	return &runningBroker{addr, stop}, nil
}

// listening waits until addr takes connections or the process has ended.
func listening(addr string, ended <-chan struct{}) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(startTimeout); ; {
		if c, err := net.Dial("tcp", addr); err == nil {
			return c.Close()
		}
		select {
		case <-ended:
			return fmt.Errorf("ended before it listened on %s", addr)
		case <-deadline:
			return fmt.Errorf("does not listen on %s after %v", addr, startTimeout)
		case <-tick.C:
		}
	}
}

// freePort gives a loopback port that is free together with the one gap above it.
func freePort(gap int) (int, error) {
	for range 50 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		second, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+gap)))
		l.Close()
		if err == nil {
			second.Close()
			return port, nil
		}
	}
	return 0, fmt.Errorf("no two free ports %d apart", gap)
}
