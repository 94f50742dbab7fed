package meta

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"millrace/segment/batch"
)

// kafkaRecords is the records in testdata: what type each is and its bytes.
func kafkaRecords(t testing.TB) (types []string, values [][]byte) {
	t.Helper()
	f, err := os.Open("testdata/kafka-4.4-records.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		name, text, ok := strings.Cut(s.Text(), " ")
		if !ok || name == "#" {
			continue
		}
		value, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		types, values = append(types, name), append(values, value)
	}
	return types, values
}

func TestKafkasOwnRecordsAreRead(t *testing.T) {
	types, values := kafkaRecords(t)
	if len(types) < 10 {
		t.Fatalf("%d records in testdata", len(types))
	}
	for i, value := range values {
		c, err := DecodeRecord(value)
		if err != nil {
			t.Errorf("%s: %v", types[i], err)
			continue
		}
		name, _, _ := strings.Cut(types[i], "/")
		if got := strings.TrimPrefix(fmt.Sprintf("%T", c), "*meta."); got != name {
			t.Errorf("%s read as %s", types[i], got)
		}
		// Where the same version is written here, the bytes are the same.
		switch c.(type) {
		case *TopicRecord, *PartitionRecord, *ConfigRecord, *RemoveTopicRecord, *FeatureLevelRecord:
			if again := c.append(nil); !bytes.Equal(again, value) {
				t.Errorf("%s written as %x, Kafka has %x", types[i], again, value)
			}
		}
	}
}

func anyInt32s(t *rapid.T, name string) []int32 {
	// Nil and empty differ in changes.
	if rapid.Bool().Draw(t, name+" nil") {
		return nil
	}
	return rapid.SliceOfN(rapid.Int32(), 0, 5).Draw(t, name)
}

func anyIDs(t *rapid.T, n int) []ID {
	out := make([]ID, n)
	for i := range out {
		out[i] = anyID(t)
	}
	return out
}

func anyID(t *rapid.T) (id ID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	return id
}

func anyText(t *rapid.T, name string) string { return rapid.StringN(0, 20, 60).Draw(t, name) }

func anyOptional(t *rapid.T, name string) *string {
	if rapid.Bool().Draw(t, name+" nil") {
		return nil
	}
	s := anyText(t, name)
	return &s
}

func anyChange(t *rapid.T) Change {
	i32, i64, i16, i8 := rapid.Int32(), rapid.Int64(), rapid.Int16(), rapid.Int8()
	switch rapid.IntRange(0, 7).Draw(t, "type") {
	case 0:
		return &TopicRecord{Name: anyText(t, "name"), ID: anyID(t)}
	case 1:
		n := rapid.IntRange(0, 4).Draw(t, "replicas")
		return &PartitionRecord{
			Partition: i32.Draw(t, "partition"), TopicID: anyID(t),
			Replicas: rapid.SliceOfN(i32, n, n).Draw(t, "replicas"), ISR: rapid.SliceOfN(i32, 0, n).Draw(t, "isr"),
			RemovingReplicas: rapid.SliceOfN(i32, 0, n).Draw(t, "removing"), AddingReplicas: rapid.SliceOfN(i32, 0, n).Draw(t, "adding"),
			Leader: i32.Draw(t, "leader"), LeaderRecoveryState: i8.Draw(t, "state"),
			LeaderEpoch: i32.Draw(t, "epoch"), PartitionEpoch: i32.Draw(t, "partition epoch"),
			Directories: anyIDs(t, n), EligibleLeaders: anyInt32s(t, "elr"), LastKnownELR: anyInt32s(t, "last elr"),
		}
	case 2:
		return &ConfigRecord{Resource{ResourceType(i8.Draw(t, "type")), anyText(t, "resource")}, anyText(t, "key"), anyOptional(t, "value")}
	case 3:
		c := &PartitionChangeRecord{
			Partition: i32.Draw(t, "partition"), TopicID: anyID(t), ISR: anyInt32s(t, "isr"), Leader: i32.Draw(t, "leader"),
			Replicas: anyInt32s(t, "replicas"), RemovingReplicas: anyInt32s(t, "removing"), AddingReplicas: anyInt32s(t, "adding"),
			LeaderRecoveryState: i8.Draw(t, "state"), EligibleLeaders: anyInt32s(t, "elr"), LastKnownELR: anyInt32s(t, "last elr"),
		}
		if rapid.Bool().Draw(t, "directories") {
			c.Directories = anyIDs(t, rapid.IntRange(0, 3).Draw(t, "count"))
		}
		return c
	case 4:
		return &RemoveTopicRecord{anyID(t)}
	case 5:
		return &ProducerIDsRecord{i32.Draw(t, "broker"), i64.Draw(t, "epoch"), i64.Draw(t, "next")}
	case 6:
		return &FeatureLevelRecord{anyText(t, "name"), i16.Draw(t, "level")}
	}
	r := &RegisterBrokerRecord{
		BrokerID: i32.Draw(t, "broker"), IncarnationID: anyID(t), BrokerEpoch: i64.Draw(t, "epoch"),
		Rack: anyOptional(t, "rack"), Fenced: rapid.Bool().Draw(t, "fenced"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "endpoints") {
		r.EndPoints = append(r.EndPoints, BrokerEndPoint{anyText(t, "name"), anyText(t, "host"), rapid.Uint16().Draw(t, "port"), i16.Draw(t, "protocol")})
	}
	for range rapid.IntRange(0, 3).Draw(t, "features") {
		r.Features = append(r.Features, BrokerFeature{anyText(t, "name"), i16.Draw(t, "min"), i16.Draw(t, "max")})
	}
	return r
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyChange(t)
		got, err := DecodeRecord(c.append(nil))
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if !reflect.DeepEqual(got, c) {
			t.Fatalf("wrote %+v, read %+v", c, got)
		}
	})
}

func TestBatchesAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var changes, got []Change
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			changes = append(changes, anyChange(t))
		}
		batches := buildBatches(changes, 1234, rapid.IntRange(1, 2000).Draw(t, "max bytes"))
		for _, b := range batches {
			err := eachRecord(b, func(value []byte) error {
				c, err := DecodeRecord(value)
				got = append(got, c)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(batches) > 1 {
			_, begins := got[0].(*beginTransactionRecord)
			_, ends := got[len(got)-1].(*endTransactionRecord)
			if !begins || !ends {
				t.Fatalf("%d batches are not enclosed in a transaction", len(batches))
			}
			got = got[1 : len(got)-1]
		}
		if !reflect.DeepEqual(got, changes) {
			t.Fatalf("wrote %+v, read %+v", changes, got)
		}
	})
}

func TestUnknownRecordsAreRefused(t *testing.T) {
	for name, value := range map[string][]byte{
		"nothing":            {},
		"no version":         {1, 2},
		"frame version 0":    {0, 2, 0, 1, 0},
		"frame version 2":    append([]byte{2}, (&RemoveTopicRecord{}).append(nil)[1:]...),
		"access control":     {1, 18, 0, 0},
		"type past the last": {1, 120, 0, 0},
		"topic, version 1":   {1, 2, 1, 2, 'a'},
		"cut topic":          (&TopicRecord{Name: "abc"}).append(nil)[:8],
		"cut array":          {1, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f},
		"tag past the end":   append((&TopicRecord{Name: "abc"}).append(nil)[:23], 1, 9, 0xff, 0xff, 3),
	} {
		if c, err := DecodeRecord(value); err == nil {
			t.Errorf("%s: read as %+v", name, c)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	_, values := kafkaRecords(f)
	for _, v := range values {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		c, err := DecodeRecord(value)
		if err != nil {
			return
		}
		again, err := DecodeRecord(c.append(nil))
		if err != nil {
			t.Fatalf("%+v, read from %x, is written as what cannot be read: %v", c, value, err)
		}
		_ = c.apply(newDraft(&Image{})) // must not panic
		_ = again.apply(newDraft(&Image{}))
	})
}

func FuzzReplayBatch(f *testing.F) {
	// Small seeds: the fuzzer spends its time on minimizing large ones.
	f.Add([]byte(buildBatch([][]byte{(&beginTransactionRecord{}).append(nil), (&endTransactionRecord{}).append(nil)}, 1)))
	f.Add([]byte(buildBatch([][]byte{(&TopicRecord{"a", ID{1}}).append(nil), (&PartitionRecord{TopicID: ID{1}}).append(nil)}, 1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= batch.HeaderSize {
			// A right checksum lets the fuzzer past it.
			binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[crcStart:], castagnoli))
		}
		r := replayer{draft: newDraft(&Image{Version: -1})}
		if err := r.batch(batch.Batch(b)); err == nil && r.next <= 0 {
			t.Fatalf("a batch of %d bytes was replayed and nothing came of it", len(b))
		}
	})
}
