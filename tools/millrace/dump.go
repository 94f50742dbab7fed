package main

import (
	"bufio"

	"millrace/tools/millrace/inspect"

	"github.com/spf13/cobra"
)

func dumpCommand() *cobra.Command {
	var records bool
	cmd := &cobra.Command{
		Use:   "dump PATH...",
		Short: "Print files of a log dir",
		Long: "Print .log, .index, .timeindex, .txnindex and .snapshot files, checkpoints, meta.properties and partition.metadata;\n" +
			"of a directory, all files in it. Nothing is written.",
		Example: "  millrace dump --records data/events-0/00000000000000000000.log\n  millrace dump data/__cluster_metadata-0",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w := bufio.NewWriter(cmd.OutOrStdout())
			defer w.Flush()
			for _, path := range args {
				if err := inspect.Dump(w, path, records); err != nil {
					return err
				}
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&records, "records", false, "print each record, those of internal topics decoded")
	return cmd
}
