package group

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The bytes Kafka 4.4 writes for the same commit and the same group.
func TestRecordsAreThoseOfKafka(t *testing.T) {
	o := offset{offset: 5, leaderEpoch: 3, metadata: "m", commitMs: 1795973066165, expireMs: -1,
		topicID: [16]byte{0xe7, 0xac, 0xaf, 0x6b, 0x28, 0x68, 0x42, 0xbe, 0x98, 0x9e, 0x1c, 0xc3, 0x24, 0xec, 0x4f, 0xa0}}
	r := offsetRecord("j1", "t1", 0, o)
	if len(r.Key) != 14 || len(r.Value) != 43 {
		t.Errorf("offset commit of %d and %d bytes, Kafka's are 14 and 43", len(r.Key), len(r.Value))
	}
	if got := hex.EncodeToString(r.Key); got != "000100026a310002743100000000" {
		t.Errorf("key %s", got)
	}
	back, err := decodeOffset(r.Value)
	if err != nil || back != o {
		t.Errorf("read back as %+v, error %v", back, err)
	}

	b := newBench(t)
	ids, _ := b.staticGroup("s1", "i1")
	sh, g, _ := b.s.existing("s1")
	g.members[ids[0]].clientID = "probe"
	rec := g.groupRecord(nil)
	sh.unlock()
	if len(rec.Key) != 6 {
		t.Errorf("group key of %d bytes, Kafka's is 6", len(rec.Key))
	}
	v, err := decodeGroup(rec.Value)
	if err != nil || v.Version != 3 || v.ProtocolType != "consumer" || *v.Leader != ids[0] || *v.Protocol != "range" ||
		*v.Members[0].InstanceID != "i1" || v.Members[0].ClientHost != "/127.0.0.1" {
		t.Errorf("group %+v, error %v", v, err)
	}
}

// Values of every version that Kafka has ever written.
func TestOldValuesAreRead(t *testing.T) {
	for version := int16(0); version <= maxOffsetValueVersion; version++ {
		v := kmsg.NewOffsetCommitValue()
		v.Version, v.Offset, v.LeaderEpoch, v.Metadata, v.CommitTimestamp, v.ExpireTimestamp = version, 7, 2, "m", 100, 200
		got, err := decodeOffset(v.AppendTo(nil))
		want := offset{offset: 7, leaderEpoch: -1, metadata: "m", commitMs: 100, expireMs: -1}
		if version >= 3 {
			want.leaderEpoch = 2
		}
		if version == 1 {
			want.expireMs = 200
		}
		if err != nil || got != want {
			t.Errorf("version %d: %+v, error %v", version, got, err)
		}
	}
	for version := int16(0); version <= maxGroupValueVersion; version++ {
		v := kmsg.NewGroupMetadataValue()
		v.Version, v.ProtocolType, v.Generation = version, "consumer", 3
		v.Members = []kmsg.GroupMetadataValueMember{{MemberID: "m", ClientID: "c", ClientHost: "/h", SessionTimeoutMillis: 10}}
		got, err := decodeGroup(v.AppendTo(nil))
		if err != nil || got.Generation != 3 || !reflect.DeepEqual(got.Members[0].MemberID, "m") {
			t.Errorf("version %d: %+v, error %v", version, got, err)
		}
	}
	if _, err := decodeOffset([]byte{0, 9, 1}); err == nil {
		t.Error("offset value of an unknown version was read")
	}
	if _, err := decodeGroup([]byte{0, 9, 1}); err == nil {
		t.Error("group value of an unknown version was read")
	}
}

// FuzzReplay loads any record: an error at worst, and what was read can be written
// and read again.
func FuzzReplay(f *testing.F) {
	o := offsetRecord("g", "t1", 1, offset{offset: 1, metadata: "m", expireMs: -1, topicID: [16]byte{1}})
	f.Add(o.Key, o.Value)
	old := offsetRecord("g", "t1", 1, offset{offset: 1, expireMs: 5})
	f.Add(old.Key, old.Value)
	b := newBench(f)
	b.staticGroup("g", "i")
	sh, g, _ := b.s.existing("g")
	r := g.groupRecord(nil)
	sh.unlock()
	f.Add(r.Key, r.Value)
	f.Add([]byte{0, 3}, []byte{0})
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		b := newBench(t)
		sh := b.s.all()[0]
		replayed := &replay{sh: sh, epoch: sh.epoch}
		if err := replayed.record(key, value); err != nil {
			return
		}
		sh.lock()
		for _, g := range sh.groups {
			g.resume()
			if err := replayedAgain(g); err != nil {
				t.Errorf("group %q cannot be read back: %v", g.id, err)
			}
		}
		sh.unlock()
		b.advance(1)
		if err := replayed.record(key, nil); err != nil {
			t.Errorf("tombstone: %v", err)
		}
	})
}

func replayedAgain(g *group) error {
	for topic, partitions := range g.offsets {
		for p, o := range partitions {
			r := offsetRecord(g.id, topic, p, o)
			if _, err := decodeOffset(r.Value); err != nil {
				return err
			}
			if _, err := decodeOffsetKey(r.Key); err != nil {
				return err
			}
		}
	}
	_, err := decodeGroup(g.groupRecord(nil).Value)
	return err
}

func FuzzSubscription(f *testing.F) {
	f.Add(consumerMetadata("t1", "t2"))
	f.Add([]byte{0, 0, 0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		topics := map[string]struct{}{}
		addSubscription(topics, b)
		if len(topics) > len(b) {
			t.Errorf("%d topics in %d bytes", len(topics), len(b))
		}
	})
}
