package inspect

import (
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"millrace/segment/batch"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDumpPrintsEveryFile(t *testing.T) {
	dir := logDir(t)
	var out strings.Builder
	if err := Dump(&out, dir, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Log starting offset: 6\n",
		"baseOffset: 3 lastOffset: 5 count: 3 baseSequence: 3 lastSequence: 5 producerId: 7 producerEpoch: 0 partitionLeaderEpoch: 0 " +
			"isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: ",
		"compresscodec: zstd", "isvalid: true",
		`| offset: 4 CreateTime: 1700000000004 keySize: 5 valueSize: 7 sequence: 4 headerKeys: [h] key: "key-4" payload: "value\n4"`,
		"4096 bytes of zeros follow",
		"offset: 5 position: ",
		"timestamp: 1700000000005 offset: 5\n",
		"version: 0 producerId: 7 firstOffset: 0 lastOffset: 2 lastStableOffset: 0\n",
		"producerId: 7 producerEpoch: 0 coordinatorEpoch: ",
		"epoch: 4 startOffset: 6\n",
		"topic: events partition: 0 offset: 6\n",
		"cluster.id: abc\n",
		"topicId: AAAAAAAAAAAAAAAAAAAAAQ\n",
		`{"version":0`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestDumpSaysWhereALogCannotBeRead(t *testing.T) {
	dir := logDir(t)
	path := filepath.Join(dir, "events-0", name(0)+".log")
	b := read(t, path)
	write(t, path, b[:len(b)-1])
	var out strings.Builder
	err := Dump(&out, path, false)
	if err == nil || !strings.Contains(err.Error(), "the file ends inside a batch") || !strings.Contains(out.String(), "baseOffset: 0 ") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if err := Dump(&out, filepath.Join(dir, "none.log"), false); err == nil {
		t.Error("a file that is not there is dumped")
	}
}

func TestDumpDecodesGroupRecords(t *testing.T) {
	key := kmsg.OffsetCommitKey{Version: 1, Group: "g", Topic: "events", Partition: 2}
	value := kmsg.NewOffsetCommitValue()
	value.Version, value.Offset, value.LeaderEpoch = 3, 42, 5
	if got := offsetsRecord(key.AppendTo(nil), value.AppendTo(nil)); !strings.Contains(got, `"Group":"g"`) || !strings.Contains(got, `"Offset":42`) {
		t.Errorf("commit: %s", got)
	}
	if got := offsetsRecord(key.AppendTo(nil), nil); !strings.HasSuffix(got, "payload: null") {
		t.Errorf("tombstone: %s", got)
	}
	group := kmsg.GroupMetadataKey{Version: 2, Group: "g"}
	if got := offsetsRecord(group.AppendTo(nil), []byte{0}); !strings.Contains(got, `payload: "\x00"`) {
		t.Errorf("damaged group: %s", got)
	}
	for _, key := range [][]byte{nil, {0}, {0, 9}, {0, 1, 5}} {
		if got := offsetsRecord(key, []byte("v")); !strings.HasSuffix(got, `payload: "v"`) {
			t.Errorf("key %x: %s", key, got)
		}
	}
}

func TestDumpNamesControlRecords(t *testing.T) {
	for kind, want := range map[uint16]string{0: "endTxnMarker: ABORT coordinatorEpoch: 3", 1: "endTxnMarker: COMMIT coordinatorEpoch: 3", 2: "control: LEADER_CHANGE", 99: "control: type 99"} {
		if got := controlRecord(binary.BigEndian.AppendUint16([]byte{0, 0}, kind), []byte{0, 0, 0, 0, 0, 3}); got != want {
			t.Errorf("%d: %s, want %s", kind, got, want)
		}
	}
}

func FuzzDump(f *testing.F) {
	b := batch.NewBuilder()
	b.Add(1, []byte("k"), []byte("v"))
	whole, err := b.Build(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("00000000000000000000.log", []byte(whole))
	f.Add("00000000000000000000.index", []byte{0, 0, 0, 5, 0, 0, 0, 9, 0, 0})
	f.Add("00000000000000000000.timeindex", make([]byte, 13))
	f.Add("00000000000000000000.txnindex", make([]byte, 34))
	f.Add("00000000000000000000.snapshot", []byte{0, 1})
	f.Add("leader-epoch-checkpoint", []byte("0\n1\n0 0\n"))
	f.Add("recovery-point-offset-checkpoint", []byte("0\n1\na 0 0\n"))
	f.Add("meta.properties", []byte("version=1"))
	f.Add("partition.metadata", []byte("version: 0\ntopic_id: x"))
	f.Fuzz(func(t *testing.T, file string, content []byte) {
		if kindOf(file) == unknownFile || filepath.Base(file) != file || strings.ContainsRune(file, 0) || len(file) > 100 {
			return
		}
		path := filepath.Join(t.TempDir(), file)
		write(t, path, content)
		// Whatever is in the file: no panic, and an end.
		_ = Dump(&strings.Builder{}, path, true)
		_ = Verify(path, &Report{})
	})
}
