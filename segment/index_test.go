package segment_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/segment/batch"
)

func TestDamagedIndexesAreRebuilt(t *testing.T) {
	indexFiles := func(h *harness) (paths []string) {
		for _, suffix := range []string{"*.index", "*.timeindex"} {
			names, err := filepath.Glob(filepath.Join(h.path, "t-0", suffix))
			if err != nil || len(names) < 3 {
				t.Fatalf("%v, %v", names, err)
			}
			paths = append(paths, names...)
		}
		return paths
	}
	each := func(f func(path string) error) func(*testing.T, *harness) {
		return func(t *testing.T, h *harness) {
			for _, p := range indexFiles(h) {
				if err := f(p); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	damages := map[string]func(*testing.T, *harness){
		"missing": each(os.Remove),
		"empty":   each(func(p string) error { return os.Truncate(p, 0) }),
		"cut":     each(func(p string) error { return os.Truncate(p, 15) }),
		"zeroed":  each(func(p string) error { return os.WriteFile(p, make([]byte, 240), 0o644) }),
		"garbage": each(func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("garbage!", 30)), 0o644) }),
		"exchanged": func(t *testing.T, h *harness) {
			paths := indexFiles(h)
			half := len(paths) / 2
			for _, group := range [][]string{paths[:half], paths[half:]} {
				first, err := os.ReadFile(group[0])
				if err != nil {
					t.Fatal(err)
				}
				for i := range group {
					b := first
					if i+1 < len(group) {
						if b, err = os.ReadFile(group[i+1]); err != nil {
							t.Fatal(err)
						}
					}
					if err := os.WriteFile(group[i], b, 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
		},
	}
	for name, damage := range damages {
		for _, unclean := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, unclean=%v", name, unclean), func(t *testing.T) {
				h := inMemory(t)
				h.cfg.SegmentBytes, h.cfg.IndexIntervalBytes = 20_000, 500
				d := h.open()
				l := h.log(d, "t")
				for i := range 100 {
					l.append(build(t, 1+i%3, 50+i*31%700, h.nowMs()+int64(i*10)))
				}
				l.settle()
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
				damage(t, h)
				if unclean {
					remove(t, filepath.Join(h.path, ".kafka_cleanshutdown"), filepath.Join(h.path, "recovery-point-offset-checkpoint"))
				}
				l = h.log(h.open(), "t")
				if n := len(l.contents()); n != 100 {
					t.Fatalf("%d batches", n)
				}
				for o := range l.EndOffset() {
					ranges, err := l.Read(nil, o, 61, l.EndOffset(), true, true)
					if err != nil {
						t.Fatalf("offset %d: %v", o, err)
					}
					b, err := bytesOf(ranges)
					if err != nil {
						t.Fatal(err)
					}
					if first := batch.Batch(b); first.BaseOffset() > o || first.LastOffset() < o {
						t.Fatalf("offset %d: found %d", o, first.BaseOffset())
					}
				}
				for i := range 100 {
					if got, err := l.OffsetForTimestamp(h.nowMs() + int64(i*10)); err != nil || got.Timestamp < h.nowMs()+int64(i*10) || got.Timestamp > h.nowMs()+int64(i*10)+2 {
						t.Fatalf("time %d: %+v, %v", i, got, err)
					}
				}
			})
		}
	}
}
