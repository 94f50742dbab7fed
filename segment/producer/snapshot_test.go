package producer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func example(t testing.TB) *log {
	l := newLog()
	l.now = 5000
	for i := int32(0); i < 7; i++ {
		l.append(data(t, 11, 3, i*2, 2))
	}
	l.append(data(t, 12, 0, 0, 1, transactional))
	l.append(data(t, 13, 0, 0, 1, transactional))
	l.append(endTxn(t, 13, 1, controlAbort, 7))
	return l
}

func TestAllFiveBatchesSurviveARestart(t *testing.T) {
	l := example(t)
	path := filepath.Join(t.TempDir(), "00000000000000000017.snapshot")
	if err := l.WriteSnapshot(path); err != nil {
		t.Fatal(err)
	}
	s := New(1000)
	if err := s.ReadSnapshot(path); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s.Producers(), l.Producers()) {
		t.Errorf("producers %+v, want %+v", s.Producers(), l.Producers())
	}
	for i := int32(2); i < 7; i++ {
		dup, err := s.Check(data(t, 11, 3, i*2, 2))
		if dup == nil || dup.BaseOffset != int64(i)*2 || err != nil {
			t.Errorf("batch %d after the restart: %+v, %v", i, dup, err)
		}
	}
	if o, ok := s.FirstUnstableOffset(); !ok || o != 14 {
		t.Errorf("first unstable offset %d, %v", o, ok)
	}
	s.Expire(5999)
	if s.Len() != 3 {
		t.Error("expiry went by the records' timestamps")
	}
	if files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(files) != 1 {
		t.Errorf("files left: %v", files)
	}
}

// A snapshot that Apache Kafka 4.4 wrote after the transcript of
// TestAnswersAsKafkaDoes.
func TestKafkasSnapshotIsRead(t *testing.T) {
	s := New(1000)
	if err := s.ReadSnapshot("testdata/kafka-4.4.snapshot"); err != nil {
		t.Fatal(err)
	}
	want := map[int64]Info{
		1: {1, 1, 0, 1795973481560, -1, -1},
		2: {2, 0, 0, 1795973481595, -1, -1},
		3: {3, 0, 3, 1795973481599, -1, -1},
	}
	got := map[int64]Info{}
	for _, p := range s.Producers() {
		got[p.ProducerID] = p
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Our own first section version stays readable.
func TestSnapshotBytesStay(t *testing.T) {
	const path = "testdata/millrace-v1.snapshot"
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := example(t).AppendSnapshot(nil); !bytes.Equal(got, want) {
		t.Errorf("snapshot is\n%x\nwant\n%x", got, want)
	}
}

func TestDamagedSnapshotIsRefused(t *testing.T) {
	good := example(t).AppendSnapshot(nil)
	before := example(t)
	want := before.Producers()
	refuse := func(what string, b []byte) {
		t.Helper()
		if err := before.DecodeSnapshot(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
		if !reflect.DeepEqual(before.Producers(), want) {
			t.Fatalf("%s: the state changed", what)
		}
	}
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 0x40
		refuse("flipped bit", b)
		refuse("cut", good[:i])
	}
	if err := New(1).ReadSnapshot(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func FuzzSnapshot(f *testing.F) {
	f.Add(example(f).AppendSnapshot(nil))
	f.Add(New(1).AppendSnapshot(nil))
	if b, err := os.ReadFile("testdata/kafka-4.4.snapshot"); err == nil {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// The CRC would keep all but the seeds out: make it right.
		b = bytes.Clone(b)
		fixCRC(b)
		s := New(1)
		if err := s.DecodeSnapshot(b); err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Error(err)
			}
			return
		}
		again := New(1)
		if err := again.DecodeSnapshot(s.AppendSnapshot(nil)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(s.Producers(), again.Producers()) {
			t.Errorf("%+v, then %+v", s.Producers(), again.Producers())
		}
		s.Check(data(t, 11, 3, 4, 2))
		s.Update(data(t, 11, 3, 4, 2), 1<<40, 1)
		s.Expire(1 << 60)
	})
}

func fixCRC(b []byte) {
	if len(b) >= snapshotHeader {
		binary.BigEndian.PutUint32(b[snapshotCRCPos:], crc32.Checksum(b[snapshotCountPos:], castagnoli))
	}
}
