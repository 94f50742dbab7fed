package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"millrace/tools/program"
	"millrace/tools/rig"
)

// options is one run, as the flags gave it.
type options struct {
	binary  string
	listen  string
	http    string
	dir     string
	sets    []string
	minutes float64
	seed    uint64
}

func parseOptions(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	f.StringVar(&o.binary, "bin", "bin/millrace", "the broker's program")
	f.StringVar(&o.listen, "listen", "", "the broker's address (default: a free port on 127.0.0.1)")
	f.StringVar(&o.http, "http", "", "its address for metrics and profiles (default: likewise)")
	f.StringVar(&o.dir, "dir", "", "folder for data, output and samples, made if missing (default: a temporary one, removed after success)")
	f.Func("set", "broker setting KEY=VALUE; may be repeated", func(s string) error { o.sets = append(o.sets, s); return nil })
	f.Float64Var(&o.minutes, "minutes", 60, "how long; at least 2, for lives long enough to measure")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the random moments (default: a random one, printed)")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.minutes < 2 {
		return nil, errors.New("--minutes must be at least 2")
	}
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	return &o, rig.FindPorts(&o.listen, &o.http)
}

func main() {
	program.Main("soak", parseOptions, func(ctx context.Context, o *options) error { return run(ctx, o, os.Stdout) })
}

// run soaks the broker; it fails if anything was lost or has grown. The data of a failed run stays for inspection.
func run(ctx context.Context, o *options, out io.Writer) error {
	dir, temporary := o.dir, o.dir == ""
	if temporary {
		var err error
		if dir, err = os.MkdirTemp("", "millrace-soak-"); err != nil {
			return err
		}
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	fmt.Fprintf(out, "seed %d, %v minutes, data in %s\n", o.seed, o.minutes, dir)
	begin := time.Now()
	s, err := newSoak(o, dir, out)
	if err == nil {
		err = s.run(ctx)
		for _, v := range s.found.List() {
			err = errors.Join(err, errors.New(v.String()))
		}
		s.report(time.Since(begin))
		err = errors.Join(err, s.flat(out))
	}
	if err != nil {
		return fmt.Errorf("seed %d, data in %s: %w", o.seed, dir, err)
	}
	fmt.Fprintln(out, "nothing lost, nothing twice, order kept, committed offsets kept, last values kept, deleted topics gone, everything flat")
	if temporary {
		return os.RemoveAll(dir)
	}
	return nil
}
