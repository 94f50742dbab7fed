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

	"millrace/bench/internal/proc"
)

// portsPerPeer keeps a broker's other listeners (Kafka's controller, 100 above) clear of
// the next broker's.
const portsPerPeer = 150

// peer is a running broker.
type peer struct {
	name string
	dir  string
	addr string
	pid  int
}

// startPeer starts broker i of the run from nothing and returns when it answers. The
// peer that comes with an error may have processes, and has to be stopped too.
func (o *options) startPeer(ctx context.Context, i int, name string) (*peer, error) {
	dir, err := filepath.Abs(filepath.Join(o.dir, "run", name))
	if err != nil {
		return nil, err
	}
	port := o.basePort + i*portsPerPeer
	args := []string{"start", name, "--dir", dir, "--port", strconv.Itoa(port), "--fresh"}
	for _, s := range o.sets[name] {
		args = append(args, "--set", s)
	}
	p := &peer{name: name, dir: dir, addr: fmt.Sprintf("127.0.0.1:%d", port)}
	if err := command(ctx, "bench/peers/peers", args...); err != nil {
		return p, err
	}
	pids, err := os.ReadFile(filepath.Join(dir, "pids"))
	if err != nil {
		return p, err
	}
	pid, _, _ := strings.Cut(string(pids), " ")
	if p.pid, err = strconv.Atoi(pid); err != nil {
		return p, fmt.Errorf("process id of %s: %w", name, err)
	}
	return p, o.load(ctx, p, nil, "--mode", "ping", "--max-time", "1m")
}

// stop ends the broker, whatever happened to the run.
func (p *peer) stop() error {
	return command(context.Background(), "bench/peers/peers", "stop", p.name, "--dir", p.dir)
}

// usage is what the broker has used so far.
func (p *peer) usage() (proc.Usage, error) { return proc.Of(p.pid) }

// awaitGone returns when no file or folder of the topic is left on the disk.
func (p *peer) awaitGone(ctx context.Context, topic string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
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
