package crashimages

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

var (
	images      = flag.Int("images", 3000, "how many crash images")
	seed        = flag.Uint64("seed", 1, "of the first run")
	scenario    = flag.String("scenario", "", "only this one")
	independent = flag.Bool("independent", false, "let changes of directories be lost out of order")
	replay      = flag.String("replay", "", "check the image in this file, left by a failure, again")
)

// tempDir is in memory if the machine has such a file system.
func tempDir(t *testing.T) string {
	if dir, err := os.MkdirTemp("/dev/shm", "crashimages"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	return t.TempDir()
}

// No crash loses what was acknowledged, brings back what was deleted, or keeps a log from opening.
func TestCrashImages(t *testing.T) {
	if *replay != "" {
		events, err := Replay(*replay, tempDir(t))
		t.Logf("\n%s", events)
		if err != nil {
			t.Error(err)
		}
		return
	}
	begun := time.Now()
	counts, err := Run(Options{
		Images: *images, Seed: *seed, Dir: tempDir(t), Workers: runtime.GOMAXPROCS(0), Scenario: *scenario, Independent: *independent,
	})
	total := 0
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		c := counts[name]
		total += c.Images
		t.Logf("%-16s %4d runs, %7d images, of these %6d in or after a recovery", name, c.Runs, c.Images, c.Nested)
	}
	t.Logf("%d images in %v", total, time.Since(begun).Round(time.Second/10))
	if v := (*Violation)(nil); errors.As(err, &v) {
		file := filepath.Join(os.TempDir(), "crash-image.gob")
		if err := v.Save(file); err != nil {
			t.Error(err)
		}
		t.Fatalf("%v\nagain: go test ./segment/crashimages -run TestCrashImages -v -replay %s", v, file)
	}
	if err != nil {
		t.Fatal(err)
	}
	if total < *images {
		t.Errorf("%d images, want %d", total, *images)
	}
}
