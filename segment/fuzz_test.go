package segment

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"millrace/segment/batch"
)

func FuzzOffsetCheckpoint(f *testing.F) {
	f.Add([]byte("0\n2\ntopic-a 0 4711\nb 3 0\n"))
	f.Add([]byte("0\n0\n"))
	f.Add([]byte("1\n1\nt 0 0\n"))
	f.Add([]byte("0\n-1\n"))
	f.Add([]byte("0\n99999999999\nt 0 -5\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := parseOffsetCheckpoint(bufio.NewScanner(bytes.NewReader(b)))
		if err != nil {
			return
		}
		c := &offsetCheckpoint{disk: RealDisk{}, path: filepath.Join(t.TempDir(), "c"), entries: entries, dirty: true}
		if err := c.write(); err != nil {
			t.Fatal(err)
		}
		again, err := loadOffsetCheckpoint(c.disk, c.path)
		if err != nil || len(again.entries) != len(entries) {
			t.Fatalf("written and read: %v", err)
		}
	})
}

func FuzzLeaderEpochs(f *testing.F) {
	f.Add([]byte("0\n2\n0 0\n3 120\n"))
	f.Add([]byte("0\n0\n"))
	f.Add([]byte("0\n2\n3 0\n3 120\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseEpochs(bufio.NewScanner(bytes.NewReader(b)))
		if err != nil {
			return
		}
		again, err := parseEpochs(bufio.NewScanner(bytes.NewReader(c.format())))
		if err != nil || len(again.entries) != len(c.entries) {
			t.Fatalf("formatted and read: %v", err)
		}
	})
}

// FuzzRecovery starts on a segment file of any content. Whatever is found must be whole batches in order, and a second
// start must find the same.
func FuzzRecovery(f *testing.F) {
	w := batch.NewBuilder()
	var good []byte
	for i := range 3 {
		w.Reset()
		w.BaseOffset, w.LeaderEpoch = int64(i), 0
		w.Add(1000, nil, bytes.Repeat([]byte{byte(i)}, 50))
		b, err := w.Build(nil)
		if err != nil {
			f.Fatal(err)
		}
		good = append(good, b...)
	}
	f.Add(good, int64(0))
	f.Add(good[:200], int64(2))
	f.Add(append(bytes.Clone(good), make([]byte, 5000)...), int64(3))
	f.Add(append(make([]byte, 100), good...), int64(0))
	f.Add([]byte{}, int64(5))
	f.Fuzz(func(t *testing.T, content []byte, recoveryPoint int64) {
		root := t.TempDir()
		dir := filepath.Join(root, "t-0")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, baseName(0)+logSuffix), content, 0o644); err != nil {
			t.Fatal(err)
		}
		if recoveryPoint < 0 || recoveryPoint > 1<<40 {
			return
		}
		cp := &offsetCheckpoint{disk: RealDisk{}, path: filepath.Join(root, recoveryPointFile), entries: map[topicPartition]int64{}}
		cp.set("t", 0, recoveryPoint)
		if err := cp.write(); err != nil {
			t.Fatal(err)
		}
		ends := [2]int64{}
		for i := range ends {
			ends[i] = startOn(t, root, recoveryPoint)
		}
		if ends[0] != ends[1] {
			t.Fatalf("first start found %d, second %d", ends[0], ends[1])
		}
	})
}

func startOn(t *testing.T, root string, recoveryPoint int64) int64 {
	d, err := OpenDir(DirOptions{
		Path: root, Engine: "pwritev2", IO: "buffered", SlabBytes: 4 << 20, RetentionCheckInterval: -1,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	l, err := d.OpenLog("t", 0, LogOptions{Config: LogConfig{SegmentBytes: 1 << 20, SegmentMs: 1 << 40, SegmentIndexBytes: 1 << 20, IndexIntervalBytes: 100}})
	if err != nil {
		t.Fatal(err)
	}
	if l.EndOffset() < recoveryPoint {
		t.Fatalf("end offset %d below the recovery point %d", l.EndOffset(), recoveryPoint)
	}
	next := int64(0)
	_ = l.ReadBatches(l.StartOffset(), l.EndOffset(), func(b batch.Batch) error {
		if b.BaseOffset() < next {
			t.Fatalf("offset %d after %d", b.BaseOffset(), next)
		}
		next = b.NextOffset()
		return nil
	})
	return l.EndOffset()
}
