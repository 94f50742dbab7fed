package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// sample is what the broker takes up at one moment.
type sample struct {
	at         time.Time
	life       int // index in the plan
	rssBytes   int64
	files      int64 // open descriptors
	maps       int64 // lines of /proc/PID/maps
	goroutines int64
	damaged    int64 // ranges that the broker holds to be damaged; nobody has damaged any
	entries    int64 // files and folders below the data dir
}

// take measures the process pid. An error means that it has just ended or is not there yet.
func take(ctx context.Context, pid int, metrics, data string) (sample, error) {
	s := sample{at: time.Now()}
	proc := fmt.Sprintf("/proc/%d", pid)
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		return s, err
	}
	if s.rssBytes, err = field(status, "VmRSS:"); err != nil {
		return s, err
	}
	s.rssBytes *= 1024
	fds, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		return s, err
	}
	s.files = int64(len(fds))
	maps, err := os.ReadFile(filepath.Join(proc, "maps"))
	if err != nil {
		return s, err
	}
	s.maps = int64(bytes.Count(maps, []byte{'\n'}))
	if err := s.ask(ctx, metrics); err != nil {
		return s, err
	}
	s.entries, err = count(data)
	return s, err
}

// field reads the number after a name at the beginning of a line.
func field(text []byte, name string) (int64, error) {
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if f := strings.Fields(rest); len(f) > 0 {
				x, err := strconv.ParseFloat(f[0], 64)
				return int64(x), err
			}
		}
	}
	return 0, fmt.Errorf("no %q", name)
}

// ask reads the broker's metrics.
func (s *sample) ask(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if s.goroutines, err = field(text, "go_goroutines "); err != nil {
		return err
	}
	_, damaged, found := strings.Cut(string(text), "\nmillrace_log_corrupt_ranges_total{")
	if !found {
		return fmt.Errorf("no corrupt ranges among the metrics of %s", addr)
	}
	_, damaged, _ = strings.Cut(damaged, "}")
	s.damaged, err = field([]byte(damaged), "")
	return err
}

// count is the number of files and folders below dir; what goes while it counts does not matter.
func count(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(string, fs.DirEntry, error) error {
		n++
		return nil
	})
	return n, err
}

// tsv is the sample as a line of samples.tsv.
func (s sample) tsv(begin time.Time) string {
	return fmt.Sprintf("%.1f\t%d\t%d\t%d\t%d\t%d\t%d\n", s.at.Sub(begin).Seconds(), s.life, s.rssBytes, s.files, s.maps, s.goroutines, s.entries)
}

const tsvHeader = "second\tlife\trss_bytes\topen_files\tmaps\tgoroutines\tdir_entries\n"
