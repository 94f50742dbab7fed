package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"millrace/bench/internal/result"
)

// buildClients compiles the load clients that the contenders need.
func (o *options) buildClients(ctx context.Context) error {
	if err := command(ctx, "go", "build", "-o", o.program("load"), "./bench/load"); err != nil {
		return err
	}
	for _, c := range o.peers {
		if c.client == natsClient || c.client == rabbitClient || c.client == streamClient {
			abs, err := filepath.Abs(o.program("mqload"))
			if err != nil {
				return err
			}
			return command(ctx, "go", "-C", "bench/mqload", "build", "-o", abs, ".")
		}
	}
	return nil
}

func (o *options) program(name string) string { return filepath.Join(o.dir, name) }

// load runs one phase of a load client against a broker and hands each line it prints to
// each, which may be nil.
func (o *options) load(ctx context.Context, p *peer, topic string, w work, each func(result.Phase) error) error {
	running, err := o.startLoad(ctx, p, topic, w)
	if err != nil {
		return err
	}
	return running.wait(each)
}

// loading is a load client at work.
type loading struct {
	cmd  *exec.Cmd
	p    *peer
	w    work
	out  bytes.Buffer
	stop io.Closer // ends a phase that runs until told
}

func (o *options) startLoad(ctx context.Context, p *peer, topic string, w work) (*loading, error) {
	l := &loading{p: p, w: w}
	switch p.client {
	case rocketClient:
		args := append([]string{"tool", "rocketmq-load", "ns=" + p.addr, "pid=" + p.pidList()}, w.rocketArgs(topic)...)
		l.cmd = exec.CommandContext(ctx, "bench/peers/peers", args...)
		l.cmd.Env = append(os.Environ(), "ROCKETMQ_CLIENT_HOME="+p.dir)
	case kafkaClient:
		l.cmd = exec.CommandContext(ctx, o.program("load"), append(o.common(p), w.loadArgs(topic)...)...)
	default:
		args := append([]string{"--kind", string(p.client)}, o.common(p)...)
		l.cmd = exec.CommandContext(ctx, o.program("mqload"), append(args, w.loadArgs(topic)...)...)
	}
	l.cmd.Stdout, l.cmd.Stderr = &l.out, os.Stderr
	if w.untilTold {
		in, err := l.cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		l.stop = in
	}
	if err := l.cmd.Start(); err != nil {
		return nil, fmt.Errorf("load on %s: %w", p.name, err)
	}
	return l, nil
}

func (o *options) common(p *peer) []string {
	return []string{"--brokers", p.addr, "--broker-pid", p.pidList()}
}

// wait returns when the client has ended.
func (l *loading) wait(each func(result.Phase) error) error {
	if err := l.cmd.Wait(); err != nil {
		return fmt.Errorf("load on %s: %w", l.p.name, err)
	}
	if each == nil {
		return nil
	}
	phases, err := parsePhases(l.out.Bytes())
	if err != nil {
		return fmt.Errorf("output of the load on %s: %w", l.p.name, err)
	}
	for _, x := range phases {
		if x.Size == 0 { // RocketLoad does not repeat what it was told
			x.Size, x.Partitions, x.Topics, x.Producers, x.Acks = l.w.size, max(l.w.partitions, 1), max(l.w.topics, 1), rocketThreads, "all"
		}
		if err := each(x); err != nil {
			return err
		}
	}
	return nil
}

// parsePhases reads the lines of a load client; those that are not JSON are the chatter
// of some library.
func parsePhases(out []byte) ([]result.Phase, error) {
	var phases []result.Phase
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var x result.Phase
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			return nil, err
		}
		phases = append(phases, x)
	}
	return phases, nil
}
