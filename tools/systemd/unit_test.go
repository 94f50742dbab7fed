package systemd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"millrace/broker/config"
)

// systemd reads the unit without a complaint. tools/deps/install provides systemd-analyze.
func TestSystemdAcceptsTheUnit(t *testing.T) {
	unit, err := os.ReadFile("millrace.service")
	if err != nil {
		t.Fatal(err)
	}
	// The program is not installed where this test runs: let it be one that is.
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	unit = bytes.ReplaceAll(unit, []byte("/usr/local/bin/millrace "), []byte(program+" "))
	path := filepath.Join(t.TempDir(), "millrace.service")
	if err := os.WriteFile(path, unit, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// What it says about other units of the machine is not ours.
	for line := range strings.SplitSeq(string(out), "\n") {
		if strings.Contains(line, "millrace.service") {
			t.Error(line)
		}
	}
}

func TestTheUnitsLimits(t *testing.T) {
	unit, err := os.ReadFile("millrace.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Type=notify", "LimitNOFILE=1048576", "LimitMEMLOCK=infinity", "NoNewPrivileges=yes", "ProtectSystem=strict", "PrivateTmp=yes",
		"RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX", "TimeoutStopSec=60s", "StateDirectory=millrace",
	} {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(want) + `$`).Match(unit) {
			t.Errorf("no line %q", want)
		}
	}
	// The ring is forbidden by a filter that leaves one of these out.
	for _, call := range []string{"io_uring_setup", "io_uring_enter", "io_uring_register"} {
		if !regexp.MustCompile(`(?m)^SystemCallFilter=[^~].*\b` + call + `\b`).Match(unit) {
			t.Errorf("%s is not allowed", call)
		}
	}
}

func TestTheExampleLoadsWithoutAWarning(t *testing.T) {
	f, err := os.Open("millrace.properties")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	props, err := config.ParseProperties(f)
	if err != nil {
		t.Fatal(err)
	}
	b, warnings, err := config.Load(props)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, warnings %q", err, warnings)
	}
	if b.LogDirs[0] != "/var/lib/millrace/data" {
		t.Errorf("log dirs %q", b.LogDirs)
	}
}
