package kgosuite

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Options points the suite at a broker.
type Options struct {
	Seeds   string // HOST:PORT
	Records int    // produced by each of the large tests
	Only    string // expression on test names; empty for all
	// Hanging are tests that would wait for ever for what the broker does not
	// have. They are run alone, and for a short time.
	Hanging []string
}

// Result is one test or sub-test.
type Result struct {
	Name, Verdict, Took string // Verdict is PASS, FAIL or SKIP
	Output              string // what it logged
}

// suiteTimeout ends a suite in which a test hangs; against Kafka it takes two and
// a half minutes on two cores.
const suiteTimeout = 12 * time.Minute

// hangingTimeout is how long a test that is known to hang is watched: longer than
// it takes against a broker that has what it needs is not necessary to see that it
// got nowhere, since it fails the run only by passing.
const hangingTimeout = 20 * time.Second

var verdict = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+s)\)$`)

// Run runs the test program against a broker and gives each test's verdict. Tests
// that were cut off by a panic or the time limit count as failed.
func Run(ctx context.Context, program string, o Options) ([]Result, error) {
	args := []string{"-test.v", "-test.timeout", suiteTimeout.String()}
	if o.Only != "" {
		args = append(args, "-test.run", o.Only)
	}
	if len(o.Hanging) > 0 {
		args = append(args, "-test.skip", "^("+strings.Join(o.Hanging, "|")+")$")
	}
	out, err := run(ctx, program, o, args...)
	if err != nil {
		return nil, err
	}
	results := parse(out)
	if o.Only != "" {
		return results, ctx.Err()
	}
	for _, name := range o.Hanging {
		out, err := run(ctx, program, o, "-test.v", "-test.timeout", hangingTimeout.String(), "-test.run", "^"+name+"$")
		if err != nil {
			return nil, err
		}
		results = append(results, parse(out)...)
	}
	return results, ctx.Err()
}

// run runs the test program once. Tests that fail are no error here.
func run(ctx context.Context, program string, o Options, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = filepath.Join(filepath.Dir(program), "src", "pkg", "kgo") // the tests read files of their package
	cmd.Env = append(os.Environ(), "KGO_SEEDS="+o.Seeds, "KGO_TEST_RF=1",
		fmt.Sprintf("KGO_TEST_RECORDS=%d", o.Records), "KGO_LOG_LEVEL=none")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("run kgo tests: %w", err)
	}
	if !bytes.Contains(out, []byte("=== RUN")) {
		return nil, fmt.Errorf("kgo tests did not run\n%s", out)
	}
	return out, nil
}

// parse reads the output of a verbose test run.
func parse(out []byte) []Result {
	var results []Result
	started := map[string]bool{} // without a verdict yet
	logged := map[string]*strings.Builder{}
	current := ""
	scan := bufio.NewScanner(bytes.NewReader(out))
	scan.Buffer(nil, 16<<20)
	for scan.Scan() {
		line := scan.Text()
		if verb, name, ok := strings.Cut(strings.TrimPrefix(line, "=== "), " "); ok && strings.HasPrefix(line, "=== ") {
			current = strings.TrimSpace(name)
			if strings.TrimSpace(verb) == "RUN" {
				started[current] = true
			}
			continue
		}
		if m := verdict.FindStringSubmatch(line); m != nil {
			results = append(results, Result{Name: m[2], Verdict: m[1], Took: m[3]})
			current = m[2]
			delete(started, m[2])
			continue
		}
		if logged[current] == nil {
			logged[current] = new(strings.Builder)
		}
		logged[current].WriteString(line + "\n")
	}
	for name := range started {
		results = append(results, Result{Name: name, Verdict: "FAIL", Took: "cut off"})
	}
	for i := range results {
		if b := logged[results[i].Name]; b != nil {
			results[i].Output = b.String()
		}
	}
	return results
}
