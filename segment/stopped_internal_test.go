package segment

import (
	"encoding/hex"
	"reflect"
	"testing"
)

func FuzzStopped(f *testing.F) {
	id := [16]byte{1, 2}
	f.Add(encodeStopped(id, nil)[stoppedHeader:])
	f.Add((&stoppedLog{
		topic: "orders", partition: 3, topicID: [16]byte{4}, changedNs: 1e18, epochs: []epochEntry{{0, 0}, {2, 70}},
		producers: []byte("snapshot"), segments: []stoppedSegment{{0, 4096}, {50, 100}}, nextOffset: 90, maxTimestamp: 8, baseEpoch: -1,
	}).append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, ok := decodeStoppedLog(b)
		if !ok {
			return
		}
		again, err := decodeStopped(encodeStopped(id, []*stoppedLog{s}), hex.EncodeToString(id[:]))
		if err != nil {
			t.Fatal(err)
		}
		if got := again[topicPartition{s.topic, s.partition}]; !reflect.DeepEqual(got.append(nil), s.append(nil)) {
			t.Errorf("%+v became %+v", s, got)
		}
	})
}
