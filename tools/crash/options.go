package main

import (
	"errors"
	"flag"
	"math/rand/v2"
	"path/filepath"
	"time"

	"millrace/tools/rig"
)

// options is one run, as the flags gave it.
type options struct {
	binary  string
	command string
	listen  string
	http    string
	dir     string
	sets    []string

	rounds     int
	seed       uint64
	producers  int
	partitions int
	minAlive   time.Duration
	maxAlive   time.Duration

	bigGB    float64
	bigLimit time.Duration
}

func parseOptions(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet("crash", flag.ContinueOnError)
	f.StringVar(&o.binary, "bin", "bin/millrace", "the broker's program")
	f.StringVar(&o.command, "command", "", "command line of another broker, split at spaces, instead of --bin")
	f.StringVar(&o.listen, "listen", "", "the broker's address (default: a free port on 127.0.0.1)")
	f.StringVar(&o.dir, "dir", "", "folder for data and output, made if missing (default: a temporary one, removed after success)")
	f.Func("set", "broker setting KEY=VALUE; may be repeated", func(s string) error { o.sets = append(o.sets, s); return nil })
	f.IntVar(&o.rounds, "rounds", 100, "how often to kill the broker")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the random moments (default: a random one, printed)")
	f.IntVar(&o.producers, "producers", 4, "idempotent producers")
	f.IntVar(&o.partitions, "partitions", 4, "partitions of the topic")
	f.DurationVar(&o.minAlive, "min-alive", 100*time.Millisecond, "shortest time between serving and the next kill")
	f.DurationVar(&o.maxAlive, "max-alive", 2*time.Second, "longest time between serving and the next kill")
	f.Float64Var(&o.bigGB, "big-log-gb", 1, "size of the log (10^9 bytes) for the restart check; 0 leaves it out")
	f.DurationVar(&o.bigLimit, "big-log-limit", time.Second, "how long a restart with that log may take")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.rounds < 0 || o.producers < 1 || o.partitions < 1 || o.minAlive < 0 || o.maxAlive < o.minAlive {
		return nil, errors.New("--rounds, --producers, --partitions and the times alive must make sense")
	}
	if o.command != "" && o.listen == "" {
		return nil, errors.New("--command needs --listen")
	}
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	return &o, rig.FindPorts(&o.listen, &o.http)
}

// broker is the process under test, with its data and its output in dir.
func (o *options) broker(dir string) *rig.Broker {
	log := filepath.Join(dir, "server.log")
	if o.command != "" {
		return rig.NewCommand(o.command, log, o.listen)
	}
	return rig.NewBroker(o.binary, filepath.Join(dir, "data"), log, o.listen, o.http, o.sets)
}
