package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// programLimit is how long a program may take for one command.
const programLimit = 120 * time.Second

// line is what a program prints: a record or an event.
type line struct {
	Event     string       `json:"event"`
	Topic     string       `json:"topic"`
	Partition int32        `json:"partition"`
	Offset    int64        `json:"offset"`
	Timestamp int64        `json:"timestamp"`
	Key       *string      `json:"key"`
	Value     *string      `json:"value"`
	Headers   [][2]*string `json:"headers"`
	Member    string       `json:"member"`
	Count     int          `json:"count"`
}

// runProgram runs a client's program with one command and hands over each line it prints.
func (c client) runProgram(ctx context.Context, command map[string]any, each func(line)) error {
	command["client"] = c.name
	command["timeout_s"] = int(programLimit/time.Second) - 10
	input, err := json.Marshal(command)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, programLimit)
	defer cancel()
	cmd, stderr := startable(ctx, c.argv)
	cmd.Stdin = bytes.NewReader(input)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var bad error
	scanner := bufio.NewScanner(stdout)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var l line
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			bad = fmt.Errorf("%s printed %q: %w", c.name, scanner.Text(), err)
			continue
		}
		each(l)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", c.name, command["op"], err, lastBytes(stderr))
	}
	return bad
}

// startable is a process that does not outlive this one, and where its standard error goes.
func startable(ctx context.Context, argv []string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	return cmd, &stderr
}

// runCommand runs a command to its end and returns what it printed.
func runCommand(ctx context.Context, argv []string, stdin []byte) (stdout []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, programLimit)
	defer cancel()
	cmd, stderr := startable(ctx, argv)
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s: %w\n%s%s", filepath.Base(argv[0]), err, lastBytes(&out), lastBytes(stderr))
	}
	return out.Bytes(), nil
}

func lastBytes(b *bytes.Buffer) string {
	const tail = 3000
	return string(b.Bytes()[max(b.Len()-tail, 0):])
}
