package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Between key and value, and after each record, on kcat's standard input; and after each record on its output.
const (
	kcatKey    = "\x01K\x01"
	kcatRecord = "\x01R\x01"
)

var kcatLimits = []limit{
	{reason: "writes its own timestamps: it has no option for them", ownTimestamps: true},
	{reason: "headers are on the command line: no zero bytes in values and no empty key, when written", omit: func(r record) bool {
		return anyHeader(r, func(h header) bool { return h.key == "" || bytes.IndexByte(h.value, 0) >= 0 })
	}},
	{reason: "skips empty lines: no empty value without a key", omit: func(r record) bool {
		return r.key == nil && r.value != nil && len(r.value) == 0
	}},
	{reason: "prints header values up to the first zero byte, and all headers as one text", see: func(s *seen) { s.headers = kcatHeaders(s.headers) }},
}

// kcatHeaders is one text for all headers, as kcat prints them.
func kcatHeaders(headers [][2]string) [][2]string {
	var all []string
	for _, h := range headers {
		value := "NULL"
		if h[1] != "null" {
			raw, _ := base64.StdEncoding.DecodeString(h[1]) // from text, thus valid
			value, _, _ = strings.Cut(string(raw), "\x00")
		}
		all = append(all, h[0]+"="+value)
	}
	if all == nil {
		return nil
	}
	return [][2]string{{strings.Join(all, ","), ""}}
}

// kcatWrite runs one process for each run of records with the same partition, headers and kind of nulls.
func (m *matrix) kcatWrite(ctx context.Context, c client, records []record) (written int, err error) {
	for _, codec := range c.codecs {
		for begin := 0; begin < len(records); {
			end := begin + 1
			for end < len(records) && kcatTogether(records[begin], records[end]) {
				end++
			}
			argv := []string{"kcat", "-P", "-b", m.brokers, "-t", "m-kcat-" + codec, "-p", strconv.Itoa(int(records[begin].partition)),
				"-z", codec, "-K", kcatKey, "-D", kcatRecord, "-X", "message.max.bytes=2097152", "-X", "linger.ms=1",
				"-X", fmt.Sprintf("enable.idempotence=%t", codec != "none")}
			if hasNullValue(records[begin]) {
				argv = append(argv, "-Z")
			}
			for _, h := range records[begin].headers {
				if h.value == nil {
					argv = append(argv, "-H", h.key)
				} else {
					argv = append(argv, "-H", h.key+"="+string(h.value))
				}
			}
			var input bytes.Buffer
			for _, r := range records[begin:end] {
				// With -Z an empty key is a null one; without, a record without the separator has none.
				if r.key != nil || hasNullValue(r) {
					input.Write(r.key)
					input.WriteString(kcatKey)
				}
				input.Write(r.value)
				input.WriteString(kcatRecord)
			}
			if _, err := runCommand(ctx, argv, input.Bytes()); err != nil {
				return written, err
			}
			begin = end
		}
		written++
	}
	return written, nil
}

func hasNullValue(r record) bool { return r.value == nil }

func kcatTogether(a, b record) bool {
	return a.partition == b.partition && hasNullValue(a) == hasNullValue(b) &&
		slices.EqualFunc(a.headers, b.headers, func(x, y header) bool { return x.key == y.key && text(x.value) == text(y.value) })
}

// kcatConsumer is a kcat that is a member of a group.
type kcatConsumer struct {
	out  *bufio.Reader
	wait func() error
	// leave asks it to commit, leave the group and end.
	leave func()
}

// kcatFormat is what kcatNext parses: numbers, then bytes of the lengths given, then headers.
const kcatFormat = "%t %p %o %T %K %S\n%k%s%h" + kcatRecord + "\n"

func (m *matrix) startKcat(ctx context.Context, group string, args ...string) (*kcatConsumer, error) {
	argv := append([]string{"kcat", "-G", group, "-b", m.brokers, "-f", kcatFormat, "-u", "-X", "auto.offset.reset=earliest",
		"-X", "heartbeat.interval.ms=500", "-X", "session.timeout.ms=10000", "-X", "fetch.wait.max.ms=100"}, args...)
	cmd, stderr := startable(ctx, argv)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &kcatConsumer{bufio.NewReaderSize(out, 1<<20), func() error {
		io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("kcat: %w\n%s", err, lastBytes(stderr))
		}
		return nil
	}, func() { cmd.Process.Signal(syscall.SIGTERM) }}, nil
}

// next returns the next record; io.EOF after the last.
func (k *kcatConsumer) next() (topic string, partition int32, s seen, err error) {
	numbers, err := k.out.ReadString('\n')
	if err != nil {
		return "", 0, seen{}, io.EOF
	}
	var keyBytes, valueBytes int
	if _, err := fmt.Sscan(numbers, &topic, &partition, &s.offset, &s.timestamp, &keyBytes, &valueBytes); err != nil {
		return "", 0, seen{}, fmt.Errorf("kcat printed %q: %w", numbers, err)
	}
	if s.key, err = k.bytes(keyBytes); err == nil {
		s.value, err = k.bytes(valueBytes)
	}
	var headers []byte
	for err == nil && !bytes.HasSuffix(headers, []byte(kcatRecord+"\n")) {
		var b byte
		b, err = k.out.ReadByte()
		headers = append(headers, b)
	}
	if err != nil {
		return "", 0, seen{}, fmt.Errorf("kcat printed half a record: %w", err)
	}
	if headers = bytes.TrimSuffix(headers, []byte(kcatRecord+"\n")); len(headers) > 0 {
		s.headers = [][2]string{{string(headers), ""}}
	}
	return topic, partition, s, nil
}

func (k *kcatConsumer) bytes(n int) (string, error) {
	if n < 0 {
		return text(nil), nil
	}
	b := make([]byte, n)
	_, err := io.ReadFull(k.out, b)
	return text(b), err
}

// kcatRead reads every topic with one process.
func (m *matrix) kcatRead(ctx context.Context, collect func(string, int32, seen)) error {
	ctx, cancel := context.WithTimeout(ctx, programLimit)
	defer cancel()
	var names []string
	left := 0
	for _, t := range m.topics {
		names = append(names, t.name)
		left += t.count()
	}
	k, err := m.startKcat(ctx, "read-kcat", names...)
	if err != nil {
		return err
	}
	for ; left > 0; left-- {
		topic, partition, s, err := k.next()
		if err != nil {
			return fmt.Errorf("%d records missing: %w", left, err)
		}
		collect(topic, partition, s)
	}
	k.leave()
	return k.wait()
}
