// Command clients drives the Go clients of Kafka for the client matrix: franz-go, sarama and kafka-go.
//
// It reads one command (JSON) from standard input, carries it out with the client that the command names, and prints
// JSON lines. ../README.md describes both. It is a module of its own, so that the broker's stays small.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
)

// client is what the matrix asks of each library.
type client interface {
	// produce writes all records to one topic and returns when they are acknowledged.
	produce(ctx context.Context, t target, records []record) error
	// consume prints all records of the topics, each partition in order.
	consume(ctx context.Context, topics []ends) error
	// member joins the group, prints and commits what it reads below the wanted offset, and leaves when p is done.
	member(ctx context.Context, name string, p *progress) error
}

func newClient(cmd *command) (client, error) {
	switch cmd.Client {
	case "franz-go":
		return franz{cmd}, nil
	case "sarama":
		return newSarama(cmd, saramaNewest), nil
	case "sarama-2.8":
		return newSarama(cmd, saramaOld), nil
	case "kafka-go":
		return kafkaGo{cmd}, nil
	}
	return nil, fmt.Errorf("unknown client %q", cmd.Client)
}

func run() error {
	var cmd command
	if err := json.NewDecoder(os.Stdin).Decode(&cmd); err != nil {
		return fmt.Errorf("read command: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), cmd.timeout())
	defer cancel()
	c, err := newClient(&cmd)
	if err != nil {
		return err
	}
	switch cmd.Op {
	case "produce":
		records, err := readRecords(cmd.Records)
		if err != nil {
			return err
		}
		for _, t := range cmd.Targets {
			if err := c.produce(ctx, t, records); err != nil {
				return fmt.Errorf("produce to %s: %w", t.Topic, err)
			}
			printProduced(t.Topic, len(records))
		}
		return nil
	case "consume":
		return c.consume(ctx, cmd.Topics)
	case "group":
		p := newProgress(&cmd)
		errs := make(chan error, 2)
		for _, name := range []string{"A", "B"} {
			go func() { errs <- c.member(ctx, name, p) }()
		}
		for range 2 {
			if err := <-errs; err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("unknown op %q", cmd.Op)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
