package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"millrace/tools/program"
	"millrace/tools/rig"
)

// options is one run, as the flags gave it.
type options struct {
	binary string
	listen string
	http   string
	sets   []string
	rounds int
	disk   string
	mb     int
	seed   uint64
}

func parseOptions(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet("diskfull", flag.ContinueOnError)
	f.StringVar(&o.binary, "bin", "bin/millrace", "the broker's program")
	f.StringVar(&o.listen, "listen", "", "the broker's address (default: a free port on 127.0.0.1)")
	f.StringVar(&o.http, "http", "", "its address for metrics and profiles (default: likewise)")
	f.Func("set", "broker setting KEY=VALUE; may be repeated", func(s string) error { o.sets = append(o.sets, s); return nil })
	f.IntVar(&o.rounds, "rounds", 20, "how often to fill the disk; 20 is each way to free it with each way to restart")
	f.StringVar(&o.disk, "disk", "", "empty folder of a small file system to fill, instead of a tmpfs of its own")
	f.IntVar(&o.mb, "mb", 64, "size of the disk, MiB")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the producer's moments (default: a random one, printed)")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.rounds < 1 || o.mb < 32 {
		return nil, errors.New("--rounds must be at least 1 and --mb at least 32")
	}
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	return &o, rig.FindPorts(&o.listen, &o.http)
}

func main() {
	if err := inNamespace(); err != nil {
		var exit *exitError
		if errors.As(err, &exit) {
			os.Exit(exit.code)
		}
		fmt.Fprintln(os.Stderr, "diskfull:", err)
		os.Exit(1)
	}
	program.Main("diskfull", parseOptions, func(ctx context.Context, o *options) error { return run(ctx, o, os.Stdout) })
}

// run mounts the disk, does the rounds, and says what is wrong. The broker's output stays after a failure.
func run(ctx context.Context, o *options, out io.Writer) error {
	dir, err := os.MkdirTemp("", "millrace-diskfull-")
	if err != nil {
		return err
	}
	disk := o.disk
	if disk == "" {
		disk = filepath.Join(dir, "disk")
		if err := os.Mkdir(disk, 0o755); err != nil {
			return err
		}
		if err := mount(disk, o.mb); err != nil {
			return err
		}
	}
	free, err := freeBytes(disk)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "seed %d, %d MB free at %s, output of the broker in %s\n", o.seed, free>>20, disk, dir)
	r, err := newRounds(o, dir, disk, out)
	if err == nil {
		err = r.run(ctx)
		for _, v := range r.found.List() {
			err = errors.Join(err, errors.New(v.String()))
		}
	}
	if err != nil {
		return fmt.Errorf("seed %d, output of the broker in %s: %w", o.seed, dir, err)
	}
	r.report()
	if o.disk == "" {
		err = unmount(disk)
	}
	return errors.Join(err, os.RemoveAll(dir))
}
