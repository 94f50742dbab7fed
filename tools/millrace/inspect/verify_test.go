package inspect

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace/segment/batch"
)

func TestAGoodLogDirHasNoDamage(t *testing.T) {
	dir := logDir(t)
	lines, r := verify(t, dir, dir)
	if len(lines) > 0 || r.Batches != 4 || r.Records != 12 || r.Files != 14 {
		t.Errorf("%+v\n%s", r, strings.Join(lines, "\n"))
	}
	for _, path := range []string{"events-0", "events-0/" + name(6) + ".timeindex", "events-0/" + name(0) + ".log", "meta.properties"} {
		if lines, _ := verify(t, dir, filepath.Join(dir, path)); len(lines) > 0 {
			t.Errorf("%s alone: %q", path, lines)
		}
	}
}

// Each damage is made in a good log dir, and must give exactly one line, that names file and place.
func TestEachDamageIsALine(t *testing.T) {
	be := binary.BigEndian
	size := func(t *testing.T) int { return len(records(t, 0, 0, batch.None)) }
	for _, c := range []struct {
		name, file string
		change     func(t *testing.T, b []byte) []byte
		want       string
	}{
		{"flipped bit", name(0) + ".log", func(_ *testing.T, b []byte) []byte { b[80] ^= 1; return b }, "at 0: batch of offset 0: CRC"},
		{"torn tail", name(6) + ".log", func(t *testing.T, b []byte) []byte { return b[:size(t)+70] }, "the file ends inside a batch"},
		{"cut header", name(6) + ".log", func(t *testing.T, b []byte) []byte { return b[:size(t)+20] }, "the file ends inside the header"},
		{"data after zeros", name(6) + ".log", func(_ *testing.T, b []byte) []byte { b[len(b)-1] = 1; return b }, "zeros, but they are not the end"},
		{"length", name(6) + ".log", func(t *testing.T, b []byte) []byte { be.PutUint32(b[size(t)+8:], 1<<31); return b }, "too small for a batch"},
		{"magic", name(6) + ".log", func(t *testing.T, b []byte) []byte { b[size(t)+16] = 1; return b }, "magic 1, not a record batch v2"},
		{"offset gap", name(6) + ".log", func(t *testing.T, b []byte) []byte { be.PutUint64(b[size(t):], 10); return b }, "base offset 10, want 9"},
		{"wrong epoch", name(6) + ".log", func(t *testing.T, b []byte) []byte { be.PutUint32(b[size(t)+12:], 3); return b }, "leader epoch 3, of the checkpoint 4"},
		{"lying count", name(0) + ".log", func(t *testing.T, b []byte) []byte {
			first := batch.Batch(b[:size(t)])
			be.PutUint32(first[57:], 2)
			first.FixCRC()
			return b
		}, "batch of offset 0: "},
		{"index position", name(0) + ".index", func(_ *testing.T, b []byte) []byte { b[7]++; return b }, "no batch begins at position"},
		{"index offset", name(0) + ".index", func(_ *testing.T, b []byte) []byte { b[3] = 2; return b }, "offset 2: the batch at position"},
		{"index order", name(0) + ".index", func(_ *testing.T, b []byte) []byte { return append(b, b...) }, "offset 5 at"},
		{"index cut", name(0) + ".index", func(_ *testing.T, b []byte) []byte { return append(b, 1) }, "the file ends inside an entry"},
		{"time", name(0) + ".timeindex", func(_ *testing.T, b []byte) []byte { b[7]++; return b }, "the newest record up to that offset has time"},
		{"time without offset", name(0) + ".timeindex", func(_ *testing.T, b []byte) []byte { b[11] = 77; return b }, "the log has no offset 77"},
		{"time order", name(0) + ".timeindex", func(_ *testing.T, b []byte) []byte { return append(b, b...) }, "comes after time"},
		{"aborted transaction", name(0) + ".txnindex", func(_ *testing.T, b []byte) []byte { b[17] = 9; return b }, "aborted offsets 9 to 2"},
		{"transaction version", name(0) + ".txnindex", func(_ *testing.T, b []byte) []byte { b[1] = 1; return b }, "version 1"},
		{"abort elsewhere", name(0) + ".txnindex", func(_ *testing.T, b []byte) []byte { b[25] = 99; return b }, "no abort marker at offset 99"},
		{"snapshot", name(6) + ".snapshot", func(_ *testing.T, b []byte) []byte { b[len(b)-1] ^= 1; return b }, "corrupt producer snapshot"},
		{"epoch order", "leader-epoch-checkpoint", func(_ *testing.T, _ []byte) []byte { return []byte("0\n2\n4 0\n3 6\n") }, "epoch 3 from offset 6 comes after epoch 4"},
		{"checkpoint count", "leader-epoch-checkpoint", func(_ *testing.T, _ []byte) []byte { return []byte("0\n2\n0 0\n") }, "1 lines, the count is 2"},
		{"topic id", "partition.metadata", func(_ *testing.T, _ []byte) []byte { return []byte("version: 0\ntopic_id: x\n") }, `topic_id "x"`},
		{"recovery point", "../recovery-point-offset-checkpoint", func(_ *testing.T, _ []byte) []byte { return []byte("0\n1\nevents 0 -6\n") }, "events-0 has offset -6"},
		{"meta.properties", "../meta.properties", func(_ *testing.T, _ []byte) []byte { return []byte("version=1\nnode.id=1\n") }, "no cluster.id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := logDir(t)
			path := filepath.Join(dir, "events-0", c.file)
			write(t, path, c.change(t, slices.Clone(read(t, path))))
			lines, _ := verify(t, dir, dir)
			lines = slices.DeleteFunc(lines, func(l string) bool { return !strings.Contains(l, c.want) })
			if rel, _ := filepath.Rel(dir, path); len(lines) != 1 || !strings.HasPrefix(lines[0], rel+":") {
				all, _ := verify(t, dir, dir)
				t.Errorf("want one line %q, got\n%s", c.want, strings.Join(all, "\n"))
			}
		})
	}
}

func TestMissingSegmentIsDamage(t *testing.T) {
	dir := logDir(t)
	writeSegment(t, filepath.Join(dir, "events-0"), 20, 4, 0)
	lines, _ := verify(t, dir, dir)
	if len(lines) != 1 || !strings.Contains(lines[0], "begins at offset 20, the one before it ends before 12") {
		t.Errorf("got %q", lines)
	}
	if err := os.Remove(filepath.Join(dir, "events-0", name(20)+".log")); err != nil {
		t.Fatal(err)
	}
	lines, _ = verify(t, dir, dir)
	if len(lines) != 3 || !strings.Contains(lines[0], "there is no log of that segment") {
		t.Errorf("got %q", lines)
	}
}

func TestDeletedAndForeignFilesAreLeftAlone(t *testing.T) {
	dir := logDir(t)
	write(t, filepath.Join(dir, "events-0", name(0)+".log.deleted"), []byte("whatever is left"))
	write(t, filepath.Join(dir, "events-0", name(0)+".index.deleted"), []byte("x"))
	write(t, filepath.Join(dir, "notes.txt"), []byte("hello"))
	if err := os.Mkdir(filepath.Join(dir, "lost+found"), 0o777); err != nil {
		t.Fatal(err)
	}
	if lines, _ := verify(t, dir, dir); len(lines) > 0 {
		t.Errorf("got %q", lines)
	}
	if err := Verify(filepath.Join(dir, "notes.txt"), &Report{}); err == nil {
		t.Error("a foreign file is verified")
	}
}

// A partition that compaction knows may have gaps between batches, and between segments only if Kafka made them.
func TestCompactedPartitionsHaveGaps(t *testing.T) {
	dir := logDir(t)
	path := filepath.Join(dir, "events-0", name(6)+".log")
	b := slices.Clone(read(t, path))
	size := len(records(t, 0, 0, batch.None))
	second := batch.Batch(b[size:])
	second.SetBaseOffset(12)
	write(t, path, b)
	write(t, filepath.Join(dir, "events-0", name(6)+".index"), nil)
	write(t, filepath.Join(dir, "events-0", name(6)+".timeindex"), nil)
	writeSegment(t, filepath.Join(dir, "events-0"), 20, 4, 0)
	for _, c := range []struct {
		name, clean, horizons string
		want                  []string
	}{
		{"never compacted", "0\n0\n", "0\n0\n", []string{"base offset 12, want 9", "begins at offset 20"}},
		{"compacted by Kafka", "0\n1\nevents 0 20\n", "0\n0\n", nil},
		{"compacted by Kafka up to the gap", "0\n1\nevents 0 19\n", "0\n0\n", []string{"begins at offset 20"}},
		{"compacted by Millrace", "0\n1\nevents 0 20\n", "0\n1\nevents 0 99\n", []string{"begins at offset 20"}},
		{"another partition", "0\n1\nevents 1 20\n", "0\n0\n", []string{"base offset 12, want 9", "begins at offset 20"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, filepath.Join(dir, "cleaner-offset-checkpoint"), []byte(c.clean))
			write(t, filepath.Join(dir, "delete-horizon-checkpoint"), []byte(c.horizons))
			lines, _ := verify(t, dir, dir)
			ok := len(lines) == len(c.want)
			for i := range min(len(lines), len(c.want)) {
				ok = ok && strings.Contains(lines[i], c.want[i])
			}
			if !ok {
				t.Errorf("got %q, want %q", lines, c.want)
			}
		})
	}
}
