package main

import (
	"context"
	"flag"
	"io"
	"maps"
	"slices"
)

// suite is one command of this program: who takes part, what is measured, and what it
// is to reach.
type suite interface {
	// flags declares the suite's own flags and the defaults of the common ones.
	flags(f *flag.FlagSet, o *options)
	// check judges the flags after parsing; quick asks for amounts that only show that
	// everything works.
	check(o *options, quick bool) error
	// contenders are the brokers that can take part, in the order in which they are measured.
	contenders() []contender
	measure(ctx context.Context, b *bench) error
	print(w io.Writer, r *rows)
	judge(r *rows) []verdict
}

// suites are the commands by their names; without one it is the overview.
var suites = map[string]func() suite{
	"overview": func() suite { return new(overview) },
	"topics":   func() suite { return new(topicsSuite) },
	"produce":  func() suite { return new(produceSuite) },
	"consume":  func() suite { return new(consumeSuite) },
	"latency":  func() suite { return new(latencySuite) },
}

func suiteNames() []string { return slices.Sorted(maps.Keys(suites)) }

// bench is a run under way.
type bench struct {
	o     *options
	peers []*peer // running, in the order of measuring
	rows  *rows
	// topics counts the topics made, so that each has a new name.
	topics int
}

// running are the peers with these names, in the order of measuring.
func (b *bench) running(names ...string) []*peer {
	var out []*peer
	for _, p := range b.peers {
		if slices.Contains(names, p.name) {
			out = append(out, p)
		}
	}
	return out
}
