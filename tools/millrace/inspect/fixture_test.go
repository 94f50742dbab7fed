package inspect

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/segment/batch"
	"millrace/segment/producer"
)

// logDir makes a log dir with one partition of two segments, each of batches with three records, and every kind of
// file. It returns its path.
func logDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "meta.properties"), []byte("#\nversion=1\ncluster.id=abc\nnode.id=1\n"))
	write(t, filepath.Join(dir, "recovery-point-offset-checkpoint"), []byte("0\n1\nevents 0 6\n"))
	write(t, filepath.Join(dir, "cleaner-offset-checkpoint"), nil)
	write(t, filepath.Join(dir, ".kafka_cleanshutdown"), []byte(`{"version":0,"brokerEpoch":-1}`))
	write(t, filepath.Join(dir, ".lock"), nil)
	p := filepath.Join(dir, "events-0")
	if err := os.Mkdir(p, 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(p, "partition.metadata"), []byte("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"))
	write(t, filepath.Join(p, "leader-epoch-checkpoint"), []byte("0\n2\n0 0\n4 6\n"))
	writeSegment(t, p, 0, 0, 0)
	writeSegment(t, p, 6, 4, 4096)
	state := producer.New(1 << 40)
	state.Update(records(t, 0, 0, batch.None), 0, 1)
	if err := state.WriteSnapshot(filepath.Join(p, name(6)+".snapshot")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func name(base int64) string { return fmt.Sprintf("%020d", base) }

// writeSegment writes two batches and the indexes that point to the second, followed by zeros.
func writeSegment(t *testing.T, dir string, base int64, epoch int32, zeros int) {
	t.Helper()
	first, second := records(t, base, epoch, batch.None), records(t, base+3, epoch, batch.Zstd)
	log := append(append([]byte(nil), first...), second...)
	write(t, filepath.Join(dir, name(base)+".log"), append(log, make([]byte, zeros)...))
	be := binary.BigEndian
	index := be.AppendUint32(be.AppendUint32(nil, 5), uint32(len(first)))
	write(t, filepath.Join(dir, name(base)+".index"), append(index, make([]byte, zeros)...))
	times := be.AppendUint32(be.AppendUint64(nil, uint64(second.MaxTimestamp())), 5)
	write(t, filepath.Join(dir, name(base)+".timeindex"), append(times, make([]byte, zeros)...))
	txn := be.AppendUint16(nil, 0)
	for _, v := range []int64{7, base, base + 2, base} {
		txn = be.AppendUint64(txn, uint64(v))
	}
	write(t, filepath.Join(dir, name(base)+".txnindex"), txn)
}

// records is a batch of three records at an offset.
func records(t *testing.T, base int64, epoch int32, codec batch.Codec) batch.Batch {
	t.Helper()
	b := batch.NewBuilder()
	b.BaseOffset, b.LeaderEpoch, b.Codec = base, epoch, codec
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = 7, 0, int32(base)
	for i := range int64(3) {
		b.Add(1_700_000_000_000+base+i, fmt.Appendf(nil, "key-%d", base+i), fmt.Appendf(nil, "value\n%d", base+i), batch.Header{Key: "h", Value: []byte("1")})
	}
	out, err := b.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	out.SetBaseOffset(base)
	out.SetLeaderEpoch(epoch)
	return out
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// verify returns the lines of damage, with dir cut off.
func verify(t *testing.T, dir, path string) (lines []string, r Report) {
	t.Helper()
	r.Found = func(d Damage) { lines = append(lines, strings.TrimPrefix(d.String(), dir+"/")) }
	if err := Verify(path, &r); err != nil {
		t.Fatal(err)
	}
	return lines, r
}
