package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLaterSourcesOverrideEarlierOnes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(file, []byte("log.dirs=/file\nnum.partitions=2\nlog.retention.ms=2\nlisteners=PLAINTEXT://:1\nbroker.rack=file\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s := settings{file: file, dev: true, listen: "[::1]:4", http: "off", set: []string{"num.partitions=5"}}
	props, err := s.properties([]string{"MILLRACE_NUM_PARTITIONS=3", "MILLRACE_LOG_RETENTION_HOURS=3", "MILLRACE_LISTENERS=PLAINTEXT://:3", "HOME=/"})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"group.initial.rebalance.delay.ms": "0",                   // --dev
		"log.dirs":                         "/file",               // the file over --dev
		"broker.rack":                      "file",                // the file
		"log.retention.hours":              "3",                   // the environment
		"log.retention.ms":                 "",                    // hidden by it
		"listeners":                        "PLAINTEXT://[::1]:4", // a flag
		"http.listen":                      "",                    // a flag
		"num.partitions":                   "5",                   // --set
	} {
		if props[key] != want {
			t.Errorf("%s is %q, want %q", key, props[key], want)
		}
	}
	if _, ok := props["http.listen"]; !ok {
		t.Error("--http off leaves the default")
	}
}

func TestVerifyAndDumpSayWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "00000000000000000000.log")
	if err := os.WriteFile(path, []byte(strings.Repeat("garbage ", 20)), 0o666); err != nil {
		t.Fatal(err)
	}
	if status, out := command(t, "verify", path); status != 1 || !strings.Contains(out, path+": at 0: ") || !strings.Contains(out, "1 damaged places") {
		t.Errorf("verify: %d\n%s", status, out)
	}
	if status, out := command(t, "dump", path); status != 1 || !strings.Contains(out, "at 0: ") {
		t.Errorf("dump: %d\n%s", status, out)
	}
	if status, out := command(t, "verify", t.TempDir()); status != 1 || !strings.Contains(out, "nothing to verify") {
		t.Errorf("verify of an empty directory: %d\n%s", status, out)
	}
	for _, verb := range []string{"dump", "verify"} {
		if status, _ := command(t, verb, filepath.Join(dir, "none")); status != 1 {
			t.Errorf("%s of nothing: %d", verb, status)
		}
		if status, _ := command(t, verb); status != 1 {
			t.Errorf("%s without a path: %d", verb, status)
		}
	}
}

// Both ways in which people ask for the version answer the same, on one line.
func TestVersion(t *testing.T) {
	status, out := command(t, "version")
	if status != 0 || !strings.HasPrefix(out, "millrace ") || !strings.Contains(out, "pwritev2") || strings.Count(out, "\n") != 1 {
		t.Errorf("status %d: %q", status, out)
	}
	if _, flag := command(t, "--version"); flag != out {
		t.Errorf("--version says %q, version %q", flag, out)
	}
}

func TestWantingLimits(t *testing.T) {
	for _, c := range []struct {
		limits limits
		want   []string
	}{
		{limits{1 << 20, math.MaxUint64, 1 << 20}, nil},
		{limits{}, nil}, // not known
		{limits{1024, 8 << 20, 100}, []string{"LimitNOFILE=1048576", "LimitMEMLOCK=infinity", "sysctl vm.max_map_count=1048576"}},
	} {
		got := wantingLimits(256<<20, c.limits)
		if len(got) != len(c.want) {
			t.Errorf("%+v: %q", c.limits, got)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], c.want[i]) {
				t.Errorf("%q does not name %q", got[i], c.want[i])
			}
		}
	}
}
