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
	t.Run("several clients with keys", func(t *testing.T) {
		args := []string{"--topic", "several", "--partitions", "4", "--records", "3000", "--producers", "3", "--consumers", "4", "--keys", "100", "--buffer-bytes", "4000000"}
		if got := run(append(args, "--mode", "both")...); len(got) != 2 || got[0].Records != 3000 || got[1].Records < 3000 || got[0].Producers != 3 {
			t.Errorf("lines are %+v", got)
		}
		if got := run(append(args, "--mode", "e2e", "--delete")...); len(got) != 1 || got[0].Records != 3000 || got[0].E2EMs["max"] <= 0 {
			t.Errorf("lines are %+v", got)
		}
	})
	for _, topics := range []int{1, 3, 200} {
		t.Run(fmt.Sprintf("raw, %d topics", topics), func(t *testing.T) {
			args := []string{"--topic", "raw", "--topics", strconv.Itoa(topics)}
			got := run(append(args, "--mode", "produce", "--raw", "--producers", "2", "--records", "20000", "--batch-records", "20")...)
			if len(got) != 1 || got[0].Records < 20000 || got[0].CutShort || got[0].Idempotent || got[0].LatencyMs["p50"] <= 0 {
				t.Fatalf("lines are %+v", got)
			}
			n := strconv.FormatInt(got[0].Records, 10)
			if got = run(append(args, "--mode", "consume", "--records", n, "--raw", "--consumers", "3")...); len(got) != 1 || strconv.FormatInt(got[0].Records, 10) != n {
				t.Errorf("lines are %+v", got)
			}
			if got = run(append(args, "--mode", "consume", "--records", n, "--delete")...); len(got) != 1 || got[0].Records < 20000 {
				t.Errorf("lines are %+v", got)
			}
		})
	}
	t.Run("cut short", func(t *testing.T) {
		for _, kind := range [][]string{{"--mode", "produce", "--raw"}, {"--mode", "produce", "--rate", "1000"}, {"--mode", "e2e", "--rate", "1000"}} {
			got := run(append(kind, "--topic", "cut", "--records", "1000000000", "--max-time", "200ms", "--cut", "--delete")...)
			if len(got) != 1 || !got[0].CutShort || got[0].Records == 0 || got[0].Seconds > 30 {
				t.Errorf("%v: lines are %+v", kind, got)
			}
		}
	})
	if got := run("--mode", "delete", "--topic", "nothing"); len(got) != 0 {
		t.Errorf("lines are %+v", got)
	}
}
