package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"millrace/bench/internal/result"
)

// startFloor runs bench/floor, the smallest server there is to drive.
func startFloor(t *testing.T) (addr string, pid int) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "floor")
	if out, err := exec.Command("go", "build", "-o", program, "millrace/bench/floor").CombinedOutput(); err != nil {
		t.Fatalf("build floor: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	l.Close()
	cmd := exec.Command(program, "--dir", t.TempDir(), "--listen", addr)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return addr, cmd.Process.Pid
}

func TestEveryModeAgainstAServer(t *testing.T) {
	addr, pid := startFloor(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run := func(args ...string) []result.Phase {
		t.Helper()
		o, err := parseOptions(append(args, "--brokers", addr, "--broker-pid", strconv.Itoa(pid)))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := o.run(ctx, &out); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		var lines []result.Phase
		for dec := json.NewDecoder(&out); dec.More(); {
			var x result.Phase
			if err := dec.Decode(&x); err != nil {
				t.Fatal(err)
			}
			if x.Errors != 0 {
				t.Fatalf("%v: %d errors, the first: %s", args, x.Errors, x.FirstError)
			}
			lines = append(lines, x)
		}
		return lines
	}
	run("--mode", "ping", "--max-time", "30s")
	for _, topics := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d topics", topics), func(t *testing.T) {
			n := strconv.Itoa(topics)
			got := run("--mode", "both", "--topics", n, "--partitions", "2", "--records", "3000", "--compression", "lz4", "--delete")
			if len(got) != 2 || got[0].Records != 3000 || got[0].LatencyMs == nil || got[1].Phase != "consume" || got[1].Records < 3000 {
				t.Errorf("lines are %+v", got)
			}
			got = run("--mode", "e2e", "--topics", n, "--topic", "e", "--rate", "2000", "--records", "1000", "--delete")
			if len(got) != 1 || got[0].Records != 1000 || got[0].E2EMs["p50"] <= 0 {
				t.Errorf("lines are %+v", got)
			}
		})
	}
	if got := run("--mode", "delete", "--topic", "nothing"); len(got) != 0 {
		t.Errorf("lines are %+v", got)
	}
}
