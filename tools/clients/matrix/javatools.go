package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// javaTools runs Apache Kafka's console, verifiable and performance tools, each producer with its consumer.
func (m *matrix) javaTools(ctx context.Context) error {
	if err := m.createTopics(ctx, 1, "t-console", "t-verifiable", "t-performance"); err != nil {
		return err
	}
	var pairs sync.WaitGroup
	for name, check := range map[string]func(context.Context) error{
		"console": m.console, "verifiable": m.verifiable, "performance": m.performance,
	} {
		pairs.Go(func() { m.report.cell("java "+name+" tools", "producer and consumer", check(ctx)) })
	}
	pairs.Wait()
	return nil
}

// console writes lines with the console producer and with franz-go, and reads both with the console consumer.
func (m *matrix) console(ctx context.Context) error {
	input := "a:1,b:2\tkey\tvalue\nh:\t\tempty key and header\nn:NIL\tNIL\tnull key\nd:x\ttombstone\tNIL\n"
	_, err := runCommand(ctx, m.kafkaTool("kafka-console-producer", "--bootstrap-server", m.brokers, "--topic", "t-console",
		"--compression-codec", "zstd", "--reader-property", "parse.key=true", "--reader-property", "parse.headers=true",
		"--reader-property", "null.marker=NIL"), []byte(input))
	if err != nil {
		return err
	}
	cl, err := m.connect(kgo.ProducerBatchCompression(kgo.Lz4Compression()))
	if err != nil {
		return err
	}
	defer cl.Close()
	ours := &kgo.Record{Topic: "t-console", Key: []byte("k"), Value: []byte("franz-go"), Headers: []kgo.RecordHeader{{Key: "x", Value: []byte("y")}}}
	if err := cl.ProduceSync(ctx, ours).FirstErr(); err != nil {
		return err
	}
	args := []string{"--bootstrap-server", m.brokers, "--topic", "t-console", "--from-beginning", "--max-messages", "5", "--timeout-ms", "60000"}
	for _, p := range []string{"print.key", "print.headers", "print.partition", "print.offset"} {
		args = append(args, "--formatter-property", p+"=true")
	}
	out, err := runCommand(ctx, m.kafkaTool("kafka-console-consumer", append(args, "--formatter-property", "null.literal=NIL")...), nil)
	if err != nil {
		return err
	}
	want := "Partition:0\tOffset:0\ta:1,b:2\tkey\tvalue\n" +
		"Partition:0\tOffset:1\th:\t\tempty key and header\n" +
		"Partition:0\tOffset:2\tn:NIL\tNIL\tnull key\n" +
		"Partition:0\tOffset:3\td:x\ttombstone\tNIL\n" +
		"Partition:0\tOffset:4\tx:y\tk\tfranz-go\n"
	if string(out) != want {
		return fmt.Errorf("console consumer printed\n%s\nwant\n%s", out, want)
	}
	return nil
}

// verifiable checks that the verifiable consumer reads and commits what the verifiable producer had acknowledged.
func (m *matrix) verifiable(ctx context.Context) error {
	const records = 500
	out, err := runCommand(ctx, m.kafkaTool("kafka-verifiable-producer", "--bootstrap-server", m.brokers, "--topic", "t-verifiable",
		"--max-messages", fmt.Sprint(records), "--acks", "-1"), nil)
	if err != nil {
		return err
	}
	var want []string
	err = eachEvent(out, func(e map[string]any) {
		if e["name"] == "producer_send_success" {
			want = append(want, fmt.Sprint(e["value"]))
		}
	})
	if err != nil || len(want) != records {
		return fmt.Errorf("verifiable producer: %d of %d records acknowledged (%v)", len(want), records, err)
	}
	out, err = runCommand(ctx, m.kafkaTool("kafka-verifiable-consumer", "--bootstrap-server", m.brokers, "--topic", "t-verifiable",
		"--group-id", "g-verifiable", "--max-messages", fmt.Sprint(records), "--reset-policy", "earliest", "--verbose"), nil)
	if err != nil {
		return err
	}
	var got []string
	if err := eachEvent(out, func(e map[string]any) {
		if e["name"] == "record_data" {
			got = append(got, fmt.Sprint(e["value"]))
		}
	}); err != nil {
		return err
	}
	if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		return fmt.Errorf("verifiable consumer read %d records that differ from the %d acknowledged", len(got), len(want))
	}
	committed, err := m.committed(ctx, "g-verifiable", "t-verifiable")
	if err == nil && committed[0] != records {
		err = fmt.Errorf("verifiable consumer committed %d, want %d", committed[0], records)
	}
	return err
}

func eachEvent(out []byte, f func(map[string]any)) error {
	for text := range bytes.Lines(out) {
		if !bytes.HasPrefix(text, []byte("{")) {
			continue
		}
		var event map[string]any
		if err := json.Unmarshal(text, &event); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
		f(event)
	}
	return nil
}

// consumedCount finds the fifth column of the performance consumer's line: records read.
var consumedCount = regexp.MustCompile(`(?m)^\d{4}-[^,]*,[^,]*,[^,]*,[^,]*, (\d+),`)

func (m *matrix) performance(ctx context.Context) error {
	const records = "5000"
	out, err := runCommand(ctx, m.kafkaTool("kafka-producer-perf-test", "--bootstrap-server", m.brokers, "--topic", "t-performance",
		"--num-records", records, "--record-size", "1000", "--throughput", "-1", "--command-property", "compression.type=lz4"), nil)
	if err != nil {
		return err
	}
	if !strings.Contains(string(out), records+" records sent") {
		return fmt.Errorf("performance producer printed\n%s", out)
	}
	out, err = runCommand(ctx, m.kafkaTool("kafka-consumer-perf-test", "--bootstrap-server", m.brokers, "--topic", "t-performance",
		"--num-records", records, "--timeout", "60000"), nil)
	if err != nil {
		return err
	}
	if found := consumedCount.FindSubmatch(out); found == nil || string(found[1]) != records {
		return fmt.Errorf("performance consumer printed\n%s", out)
	}
	return nil
}
