package proc

import (
	"os"
	"testing"
	"time"
)

func TestOfCountsTheProcessorTimeOfThisProcess(t *testing.T) {
	before, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		now, err := Of(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now.Since(before).CPUSeconds() >= 0.05 {
			if now.RSSMiB <= 0 || now.PeakMiB < now.RSSMiB {
				t.Fatalf("resident %v MiB, peak %v MiB", now.RSSMiB, now.PeakMiB)
			}
			return
		}
	}
	t.Fatal("ten busy seconds used less than 0.05 s of processor time")
}

func TestOfAMissingProcessIsAnError(t *testing.T) {
	if _, err := Of(1 << 30); err == nil {
		t.Fatal("no error for a process that cannot exist")
	}
}

func TestCPUTicks(t *testing.T) {
	for name, tc := range map[string]struct {
		stat      string
		user, sys float64
		fails     bool
	}{
		"plain":                   {stat: "7 (java) S 1 2 3 4 5 6 7 8 9 10 321 45 0 0", user: 321, sys: 45},
		"command with parenthese": {stat: "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 1 2 0", user: 1, sys: 2},
		"cut short":               {stat: "7 (java) S 1 2", fails: true},
		"empty":                   {stat: "", fails: true},
		"not a number":            {stat: "7 (java) S 1 2 3 4 5 6 7 8 9 10 x 45 0 0", fails: true},
	} {
		user, sys, err := cpuTicks([]byte(tc.stat))
		if (err != nil) != tc.fails || !tc.fails && (user != tc.user || sys != tc.sys) {
			t.Errorf("%s: got %v, %v, %v", name, user, sys, err)
		}
	}
}

func TestTheMachineIsAtLeastAsBusyAsThisProcess(t *testing.T) {
	machine, err := MachineBusySeconds()
	if err != nil {
		t.Fatal(err)
	}
	own, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if machine < own.CPUSeconds() {
		t.Fatalf("the machine has used %v s, this process %v s", machine, own.CPUSeconds())
	}
}
