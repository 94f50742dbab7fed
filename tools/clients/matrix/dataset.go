package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"
)

// topicPartitions is how many partitions each written topic has.
const topicPartitions = 3

// largeBytes is the length above which clients print length and checksum instead of the bytes.
const largeBytes = 4096

// header is a key and a value; a nil value is null.
type header struct {
	key   string
	value []byte
}

// record is one record to write, and what every reader must see. Nil is null, empty is empty.
type record struct {
	partition  int32
	timestamp  int64
	key, value []byte
	headers    []header
}

// dataSet makes the records: every kind of headers with every kind of key and value, and some large values. Records of
// the same partition and headers stand together, since kcat takes both once per process.
func dataSet(start time.Time) []record {
	allBytes := make([]byte, 256)
	for i := range allBytes {
		allBytes[i] = byte(i)
	}
	random := make([]byte, 1_000_000)
	for i, seed := 0, rand.NewPCG(1, 2); i < len(random); i += 8 {
		word := seed.Uint64()
		for j := range 8 {
			random[i+j] = byte(word >> (8 * j))
		}
	}
	text, empty := func(s string) []byte { return []byte(s) }, []byte{}
	headers := [][]header{
		nil,
		{{"h", text("one")}},
		{{"first", text("1")}, {"second", text("zwei")}, {"third", text("trois")}},
		{{"", text("empty key")}},
		{{"null", nil}},
		{{"again", text("1")}, {"again", text("2")}, {"other", text("x")}},
		{{"empty", empty}},
		{{"binary", allBytes}},
	}
	pairs := [topicPartitions][][2][]byte{
		{{text("key"), text("value")}, {nil, text("null key")}, {empty, text("empty key")}},
		{{text("empty value"), empty}, {empty, empty}, {nil, empty}, {allBytes, allBytes}},
		{{text("null value"), nil}, {nil, nil}},
	}
	var records []record
	add := func(partition int32, key, value []byte, h []header) {
		at := start.Add(time.Duration(len(records)) * 1_001 * time.Millisecond)
		records = append(records, record{partition, at.UnixMilli(), key, value, h})
	}
	for _, h := range headers {
		for partition, kinds := range pairs {
			for _, kv := range kinds {
				add(int32(partition), kv[0], kv[1], h)
			}
		}
	}
	add(0, text("1 MB, random"), random, nil)
	add(1, text("1 MB, one line"), []byte(strings.Repeat("all work and no play\t", 1_000_000/21)), nil)
	add(1, text("after"), text("the large one"), nil)
	add(2, text("10 kB"), random[:10_000], nil)
	return records
}

func base64Text(b []byte) *string {
	if b == nil {
		return nil
	}
	s := base64.StdEncoding.EncodeToString(b)
	return &s
}

// text is a key or value as clients print it.
func text(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) > largeBytes:
		return fmt.Sprintf("sha256:%d:%x", len(b), sha256.Sum256(b))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// writeRecords writes the records file that the programs read.
func writeRecords(path string, records []record) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for _, r := range records {
		headers := make([][2]*string, 0, len(r.headers))
		for _, h := range r.headers {
			headers = append(headers, [2]*string{&h.key, base64Text(h.value)})
		}
		line, err := json.Marshal(map[string]any{"partition": r.partition, "timestamp": r.timestamp,
			"key": base64Text(r.key), "value": base64Text(r.value), "headers": headers})
		if err != nil {
			return err
		}
		w.Write(append(line, '\n'))
	}
	return w.Flush()
}
