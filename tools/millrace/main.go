package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

// run executes a command line and returns the exit status: 0, 1 for a failure, or what an exitStatus says.
func run(args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	err := root.Execute()
	var status exitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	fmt.Fprintln(os.Stderr, "millrace:", err)
	return 1
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "millrace",
		Short:         "A log broker that speaks Kafka's protocol",
		Version:       versionLine(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(serveCommand(), dumpCommand(), verifyCommand(), versionCommand())
	return root
}

// exitStatus ends the program with a status and without a further message.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }
