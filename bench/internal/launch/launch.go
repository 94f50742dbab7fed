// Package launch starts and stops brokers by the script bench/peers/peers, from the root of the checkout.
package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"millrace/bench/internal/proc"
)

// Script starts and stops every broker.
const Script = "bench/peers/peers"

// HTTPOffset is where Millrace's HTTP listener is, above its port.
const HTTPOffset = 5

// Start starts the broker of that name from nothing, with settings KEY=VALUE, and returns its processes when its port is
// open. After an error there may be some too: Stop is to be called all the same.
func Start(ctx context.Context, name, dir string, port int, sets []string) (pids []int, err error) {
	args := []string{"start", name, "--dir", dir, "--port", strconv.Itoa(port), "--fresh"}
	for _, s := range sets {
		args = append(args, "--set", s)
	}
	if err := script(ctx, args...); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "pids"))
	if err != nil {
		return nil, err
	}
	if pids, err = parsePids(string(text), proc.Alive); err != nil {
		return nil, fmt.Errorf("process ids of %s: %w", name, err)
	}
	return pids, nil
}

// Stop ends the broker, whatever happened to the run.
func Stop(name, dir string) error {
	return script(context.Background(), "stop", name, "--dir", dir)
}

// script runs the script with its output on ours.
func script(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, Script, args...)
	cmd.Env = append(os.Environ(), "PEERS_HTTP_OFFSET="+strconv.Itoa(HTTPOffset))
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", Script, strings.Join(args, " "), err)
	}
	return nil
}

// parsePids reads the lines "PID STARTTIME" of a started broker, of those that are alive: some begin with a helper that
// ends.
func parsePids(text string, alive func(int) bool) ([]int, error) {
	var pids []int
	for line := range strings.Lines(text) {
		field, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		if alive(pid) {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		return nil, fmt.Errorf("none of %q is alive", text)
	}
	return pids, nil
}
