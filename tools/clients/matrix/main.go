package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	bin     string
	clients string
	brokers string
	only    string
	keep    bool
	workers int
}

// matrix is one run.
type matrix struct {
	options
	report  report
	broker  *broker // nil with --brokers
	clients []client
	// writers are the clients whose topics are whole.
	writers []client
	records []record
	// dir holds records files, the data of the broker and its copy.
	dir    string
	topics map[string]*topic
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin/millrace", "the broker to test")
	flag.StringVar(&o.clients, "clients", "tools/clients", "folder of the client programs")
	flag.StringVar(&o.brokers, "brokers", "", "test this running broker (host:port) instead; it is not restarted and its segments are not read")
	flag.StringVar(&o.only, "only", "", "comma-separated clients instead of all")
	flag.BoolVar(&o.keep, "keep", false, "keep data and output")
	flag.IntVar(&o.workers, "workers", 3, "programs at a time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
	}
	if err != nil || failed > 0 {
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (failed int, err error) {
	dir, err := os.MkdirTemp("", "millrace-clients-")
	if err != nil {
		return 0, err
	}
	m := &matrix{options: o, dir: dir, topics: map[string]*topic{}, records: dataSet(time.Now().Add(-time.Hour).Truncate(time.Hour))}
	if m.clients, err = table(o.clients, o.only); err != nil {
		return 0, err
	}
	if o.brokers == "" {
		if m.broker, err = startBroker(ctx, o.bin, filepath.Join(dir, "broker")); err != nil {
			return 0, err
		}
		m.brokers = m.broker.addr
		defer m.broker.kill()
	}
	defer func() {
		failed = m.report.failures()
		if o.keep || failed > 0 || err != nil {
			fmt.Println("kept:", dir)
		} else {
			os.RemoveAll(dir)
		}
		m.report.close(m.clients)
	}()
	began := time.Now()
	for _, phase := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"write", m.write}, {"read", m.read}, {"kill", m.kill}, {"groups", m.groups}, {"tools", m.javaTools}, {"segments", m.segments},
	} {
		if err := phase.run(ctx); err != nil {
			return 0, fmt.Errorf("%s: %w", phase.name, err)
		}
		fmt.Printf("---- %s: done after %.0f s\n", phase.name, time.Since(began).Seconds())
	}
	return 0, nil
}

// kafkaTool gives the command line of one of Apache Kafka's tools.
func (m *matrix) kafkaTool(name string, args ...string) []string {
	return append([]string{filepath.Join(m.options.clients, "..", "..", "bench", "peers", "peers"), "kafka-tool", name}, args...)
}

// slug turns a client's name into a part of a topic name.
func slug(name string) string { return strings.NewReplacer("@", "", "/", "-").Replace(name) }
