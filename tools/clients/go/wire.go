package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// command is what the matrix asks for, one JSON object on standard input.
type command struct {
	Op      string `json:"op"`
	Client  string `json:"client"`
	Brokers string `json:"brokers"`
	// Records is the file with the records to produce, one JSON object a line.
	Records string   `json:"records"`
	Targets []target `json:"targets"`
	Topics  []ends   `json:"topics"`
	Group   string   `json:"group"`
	Topic   string   `json:"topic"`
	// Partitions of Topic; Until is the offset up to which each of them is read and committed.
	Partitions int   `json:"partitions"`
	Until      int64 `json:"until"`
	TimeoutS   int   `json:"timeout_s"`
}

func (c *command) timeout() time.Duration { return time.Duration(c.TimeoutS) * time.Second }

// target is one topic to write, with one codec.
type target struct {
	Topic      string `json:"topic"`
	Codec      string `json:"codec"`
	Idempotent bool   `json:"idempotent"`
}

// ends tells how many records each partition of a topic holds.
type ends struct {
	Topic string  `json:"topic"`
	Ends  []int64 `json:"ends"`
}

// header is a key and a value; a nil value is null.
type header struct {
	Key   string
	Value []byte
}

// record is one record, as read from the records file or as consumed. Nil is null, empty is empty.
type record struct {
	Topic     string
	Partition int32
	Offset    int64
	Timestamp int64
	Key       []byte
	Value     []byte
	Headers   []header
}

// fileRecord is a line of the records file.
type fileRecord struct {
	Partition int32        `json:"partition"`
	Timestamp int64        `json:"timestamp"`
	Key       *string      `json:"key"`
	Value     *string      `json:"value"`
	Headers   [][2]*string `json:"headers"`
}

func unbase64(s *string) ([]byte, error) {
	if s == nil {
		return nil, nil
	}
	b, err := base64.StdEncoding.DecodeString(*s)
	if b == nil {
		b = []byte{}
	}
	return b, err
}

// readRecords reads the records file.
func readRecords(path string) ([]record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var records []record
	for d := json.NewDecoder(bufio.NewReader(f)); d.More(); {
		var line fileRecord
		if err := d.Decode(&line); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		r := record{Partition: line.Partition, Timestamp: line.Timestamp}
		if r.Key, err = unbase64(line.Key); err != nil {
			return nil, err
		}
		if r.Value, err = unbase64(line.Value); err != nil {
			return nil, err
		}
		for _, h := range line.Headers {
			value, err := unbase64(h[1])
			if err != nil {
				return nil, err
			}
			r.Headers = append(r.Headers, header{*h[0], value})
		}
		records = append(records, r)
	}
	return records, nil
}

// largeBytes is the length above which only length and checksum are printed.
const largeBytes = 4096

func text(b []byte) *string {
	if b == nil {
		return nil
	}
	s := base64.StdEncoding.EncodeToString(b)
	if len(b) > largeBytes {
		s = fmt.Sprintf("sha256:%d:%x", len(b), sha256.Sum256(b))
	}
	return &s
}

// output writes JSON lines; safe for several goroutines.
var output = struct {
	sync.Mutex
	*bufio.Writer
}{Writer: bufio.NewWriter(os.Stdout)}

func printLine(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings and numbers only
	}
	output.Lock()
	defer output.Unlock()
	output.Write(append(line, '\n'))
	output.Flush()
}

func printRecord(member string, r record) {
	headers := make([][2]*string, 0, len(r.Headers))
	for _, h := range r.Headers {
		headers = append(headers, [2]*string{&h.Key, text(h.Value)})
	}
	line := map[string]any{"topic": r.Topic, "partition": r.Partition, "offset": r.Offset, "timestamp": r.Timestamp,
		"key": text(r.Key), "value": text(r.Value), "headers": headers}
	if member != "" {
		line["member"] = member
	}
	printLine(line)
}

func printProduced(topic string, count int) {
	printLine(map[string]any{"event": "produced", "topic": topic, "count": count})
}
