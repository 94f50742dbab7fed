package main

import (
	"fmt"
	"os"
	"path/filepath"

	"millrace/tools/millrace/inspect"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify PATH...",
		Short: "Check files of a log dir for damage",
		Long: "Check a file, the directory of a partition, or a whole log dir: the CRC and the records of each batch, offsets that\n" +
			"follow one another within and across segments, indexes and leader epochs against the log, snapshots and\n" +
			"checkpoints. Each damage is a line; the exit status is 1 if there is any. Nothing is written.\n\n" +
			"Stop the broker first. After a crash the last segment may end inside a batch: that is reported here, and cut at\n" +
			"the next start.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := inspect.Report{Found: func(d inspect.Damage) { fmt.Fprintln(cmd.OutOrStdout(), d) }}
			for _, path := range args {
				if inUse(path) {
					fmt.Fprintf(cmd.ErrOrStderr(), "millrace: %s is in use by a broker: the ends of its files may look damaged\n", path)
				}
				before := r.Files
				if err := inspect.Verify(path, &r); err != nil {
					return err
				}
				if r.Files == before {
					return fmt.Errorf("%s: nothing to verify: no file of a log dir is in it", path)
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d files, %d batches, %d records, %d bytes: ", r.Files, r.Batches, r.Records, r.Bytes)
			if r.Damages > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "%d damaged places\n", r.Damages)
				return exitStatus(1)
			}
			fmt.Fprintln(cmd.OutOrStdout(), "no damage")
			return nil
		},
	}
}

// inUse reports whether a broker holds the lock of the log dir that path is, or is in.
func inUse(path string) bool {
	for dir, n := path, 0; n < 3; dir, n = filepath.Join(dir, ".."), n+1 {
		f, err := os.Open(filepath.Join(dir, ".lock"))
		if err != nil {
			continue
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
		f.Close()
		return err != nil
	}
	return false
}
