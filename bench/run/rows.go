package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"millrace/bench/internal/result"
)

// row is one phase of one broker in one round.
type row struct {
	Scenario string    `json:"scenario"`
	Peer     string    `json:"peer"`
	Round    int       `json:"round"`
	Time     time.Time `json:"time"`
	result.Phase
}

// rows are all rows of a run, kept in memory and, as JSON lines, in a file.
type rows struct {
	all  []row
	file *os.File
}

// newRows opens the file of raw rows of a run that begins now.
func newRows(dir string) (*rows, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(dir, time.Now().UTC().Format("20060102T150405Z")+".jsonl"))
	if err != nil {
		return nil, err
	}
	return &rows{file: f}, nil
}

// add keeps a row; one with errors ends the run, for its figures mean nothing.
func (r *rows) add(x row) error {
	r.all = append(r.all, x)
	b, err := json.Marshal(x)
	if err != nil {
		return err
	}
	if _, err := r.file.Write(append(b, '\n')); err != nil {
		return err
	}
	if x.Errors > 0 {
		return fmt.Errorf("%s of %s, round %d: %d errors, the first: %s", x.Phase.Phase, x.Peer, x.Round, x.Errors, x.FirstError)
	}
	return nil
}

// load runs the load client against a broker and hands each line it prints to each.
func (o *options) load(ctx context.Context, p *peer, each func(result.Phase) error, args ...string) error {
	args = append([]string{"--brokers", p.addr, "--broker-pid", strconv.Itoa(p.pid), "--size", strconv.Itoa(o.recordBytes)}, args...)
	cmd := exec.CommandContext(ctx, o.loadProgram(), args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("load on %s: %w", p.name, err)
	}
	for dec := json.NewDecoder(&out); dec.More(); {
		var x result.Phase
		if err := dec.Decode(&x); err != nil {
			return fmt.Errorf("output of load: %w", err)
		}
		if err := each(x); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) loadProgram() string { return filepath.Join(o.dir, "load") }
