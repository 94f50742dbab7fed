package main

import (
	"errors"
	"flag"
	"time"
)

// options is one run, as the flags gave it.
type options struct {
	peer      string
	dir       string
	port      int
	sets      []string
	idle      int
	busy      int
	duration  time.Duration
	rssMB     float64
	sources   int
	perWorker int

	// A worker's own options: where to connect to, from which address, and how often.
	worker bool
	addr   string
	first  int
}

func parseOptions(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet("conns", flag.ContinueOnError)
	f.StringVar(&o.peer, "peer", "millrace", "broker to start, by its name in bench/peers")
	f.StringVar(&o.dir, "dir", ".cache/conns", "folder for its data")
	f.IntVar(&o.port, "port", 16092, "its port")
	f.Func("set", "a setting of the broker, KEY=VALUE; may be repeated", func(s string) error { o.sets = append(o.sets, s); return nil })
	f.IntVar(&o.idle, "idle", 10_000, "idle connections")
	f.IntVar(&o.busy, "busy", 200, "busy connections")
	f.DurationVar(&o.duration, "duration", 20*time.Second, "how long the busy ones work")
	f.Float64Var(&o.rssMB, "rss-mb", 400, "most resident memory the broker may have, 10^6 bytes")
	f.IntVar(&o.sources, "sources", 4, "addresses to connect from: 127.0.0.2 and up")
	f.IntVar(&o.perWorker, "per-worker", 5000, "idle connections of one process")
	f.BoolVar(&o.worker, "worker", false, "hold idle connections for the process that started this one")
	f.StringVar(&o.addr, "addr", "", "worker: the broker's address")
	f.IntVar(&o.first, "first", 0, "worker: the number of its first connection")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.idle < 0 || o.busy < 0 || o.sources < 1 || o.sources > 250 || o.perWorker < 1 {
		return nil, errors.New("numbers of connections, sources and connections per worker must make sense")
	}
	return &o, nil
}
