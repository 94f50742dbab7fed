// Package program is how the programs begin and end that load, break or measure brokers. Their main functions call it, and
// nobody else.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main parses the command line and runs, until an interrupt or SIGTERM cancels the context. An error is printed behind name
// and ends the process with 1, a call for help with 2.
func Main[O any](name string, parse func(args []string) (O, error), run func(ctx context.Context, o O) error) {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
