package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"millrace/bench/internal/launch"
	"millrace/tools/program"
)

func main() {
	program.Main("bench", parseOptions, func(ctx context.Context, o *options) error { return o.run(ctx, os.Stdout) })
}

// run does the suite and prints tables and verdicts. Rows measured before an error are
// printed all the same.
func (o *options) run(ctx context.Context, w io.Writer) error {
	if _, err := os.Stat(launch.Script); err != nil {
		return fmt.Errorf("run from the root of the checkout: %w", err)
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	if err := o.buildClients(ctx); err != nil {
		return err
	}
	rows, err := newRows(o.results, o.name)
	if err != nil {
		return err
	}
	defer rows.file.Close()
	b := &bench{o: o, rows: rows}
	defer func() {
		for _, p := range b.peers {
			if err := p.stop(); err != nil {
				fmt.Fprintln(os.Stderr, "bench:", err)
			}
		}
	}()
	machine := describeMachine(o.dir)
	err = b.startAll(ctx)
	if err == nil {
		err = o.suite.measure(ctx, b)
	}
	fmt.Fprintf(w, "\n%s; raw rows in %s\n\n", machine, rows.file.Name())
	o.suite.print(w, rows)
	rows.printNotes(w)
	rows.printDisturbed(w)
	missed := printVerdicts(w, o.suite.judge(rows))
	if err == nil && missed > 0 && o.strict {
		err = fmt.Errorf("%d targets are missed", missed)
	}
	return err
}

// startAll starts the contenders. They run from the beginning to the end.
func (b *bench) startAll(ctx context.Context) error {
	for i, c := range b.o.peers {
		p, err := b.o.startPeer(ctx, i, c)
		if p != nil {
			b.peers = append(b.peers, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
