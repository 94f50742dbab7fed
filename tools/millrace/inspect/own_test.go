package inspect

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/segment"
	"millrace/segment/batch"
)

// liveDir is a log dir in use whose journal has batches, and the same after a clean stop.
func liveDir(t *testing.T) (live, stopped string) {
	t.Helper()
	dir := t.TempDir()
	d, err := segment.OpenDir(segment.DirOptions{
		Path: dir, NodeID: 1, ClusterID: "abc", Commit: "journal", RetentionCheckInterval: -1,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	durable := make(chan int64, 16)
	l, err := d.OpenLog("events", 0, segment.LogOptions{
		TopicID:   [16]byte{15: 1},
		Config:    segment.LogConfig{SegmentBytes: 1 << 20, SegmentMs: 1 << 40, SegmentIndexBytes: 1 << 16, IndexIntervalBytes: 4096, RetentionMs: -1, RetentionBytes: -1},
		OnDurable: func(o int64) { durable <- o },
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(2) {
		if _, err := l.Append(records(t, 3*i, 0, batch.None), 0); err != nil {
			t.Fatal(err)
		}
		<-durable
	}
	live = t.TempDir()
	if err := os.CopyFS(live, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return live, dir
}

func TestFilesOfOurOwnAreDumpedAndVerified(t *testing.T) {
	live, stopped := liveDir(t)
	var out strings.Builder
	for _, dir := range []string{live, stopped} {
		if err := Dump(&out, dir, false); err != nil {
			t.Fatal(err)
		}
		r := &Report{Found: func(d Damage) { t.Errorf("%s: %+v", dir, d) }}
		if err := Verify(dir, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"turns: 2 entries: 2 bytes: ",
		"partition: events-0 topicId: AAAAAAAAAAAAAAAAAAAAAQ segment: 0 position: 0 size: ",
		"topic: events partition: 0 topicId: AAAAAAAAAAAAAAAAAAAAAQ segments: 1 baseOffset: 0 nextOffset: 6 bytes: ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestDamageInFilesOfOurOwn(t *testing.T) {
	live, stopped := liveDir(t)
	for _, path := range []string{filepath.Join(live, ".journal", "00000001"), filepath.Join(stopped, ".millrace_stopped")} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[60] ^= 1
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		r := &Report{}
		if err := Verify(path, r); err != nil || r.Damages != 1 {
			t.Errorf("%s: %d damages, %v", path, r.Damages, err)
		}
	}
}
