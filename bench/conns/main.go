package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"millrace/bench/internal/proc"
)

func main() {
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch {
	case err != nil:
	case o.worker:
		err = o.hold(os.Stdin, os.Stdout)
	default:
		err = o.run(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conns:", err)
		os.Exit(1)
	}
}

// run starts the broker and loads it; it fails if anything was refused or dropped, or
// memory went beyond the limit.
func (o *options) run(ctx context.Context, w io.Writer) (err error) {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	// What a failed start has left running is to be stopped too.
	defer func() { err = errors.Join(err, o.stopBroker(dir)) }()
	pid, err := o.startBroker(ctx, dir)
	if err != nil {
		return err
	}
	return o.load(ctx, fmt.Sprintf("127.0.0.1:%d", o.port), pid, w)
}

// load opens the idle connections, works on the busy ones, asks the idle ones whether
// they are still there, and judges.
func (o *options) load(ctx context.Context, addr string, pid int, w io.Writer) error {
	if err := createTopic(ctx, addr); err != nil {
		return err
	}
	before, err := proc.Of(pid)
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
	idle, err := proc.Of(pid)
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
	after, err := proc.Of(pid)
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

// launcher is the script that starts and stops every broker.
const launcher = "bench/peers/peers"

// startBroker starts the broker from nothing and returns its process id.
func (o *options) startBroker(ctx context.Context, dir string) (pid int, err error) {
	args := []string{"start", o.peer, "--dir", dir, "--port", strconv.Itoa(o.port), "--fresh"}
	for _, s := range o.sets {
		args = append(args, "--set", s)
	}
	if out, err := exec.CommandContext(ctx, launcher, args...).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("start %s: %w\n%s", o.peer, err, out)
	}
	pids, err := os.ReadFile(filepath.Join(dir, "pids"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(pids), " ")
	return strconv.Atoi(first)
}

func (o *options) stopBroker(dir string) error {
	if out, err := exec.Command(launcher, "stop", o.peer, "--dir", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("stop %s: %w\n%s", o.peer, err, out)
	}
	return nil
}

func megabytes(mib float64) float64 { return mib * (1 << 20) / 1e6 }
