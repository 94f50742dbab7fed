package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"millrace/bench/internal/launch"
	"millrace/bench/internal/proc"
)

// portsPerPeer keeps a broker's other listeners clear of the next broker's. Kafka's
// controller, 100 above its broker, is clear of eight brokers.
const portsPerPeer = 12

// peer is a running contender.
type peer struct {
	contender
	dir  string
	port int
	addr string
	pids []int
}

// startPeer starts contender i of the run from nothing and returns when it answers. The
// peer that comes with an error may have processes, and has to be stopped too.
func (o *options) startPeer(ctx context.Context, i int, c contender) (*peer, error) {
	if c.program == "" {
		c.program = c.name
	}
	c.sets = append(c.sets[:len(c.sets):len(c.sets)], o.sets[c.name]...)
	dir, err := filepath.Abs(filepath.Join(o.dir, "run", c.name))
	if err != nil {
		return nil, err
	}
	p := &peer{contender: c, dir: dir, port: o.basePort + i*portsPerPeer}
	p.addr = fmt.Sprintf("127.0.0.1:%d", p.port)
	return p, o.start(ctx, p)
}

func (o *options) start(ctx context.Context, p *peer) error {
	var err error
	if p.pids, err = launch.Start(ctx, p.program, p.dir, p.port, p.sets); err != nil {
		return err
	}
	if p.client != kafkaClient {
		return nil
	}
	return o.load(ctx, p, "", work{mode: "ping", maxTime: time.Minute}, nil)
}

// restart ends a broker and begins again from nothing.
func (o *options) restart(ctx context.Context, p *peer) error {
	if err := p.stop(); err != nil {
		return err
	}
	return o.start(ctx, p)
}

func (p *peer) pidList() string {
	text := make([]string, len(p.pids))
	for i, pid := range p.pids {
		text[i] = strconv.Itoa(pid)
	}
	return strings.Join(text, ",")
}

// stop ends the broker, whatever happened to the run.
func (p *peer) stop() error {
	return launch.Stop(p.program, p.dir)
}

// usage is what the broker has used so far.
func (p *peer) usage() (proc.Usage, error) { return proc.Of(p.pids...) }

// goneTime is how long the files of deleted topics may stay; with ten thousand topics
// that takes minutes.
const goneTime = 5 * time.Minute

// awaitGone returns when no file or folder of the topic is left on the disk.
func (p *peer) awaitGone(ctx context.Context, topic string) error {
	ctx, cancel := context.WithTimeout(ctx, goneTime)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for p.has(topic) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("files of topic %s of %s are still there: %w", topic, p.name, context.Cause(ctx))
		case <-tick.C:
		}
	}
	return nil
}

// has tells whether anything named after a partition of the topic is on the disk; a
// deleted topic's folders keep its name until they are gone.
func (p *peer) has(topic string) bool {
	found := false
	// Entries that vanish under the walk are what is hoped for.
	_ = filepath.WalkDir(p.dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), topic+"-") {
			found = true
			return filepath.SkipAll
		}
		return nil
	})
	return found
}

// command runs a program of the checkout with its output on ours.
func command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}
