package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err == nil {
		err = o.run(context.Background(), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// phases are the modes; each creates what it needs unless told otherwise.
var phases = map[string]struct {
	needsTopics bool
	run         []func(*options, context.Context, io.Writer) error
}{
	"produce": {true, []func(*options, context.Context, io.Writer) error{(*options).produce}},
	"consume": {false, []func(*options, context.Context, io.Writer) error{(*options).consume}},
	"both":    {true, []func(*options, context.Context, io.Writer) error{(*options).produce, (*options).consume}},
	"e2e":     {true, []func(*options, context.Context, io.Writer) error{(*options).endToEnd}},
	"create":  {true, nil},
	"delete":  {false, nil},
	"ping":    {false, nil},
}

// run does one invocation and writes its lines to w.
func (o *options) run(ctx context.Context, w io.Writer) error {
	mode, ok := phases[o.mode]
	if !ok {
		return fmt.Errorf("--mode %q is not known", o.mode)
	}
	if o.mode == "ping" {
		return o.ping(ctx)
	}
	if mode.needsTopics && o.create {
		if err := o.createTopics(ctx); err != nil {
			return err
		}
	}
	for _, phase := range mode.run {
		if err := phase(o, ctx, w); err != nil {
			return err
		}
	}
	if o.remove || o.mode == "delete" {
		return o.deleteTopics(ctx)
	}
	return nil
}
