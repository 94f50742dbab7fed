package meta_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/broker/meta"
	"millrace/broker/meta/metatest"
	"millrace/segment"
)

// onDisk opens a Store in a log dir; close ends both.
func onDisk(t *testing.T, path string) (s *meta.Store, close func(), err error) {
	t.Helper()
	dir, err := segment.OpenDir(segment.DirOptions{
		Path: path, NodeID: 1, ClusterID: metatest.ClusterID, Engine: "pwritev2", IO: "buffered",
		SlabBytes: 16 << 20, RetentionCheckInterval: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	close = func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	}
	s, err = meta.Open(dir, metatest.Config(t, map[string]string{"log.dirs": path}), metatest.ClusterID)
	return s, close, err
}

func TestTopicsAreThereAfterARestart(t *testing.T) {
	path := t.TempDir()
	for i := range 3 {
		s, close, err := onDisk(t, path)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(s.Image().Topics()); n != i*10 {
			t.Errorf("%d topics after %d starts", n, i)
		}
		for j := range 10 {
			create(t, s, fmt.Sprintf("topic-%d-%d", i, j), 2)
		}
		close()
	}
}

func TestDamagedFileStopsTheStartAndIsNamed(t *testing.T) {
	for name, damage := range map[string]func(data []byte) (_ []byte, at int){
		"bit flipped in the middle":     func(data []byte) ([]byte, int) { data[len(data)/2] ^= 1; return data, len(data) / 2 },
		"bit flipped in the last batch": func(data []byte) ([]byte, int) { data[len(data)-2] ^= 1; return data, len(data) - 2 },
		"last batch cut":                func(data []byte) ([]byte, int) { return data[:len(data)-2], len(data) - 2 },
		"last batch zeroed":             func(data []byte) ([]byte, int) { clear(data[len(data)-100:]); return data, len(data) - 100 },
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			s, close, err := onDisk(t, path)
			if err != nil {
				t.Fatal(err)
			}
			for j := range 20 {
				create(t, s, fmt.Sprintf("topic-%d", j), 2)
			}
			close()
			file := filepath.Join(path, "__cluster_metadata-0", "00000000000000000000.log")
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			data, at := damage(data)
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
			_, close, err = onDisk(t, path)
			close()
			var damaged *meta.CorruptionError
			if !errors.As(err, &damaged) {
				t.Fatalf("open: %v", err)
			}
			if damaged.Path != file || damaged.Position <= 0 || damaged.Position > int64(at) || !strings.Contains(err.Error(), file) {
				t.Errorf("damage at %d of %s is reported as %v", at, file, err)
			}
		})
	}
}

func TestLostLogStopsTheStart(t *testing.T) {
	const log = "__cluster_metadata-0"
	for name, lose := range map[string]func(path string) error{
		"directory removed": func(path string) error { return os.RemoveAll(filepath.Join(path, log)) },
		"file removed":      func(path string) error { return os.Remove(filepath.Join(path, log, "00000000000000000000.log")) },
		"file emptied":      func(path string) error { return os.Truncate(filepath.Join(path, log, "00000000000000000000.log"), 0) },
		"file zeroed": func(path string) error {
			return os.WriteFile(filepath.Join(path, log, "00000000000000000000.log"), make([]byte, 8192), 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			s, close, err := onDisk(t, path)
			if err != nil {
				t.Fatal(err)
			}
			create(t, s, "orders", 1)
			close()
			if err := os.Mkdir(filepath.Join(path, "orders-0"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := lose(path); err != nil {
				t.Fatal(err)
			}
			_, close, err = onDisk(t, path)
			close()
			if err == nil || !strings.Contains(err.Error(), log) {
				t.Errorf("open: %v", err)
			}
		})
	}
}
