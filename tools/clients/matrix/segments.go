package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// kill ends the broker with SIGKILL, lets kafka-dump-log read what is on the disk, and starts the broker again.
func (m *matrix) kill(ctx context.Context) error {
	if m.broker == nil {
		return nil
	}
	m.broker.kill()
	killed := filepath.Join(m.dir, "killed")
	if err := os.CopyFS(killed, os.DirFS(m.broker.data())); err != nil {
		return fmt.Errorf("copy data after kill -9: %w", err)
	}
	logs, err := cutPreallocated(killed)
	if err == nil {
		err = m.dumpLogs(ctx, killed)
	}
	m.report.cell("dump after kill -9: logs", fmt.Sprintf("%d files, --deep-iteration", logs), err)
	if err := m.broker.start(ctx); err != nil {
		return err
	}
	for _, c := range m.writers {
		if err = m.checkEnds(ctx, c); err != nil {
			break
		}
	}
	m.report.cell("restart after kill -9", "end offsets as before", err)
	return nil
}

// segments ends the broker and lets kafka-dump-log read every log file and index.
func (m *matrix) segments(ctx context.Context) error {
	if m.broker == nil {
		return nil
	}
	err := m.broker.stop()
	m.report.cell("stop", "SIGTERM, exit 0", err)
	if err != nil {
		return err
	}
	m.report.cell("dump after a clean end: logs", "--deep-iteration", m.dumpLogs(ctx, m.broker.data()))
	for _, check := range []string{"--index-sanity-check", "--verify-index-only"} {
		m.report.cell("dump after a clean end: indexes", check, m.dumpIndexes(ctx, check))
	}
	return nil
}

// cutPreallocated cuts the zeros that a killed broker leaves after the last batch of a preallocated segment, as Kafka
// does (log.preallocate): kafka-dump-log takes them for damage. Anything but zeros there is an error.
func cutPreallocated(data string) (logs int, err error) {
	files, err := filepath.Glob(filepath.Join(data, "*", "*.log"))
	if err != nil {
		return 0, err
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		const lengthAt, headerBytes = 8, 12 // base offset, then the length of the rest
		end := 0
		for end+headerBytes <= len(content) {
			length := int(binary.BigEndian.Uint32(content[end+lengthAt:]))
			if length == 0 || length > len(content)-end-headerBytes {
				break
			}
			end += headerBytes + length
		}
		if i := bytes.IndexFunc(content[end:], func(r rune) bool { return r != 0 }); i >= 0 {
			return 0, fmt.Errorf("%s: neither a batch nor zeros at %d", path, end+i)
		}
		if err := os.Truncate(path, int64(end)); err != nil {
			return 0, err
		}
	}
	return len(files), nil
}

// complaint is what kafka-dump-log prints of damage; its exit code alone does not tell.
var complaint = regexp.MustCompile(`(?i)mismatch|corrupt|exception|isvalid: false|invalid bytes|non-consecutive|out of order|not found|error`)

var batchLine = regexp.MustCompile(`(?m)^baseOffset: \d+ lastOffset: \d+ count: (\d+) `)

// dumpLogs reads every log file with all its records, and counts those that the clients wrote.
func (m *matrix) dumpLogs(ctx context.Context, data string) error {
	files, err := filepath.Glob(filepath.Join(data, "*", "*.log"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no log files in %s (%v)", data, err)
	}
	out, err := runCommand(ctx, m.kafkaTool("kafka-dump-log", "--deep-iteration", "--files", strings.Join(files, ",")), nil)
	if err != nil {
		return err
	}
	if err := complaints(out); err != nil {
		return err
	}
	want, got := 0, 0
	for _, t := range m.topics {
		want += t.count()
	}
	for _, dump := range bytes.Split(out, []byte("Dumping "))[1:] {
		path, _, _ := strings.Cut(string(dump), "\n")
		dir := filepath.Base(filepath.Dir(path))
		if _, ok := m.topics[dir[:max(strings.LastIndexByte(dir, '-'), 0)]]; !ok {
			continue
		}
		for _, batch := range batchLine.FindAllSubmatch(dump, -1) {
			n, err := strconv.Atoi(string(batch[1]))
			if err != nil {
				return err
			}
			got += n
		}
	}
	if got != want {
		return fmt.Errorf("%d records in the segments of the clients, want %d", got, want)
	}
	return nil
}

func (m *matrix) dumpIndexes(ctx context.Context, check string) error {
	var files []string
	for _, kind := range []string{"*.index", "*.timeindex", "*.txnindex"} {
		found, err := filepath.Glob(filepath.Join(m.broker.data(), "*", kind))
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return fmt.Errorf("no indexes in %s", m.broker.data())
	}
	out, err := runCommand(ctx, m.kafkaTool("kafka-dump-log", check, "--files", strings.Join(files, ",")), nil)
	if err != nil {
		return err
	}
	return complaints(out)
}

func complaints(out []byte) error {
	var found []string
	for text := range strings.Lines(string(out)) {
		if !strings.HasPrefix(text, "Dumping ") && !strings.HasPrefix(text, "| ") && complaint.MatchString(text) {
			found = append(found, strings.TrimSpace(text))
		}
	}
	if found != nil {
		return fmt.Errorf("%d complaints, the first: %s", len(found), found[0])
	}
	return nil
}
