package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// shortRounds is how many kills the test does; MILLRACE_CRASH_ROUNDS asks for more, and
// run.sh does more in any case.
const shortRounds = 3

func TestNothingAcknowledgedIsLostWhenTheBrokerIsKilled(t *testing.T) {
	rounds := shortRounds
	if s := os.Getenv("MILLRACE_CRASH_ROUNDS"); s != "" {
		var err error
		if rounds, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(t.TempDir(), "millrace")
	if out, err := exec.Command("go", "build", "-o", binary, "millrace/tools/millrace").CombinedOutput(); err != nil {
		t.Fatalf("build millrace: %v\n%s", err, out)
	}
	o, err := parseOptions([]string{"--bin", binary, "--rounds", strconv.Itoa(rounds), "--max-alive", "700ms", "--big-log-gb", "0"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = run(t.Context(), o, &out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
}
