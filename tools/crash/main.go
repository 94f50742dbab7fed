package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"millrace/tools/program"
	"os"
	"path/filepath"
	"time"
)

func main() {
	program.Main("crash", parseOptions, func(ctx context.Context, o *options) error { return run(ctx, o, os.Stdout) })
}

// run does everything the options ask for; it fails if anything acknowledged was not
// kept, or a restart took too long. The data of a failed run stays for inspection.
func run(ctx context.Context, o *options, out io.Writer) error {
	dir, temporary := o.dir, o.dir == ""
	if temporary {
		var err error
		if dir, err = os.MkdirTemp("", "millrace-crash-"); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "seed %d, data in %s\n", o.seed, dir)
	err := errors.Join(runKills(ctx, o, filepath.Join(dir, "rounds"), out), runBigLogs(ctx, o, dir, out))
	if err != nil {
		return fmt.Errorf("seed %d, data in %s: %w", o.seed, dir, err)
	}
	if temporary {
		return os.RemoveAll(dir)
	}
	return nil
}

func runKills(ctx context.Context, o *options, dir string, out io.Writer) error {
	if o.rounds == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	begin := time.Now()
	r, err := runRounds(ctx, o, dir, out)
	sent, acked, _ := r.history.Counts()
	consumed := int64(0)
	if r.consumer != nil {
		consumed = r.consumer.Records()
	}
	fmt.Fprintf(out, "%d kills in %v: %d records sent, %d acknowledged, %d consumed; restart to serving median %v, max %v\n",
		len(r.restarts), time.Since(begin).Round(time.Second), sent, acked, consumed,
		r.restarts.Median().Round(time.Millisecond), r.restarts.Max().Round(time.Millisecond))
	violations := r.found.List()
	for _, v := range violations {
		err = errors.Join(err, errors.New(v.String()))
	}
	if err == nil {
		fmt.Fprintln(out, "nothing lost, nothing twice, order kept, offsets without gaps, committed offsets kept")
	}
	return err
}

// runBigLogs measures the restart with one large partition, whose log is one segment,
// and with the same bytes spread out.
func runBigLogs(ctx context.Context, o *options, dir string, out io.Writer) error {
	if o.bigGB == 0 {
		return nil
	}
	var failed error
	for _, partitions := range []int{1, 16} {
		d := filepath.Join(dir, fmt.Sprintf("big-%d", partitions))
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
		took, err := bigLog(ctx, o, d, partitions, out)
		if err == nil && took > o.bigLimit {
			err = fmt.Errorf("restart with %.1f GB in %d partitions took %v, the limit is %v", o.bigGB, partitions, took, o.bigLimit)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
