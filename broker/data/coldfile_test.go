package data

import (
	"io"
	"log/slog"
	"testing"

	"millrace/net/server"
	"millrace/segment"
	"millrace/segment/batch"
)

// The log's ranges and the server meet here only: a file of the one must be a file that the other can ask for memory.
func TestRangesOfALogAreColdFilesToTheServer(t *testing.T) {
	open := func(path string) (*segment.Dir, *segment.Log) {
		d, err := segment.OpenDir(segment.DirOptions{Path: path, NodeID: 1, ClusterID: "cluster", RetentionCheckInterval: -1,
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			t.Fatal(err)
		}
		l, err := d.OpenLog("t", 0, segment.LogOptions{TopicID: [16]byte{1}, Config: segment.LogConfig{
			SegmentBytes: 1 << 20, SegmentMs: 1 << 40, SegmentIndexBytes: 1 << 20, IndexIntervalBytes: 4096,
			RetentionMs: -1, RetentionBytes: -1, FlushMessages: 1 << 60, FlushMs: 1 << 60, ProducerExpirationMs: 1 << 40}})
		if err != nil {
			t.Fatal(err)
		}
		return d, l
	}
	path := t.TempDir()
	d, l := open(path)
	w := batch.NewBuilder()
	w.Add(1, nil, make([]byte, 1000))
	b, err := w.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(b, 0); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d, l = open(path) // now it is in the file only
	defer d.Close()
	ranges, err := l.Read(nil, 0, 1<<20, 1, true, true)
	if err != nil || len(ranges) != 1 {
		t.Fatalf("%d ranges, %v", len(ranges), err)
	}
	defer ranges[0].Ref.Release()
	if _, ok := ranges[0].Ref.(server.ColdFile); !ok {
		t.Errorf("%T is no server.ColdFile", ranges[0].Ref)
	}
}
