package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"millrace/broker"
	"millrace/broker/config"

	"github.com/spf13/cobra"
)

func serveCommand() *cobra.Command {
	var (
		s        settings
		logLevel string
		logJSON  bool
		drain    time.Duration
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a broker",
		Long: "Run a broker until SIGTERM or SIGINT, then answer what is under way, flush, and exit 0. A second signal exits at\n" +
			"once, non-zero; acknowledged records are on disk either way.\n\n" +
			"A config comes from the file, is overridden by an environment variable (MILLRACE_LOG_RETENTION_MS is\n" +
			"log.retention.ms), that by a flag, and all by --set.",
		Example: "  millrace serve --dev\n  millrace serve --config /etc/millrace/millrace.properties --set log.retention.hours=24",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logger(logLevel, logJSON)
			if err != nil {
				return err
			}
			props, err := s.properties(os.Environ())
			if err != nil {
				return err
			}
			return serve(cmd, props, log, drain)
		},
	}
	s.register(cmd.Flags())
	cmd.Flags().StringVar(&logLevel, "log-level", "info", "debug, info, warn or error")
	cmd.Flags().BoolVar(&logJSON, "log-json", false, "log JSON instead of text")
	cmd.Flags().DurationVar(&drain, "drain-timeout", 30*time.Second, "how long a shutdown may take")
	return cmd
}

func logger(level string, asJSON bool) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	o := &slog.HandlerOptions{Level: l}
	if asJSON {
		return slog.New(slog.NewJSONHandler(os.Stderr, o)), nil
	}
	return slog.New(slog.NewTextHandler(os.Stderr, o)), nil
}

// serve runs a node until a signal or a failure. It returns nil after a clean shutdown only.
func serve(cmd *cobra.Command, props map[string]string, log *slog.Logger, drain time.Duration) error {
	cfg, warnings, err := config.Load(props)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		log.Warn(w)
	}
	// Before the start, so that a signal during a long recovery is not lost.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)

	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	b, err := broker.Start(ctx, broker.Options{
		Config: cfg, Properties: props, Logger: log, Version: versionString(), Cores: spreadThreads(cfg),
	})
	if err != nil {
		return err
	}
	printBanner(cmd.OutOrStdout(), cfg, b.Report())
	if err := notify("READY=1"); err != nil {
		log.Warn("systemd was not told of the start", "error", err)
	}

	var failure error
	select {
	case s := <-signals:
		log.Info("shutting down", "signal", s.String())
	case failure = <-b.Done():
		log.Error("the broker cannot go on", "error", failure)
	}
	// What systemd misses now, it sees when the process ends.
	_ = notify("STOPPING=1")
	go exitOnSecond(signals, log)
	stop, cancelStop := context.WithTimeout(context.Background(), drain)
	defer cancelStop()
	if err := b.Shutdown(stop); err != nil {
		return fmt.Errorf("shutdown: %w", err)
	}
	if failure != nil {
		return failure
	}
	log.Info("stopped: everything is on disk")
	return nil
}

// sameSignal is how long after the first signal another one is taken for the same: timeout(1) and some shells deliver
// one to the process and to its group.
const sameSignal = 250 * time.Millisecond

// exitOnSecond ends the process at the second signal. What was acknowledged is on the disk.
func exitOnSecond(signals <-chan os.Signal, log *slog.Logger) {
	first := time.Now()
	for s := range signals {
		if time.Since(first) > sameSignal {
			log.Error("exiting at once", "signal", s.String())
			os.Exit(1)
		}
	}
}
