package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"millrace/tools/program"
	"millrace/tools/rig"
)

// options are the flags.
type options struct {
	binary, dir           string
	port                  int
	topics, per           int // partitions of the first case
	write                 int // of them are written
	all                   int // partitions of the second case
	strict, keep          bool
	cleanLimit, killLimit time.Duration
	allLimit              time.Duration
	createLimit           time.Duration
}

func main() {
	program.Main("partitions", parseOptions, func(ctx context.Context, o *options) error { return o.run(ctx) })
}

func parseOptions(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet("partitions", flag.ContinueOnError)
	f.StringVar(&o.binary, "binary", "bin/millrace", "the broker")
	f.StringVar(&o.dir, "dir", ".cache/partitions", "where the log dirs are made and removed")
	f.IntVar(&o.port, "port", 21650, "of the broker; the next one is for HTTP")
	f.IntVar(&o.topics, "topics", 1000, "topics of the first case")
	f.IntVar(&o.per, "per-topic", 100, "partitions of each")
	f.IntVar(&o.write, "write", 1000, "partitions that are written, one or more of each topic")
	f.IntVar(&o.all, "all", 4096, "topics of one partition of the second case, all written")
	f.DurationVar(&o.cleanLimit, "clean-limit", 20*time.Second, "target of a clean start")
	f.DurationVar(&o.killLimit, "kill-limit", 60*time.Second, "target of a start after kill -9")
	f.DurationVar(&o.allLimit, "all-limit", time.Second, "target of a clean start of the second case")
	f.DurationVar(&o.createLimit, "create-limit", time.Minute, "target of creating all partitions")
	f.BoolVar(&o.strict, "strict", false, "a missed target is an error")
	f.BoolVar(&o.keep, "keep", false, "keep the data")
	return &o, f.Parse(args)
}

func (o *options) run(ctx context.Context) error {
	r := &report{}
	err := errors.Join(o.idle(ctx, r), o.written(ctx, r))
	if err == nil && r.missed > 0 {
		fmt.Printf("%d targets missed\n", r.missed)
		if o.strict {
			err = errors.New("targets missed")
		}
	}
	return err
}

// broker prepares a broker with an empty log dir.
func (o *options) broker(name string) (*node, error) {
	dir := filepath.Join(o.dir, name)
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", o.port)
	b := rig.NewBroker(o.binary, filepath.Join(dir, "data"), filepath.Join(dir, "broker.log"), addr, fmt.Sprintf("127.0.0.1:%d", o.port+1), nil)
	return &node{Broker: b, dir: dir}, nil
}

// close ends the broker and removes its data.
func (o *options) close(n *node) error {
	err := n.Kill()
	if !o.keep {
		err = errors.Join(err, os.RemoveAll(n.dir))
	}
	return err
}

// idle is the first case: very many partitions, some of them written.
func (o *options) idle(ctx context.Context, r *report) (err error) {
	n, err := o.broker("idle")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close(n)) }()
	fmt.Printf("%d topics of %d partitions, %d partitions written\n", o.topics, o.per, o.write)
	if _, err := n.StartServing(ctx, "", 0); err != nil {
		return err
	}
	took, err := n.create(o.topics, o.per)
	if err != nil {
		return n.Explain(err)
	}
	r.duration("create", took, o.createLimit)
	each := max(o.write/o.topics, 1)
	write := func(round int64) error {
		took, err := n.write(o.topics, min(each, o.per), round)
		if err != nil {
			return n.Explain(err)
		}
		r.duration("write a batch to each, one after the other", took, 0)
		return nil
	}
	if err := write(0); err != nil {
		return err
	}
	if err := n.resources(r, "when written"); err != nil {
		return err
	}
	begin := time.Now()
	if err := n.Stop(ctx); err != nil {
		return err
	}
	r.duration("clean stop", time.Since(begin), 0)
	if took, err = n.StartServing(ctx, topicName(0), o.per); err != nil {
		return err
	}
	r.duration("clean start to serving", took, o.cleanLimit)
	if err := n.resources(r, "after it"); err != nil {
		return err
	}
	if took, worst, err := n.metadata(o.topics * o.per); err != nil {
		return n.Explain(err)
	} else {
		r.duration("metadata of all topics", took, 0)
		r.duration("longest wait of another connection meanwhile", worst, 0)
	}
	if err := write(1); err != nil {
		return err
	}
	if err := n.Kill(); err != nil {
		return err
	}
	if took, err = n.StartServing(ctx, topicName(0), o.per); err != nil {
		return err
	}
	r.duration("start after kill -9 to serving", took, o.killLimit)
	if err := n.resources(r, "after it"); err != nil {
		return err
	}
	return write(2)
}

// written is the second case: every partition was written.
func (o *options) written(ctx context.Context, r *report) (err error) {
	n, err := o.broker("written")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close(n)) }()
	fmt.Printf("%d topics of one partition, all written\n", o.all)
	if _, err := n.StartServing(ctx, "", 0); err != nil {
		return err
	}
	if _, err := n.create(o.all, 1); err != nil {
		return n.Explain(err)
	}
	if _, err := n.write(o.all, 1, 0); err != nil {
		return n.Explain(err)
	}
	if err := n.resources(r, "when written"); err != nil {
		return err
	}
	begin := time.Now()
	if err := n.Stop(ctx); err != nil {
		return err
	}
	r.duration("clean stop", time.Since(begin), 0)
	took, err := n.StartServing(ctx, topicName(o.all-1), 1)
	if err != nil {
		return err
	}
	r.duration("clean start to serving", took, o.allLimit)
	if err := n.resources(r, "after it"); err != nil {
		return err
	}
	if _, err := n.write(o.all, 1, 1); err != nil {
		return n.Explain(err)
	}
	if err := n.Kill(); err != nil {
		return err
	}
	if took, err = n.StartServing(ctx, topicName(o.all-1), 1); err != nil {
		return err
	}
	r.duration("start after kill -9 to serving", took, 0)
	_, err = n.write(o.all, 1, 2)
	return err
}
