package inspect

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// readCheckpoint reads Kafka's checkpoint format: a version, a count, and that many lines of fields. An empty file is
// one that was made and not yet written.
func readCheckpoint(path string, fields int) ([][]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() == 0 {
		return nil, nil
	}
	s := bufio.NewScanner(f)
	number := func(what string) (int, error) {
		if !s.Scan() {
			return 0, fmt.Errorf("%s: no %s", path, what)
		}
		n, err := strconv.Atoi(strings.TrimSpace(s.Text()))
		if err != nil || n < 0 {
			return 0, fmt.Errorf("%s: %s is %q", path, what, s.Text())
		}
		return n, nil
	}
	version, err := number("version")
	if err != nil {
		return nil, err
	}
	if version != 0 {
		return nil, fmt.Errorf("%s: version %d", path, version)
	}
	count, err := number("count")
	if err != nil {
		return nil, err
	}
	var lines [][]string
	for s.Scan() {
		line := strings.Fields(s.Text())
		if len(line) != fields {
			return nil, fmt.Errorf("%s: line %d: %q", path, len(lines)+3, s.Text())
		}
		lines = append(lines, line)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(lines) != count {
		return nil, fmt.Errorf("%s: %d lines, the count is %d", path, len(lines), count)
	}
	return lines, nil
}

// epochStart is one line of a leader-epoch-checkpoint.
type epochStart struct {
	epoch  int32
	offset int64
}

func readEpochs(path string) ([]epochStart, error) {
	lines, err := readCheckpoint(path, 2)
	if err != nil {
		return nil, err
	}
	var out []epochStart
	for i, line := range lines {
		epoch, err1 := strconv.ParseInt(line[0], 10, 32)
		offset, err2 := strconv.ParseInt(line[1], 10, 64)
		e := epochStart{int32(epoch), offset}
		if err1 != nil || err2 != nil || epoch < 0 || offset < 0 {
			return nil, fmt.Errorf("%s: line %d: %q", path, i+3, strings.Join(line, " "))
		}
		if n := len(out); n > 0 && (e.epoch <= out[n-1].epoch || e.offset < out[n-1].offset) {
			return nil, fmt.Errorf("%s: line %d: epoch %d from offset %d comes after epoch %d from offset %d", path, i+3,
				e.epoch, e.offset, out[n-1].epoch, out[n-1].offset)
		}
		out = append(out, e)
	}
	return out, nil
}

func dumpEpochs(w io.Writer, path string) error {
	epochs, err := readEpochs(path)
	for _, e := range epochs {
		fmt.Fprintf(w, "epoch: %d startOffset: %d\n", e.epoch, e.offset)
	}
	return err
}

// verifyEpochs checks the file and, if logs are given, that each batch carries the epoch of its offset.
func verifyEpochs(path string, logs []*segmentLog, r *Report) error {
	r.Files++
	epochs, err := readEpochs(path)
	if err != nil {
		r.damage(path, -1, "%v", err)
		return nil
	}
	for _, log := range logs {
		i := -1
		for _, b := range log.batches {
			for i+1 < len(epochs) && epochs[i+1].offset <= b.base {
				i++
			}
			if want := int32(-1); i >= 0 {
				if want = epochs[i].epoch; want != b.epoch {
					r.damage(log.path, b.pos, "batch of offset %d: leader epoch %d, of the checkpoint %d", b.base, b.epoch, want)
					break
				}
			}
		}
	}
	return nil
}

// dumpCheckpoint prints the offsets of a log dir's checkpoint.
func dumpCheckpoint(w io.Writer, path string) error {
	lines, err := readCheckpoint(path, 3)
	for _, l := range lines {
		fmt.Fprintf(w, "topic: %s partition: %s offset: %s\n", l[0], l[1], l[2])
	}
	return err
}

func verifyCheckpoint(path string, r *Report) error {
	r.Files++
	lines, err := readCheckpoint(path, 3)
	if err != nil {
		r.damage(path, -1, "%v", err)
		return nil
	}
	for _, l := range lines {
		_, err1 := strconv.ParseInt(l[1], 10, 32)
		if offset, err2 := strconv.ParseInt(l[2], 10, 64); err1 != nil || err2 != nil || offset < 0 {
			r.damage(path, -1, "%s-%s has offset %s", l[0], l[1], l[2])
		}
	}
	return nil
}
