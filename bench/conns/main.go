package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"millrace/bench/internal/launch"
	"millrace/bench/internal/proc"
	"millrace/tools/program"
)

func main() {
	program.Main("conns", parseOptions, func(ctx context.Context, o *options) error {
		if o.worker {
			return o.hold(os.Stdin, os.Stdout)
		}
		return o.run(ctx, os.Stdout)
	})
}

// run starts the broker and loads it; it fails if anything was refused or dropped, or
// memory went beyond the limit.
func (o *options) run(ctx context.Context, w io.Writer) (err error) {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	// What a failed start has left running is to be stopped too.
	defer func() { err = errors.Join(err, launch.Stop(o.peer, dir)) }()
	pids, err := launch.Start(ctx, o.peer, dir, o.port, o.sets)
	if err != nil {
		return err
	}
	return o.load(ctx, fmt.Sprintf("127.0.0.1:%d", o.port), pids, w)
}

// load opens the idle connections, works on the busy ones, asks the idle ones whether
// they are still there, and judges.
func (o *options) load(ctx context.Context, addr string, pids []int, w io.Writer) error {
	if err := createTopic(ctx, addr); err != nil {
		return err
	}
	before, err := proc.Of(pids...)
	if err != nil {
		return err
	}
	begin := time.Now()
	workers, opened, err := o.openIdle(addr)
	defer func() {
		for _, w := range workers {
			_ = w.stop()
		}
	}()
	if err != nil {
		return err
	}
	idle, err := proc.Of(pids...)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d of %d idle connections in %v; broker RSS %.1f MB before, %.1f MB with them\n",
		opened, o.idle, time.Since(begin).Round(time.Millisecond), megabytes(before.RSSMiB), megabytes(idle.RSSMiB))
	var res busyResult
	busy, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	failed := errors.Join(runBusy(busy, addr, o.busy, &res)...)
	alive := 0
	for _, w := range workers {
		n, err := w.check()
		if err != nil {
			return err
		}
		alive += n
	}
	after, err := proc.Of(pids...)
	if err != nil {
		return err
	}
	ms := res.latency.Millis()
	fmt.Fprintf(w, "%d busy connections: %d times produced and fetched in %v, p50 %.1f ms, p99 %.1f ms\n", o.busy, res.rounds.Load(), o.duration, ms["p50"], ms["p99"])
	fmt.Fprintf(w, "%d idle connections still answer; broker RSS %.1f MB, most %.1f MB (limit %.0f), CPU %.1f s\n",
		alive, megabytes(after.RSSMiB), megabytes(after.PeakMiB), o.rssMB, after.Since(before).CPUSeconds())
	if opened < o.idle || alive < opened {
		failed = errors.Join(failed, fmt.Errorf("%d idle connections refused, %d dropped", o.idle-opened, opened-alive))
	}
	if megabytes(after.PeakMiB) >= o.rssMB {
		failed = errors.Join(failed, fmt.Errorf("the broker had %.1f MB, the limit is %.0f", megabytes(after.PeakMiB), o.rssMB))
	}
	return failed
}

// openIdle starts the workers and returns when all connections are open or refused.
func (o *options) openIdle(addr string) (workers []*worker, opened int, err error) {
	for first := 0; first < o.idle; first += o.perWorker {
		w, err := o.startWorker(addr, first, min(o.perWorker, o.idle-first))
		if err != nil {
			return workers, opened, err
		}
		workers = append(workers, w)
	}
	for _, w := range workers {
		n, err := w.count()
		if err != nil {
			return workers, opened, err
		}
		opened += n
	}
	return workers, opened, nil
}

func megabytes(mib float64) float64 { return mib * (1 << 20) / 1e6 }
