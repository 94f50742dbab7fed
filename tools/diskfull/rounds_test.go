package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTwentyRoundsFreeTheDiskInEachWayAfterEachRestart(t *testing.T) {
	seen := map[[2]int]bool{}
	for n := range len(freeing) * len(restarting) {
		seen[[2]int{n % len(freeing), n % len(restarting)}] = true
	}
	if len(seen) != 20 || len(seen) != len(freeing)*len(restarting) {
		t.Errorf("%d combinations", len(seen))
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, args := range [][]string{{"--rounds", "0"}, {"--mb", "8"}, {"--seed", "x"}} {
		if _, err := parseOptions(args); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}

func TestTheOtherFileNeedNotExistToBeRemoved(t *testing.T) {
	b := &ballast{filepath.Join(t.TempDir(), "ballast")}
	if err := b.remove(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := b.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(b.path); err == nil {
		t.Error("it is still there")
	}
}
