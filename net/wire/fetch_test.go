package wire

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

func fetchRequest(t *rapid.T, version int16) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version = version
	flexible := version >= 12
	replica := rapid.Int32Range(-1, 5).Draw(t, "replica")
	switch {
	case version <= 14:
		req.ReplicaID = replica
	case replica >= 0:
		req.ReplicaState.ID, req.ReplicaState.Epoch = replica, rapid.Int64().Draw(t, "replica epoch")
	}
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = rapid.Int32().Draw(t, "wait"), rapid.Int32().Draw(t, "min"), rapid.Int32().Draw(t, "max")
	req.IsolationLevel = rapid.Int8Range(0, 1).Draw(t, "isolation")
	if version >= 7 {
		req.SessionID, req.SessionEpoch = rapid.Int32().Draw(t, "session"), rapid.Int32().Draw(t, "epoch")
	}
	for range rapid.IntRange(0, 3).Draw(t, "topics") {
		topic := kmsg.NewFetchRequestTopic()
		if version >= 13 {
			topic.TopicID = anyID.Draw(t, "topic id")
		} else {
			topic.Topic = anyName.Draw(t, "topic")
		}
		for range rapid.IntRange(0, 3).Draw(t, "partitions") {
			topic.Partitions = append(topic.Partitions, fetchPartition(t, version))
		}
		if flexible {
			topic.UnknownTags = anyTags(t, 0)
		}
		req.Topics = append(req.Topics, topic)
	}
	if version >= 7 {
		for range rapid.IntRange(0, 3).Draw(t, "forgotten") {
			f := kmsg.NewFetchRequestForgottenTopic()
			if version >= 13 {
				f.TopicID = anyID.Draw(t, "topic id")
			} else {
				f.Topic = anyName.Draw(t, "topic")
			}
			f.Partitions = rapid.SliceOfN(rapid.Int32(), 0, 4).Draw(t, "partitions")
			req.ForgottenTopics = append(req.ForgottenTopics, f)
		}
	}
	if version >= 11 {
		req.Rack = anyName.Draw(t, "rack")
	}
	if flexible {
		req.ClusterID = anyText.Draw(t, "cluster")
		req.UnknownTags = anyTags(t, 2)
	}
	return req
}

func fetchPartition(t *rapid.T, version int16) kmsg.FetchRequestTopicPartition {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset = rapid.Int32().Draw(t, "partition"), rapid.Int64().Draw(t, "offset")
	p.PartitionMaxBytes = rapid.Int32().Draw(t, "max")
	if version >= 5 {
		p.LogStartOffset = rapid.Int64().Draw(t, "start")
	}
	if version >= 9 {
		p.CurrentLeaderEpoch = rapid.Int32().Draw(t, "epoch")
	}
	if version >= 12 {
		p.LastFetchedEpoch = rapid.Int32().Draw(t, "last epoch")
		p.UnknownTags = anyTags(t, 2)
	}
	if version >= 17 && rapid.Bool().Draw(t, "with directory") {
		p.ReplicaDirectoryID = anyID.Draw(t, "directory")
	}
	if version >= 18 && rapid.Bool().Draw(t, "with high watermark") {
		p.HighWatermark = rapid.Int64().Draw(t, "high watermark")
	}
	return p
}

func TestFetchRequestsOfEachVersionDecode(t *testing.T) {
	var got FetchRequest
	rapid.Check(t, func(rt *rapid.T) {
		version := rapid.Int16Range(FetchMinVersion, FetchMaxVersion).Draw(rt, "version")
		req := fetchRequest(rt, version)
		body := req.AppendTo(nil)
		if err := got.Decode(version, body); err != nil {
			rt.Fatal(err)
		}
		replica := req.ReplicaID
		if version >= 15 {
			replica = req.ReplicaState.ID
		}
		if got.ReplicaID != replica || got.ReplicaEpoch != req.ReplicaState.Epoch {
			rt.Fatalf("replica %d epoch %d, want %d %d", got.ReplicaID, got.ReplicaEpoch, replica, req.ReplicaState.Epoch)
		}
		if got.MaxWaitMs != req.MaxWaitMillis || got.MinBytes != req.MinBytes || got.MaxBytes != req.MaxBytes || got.Isolation != req.IsolationLevel ||
			got.SessionID != req.SessionID || got.SessionEpoch != req.SessionEpoch || string(got.RackID) != req.Rack {
			rt.Fatalf("got %+v, want %+v", got, req)
		}
		if (got.ClusterID == nil) != (req.ClusterID == nil) || req.ClusterID != nil && string(got.ClusterID) != *req.ClusterID {
			rt.Fatalf("cluster %q", got.ClusterID)
		}
		sameFetchTopics(rt, &got, req)
		cutNeverDecodes(rt, body, func(b []byte) error { return got.Decode(version, b) })
	})
}

func sameFetchTopics(t *rapid.T, got *FetchRequest, want *kmsg.FetchRequest) {
	if len(got.Topics) != len(want.Topics) || len(got.Forgotten) != len(want.ForgottenTopics) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for i, topic := range want.Topics {
		g := got.Topics[i]
		if string(g.Name) != topic.Topic || g.TopicID != topic.TopicID || len(g.Partitions) != len(topic.Partitions) {
			t.Fatalf("topic %+v, want %+v", g, topic)
		}
		for j, p := range topic.Partitions {
			want := FetchPartition{p.Partition, p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch, p.LogStartOffset,
				p.PartitionMaxBytes, p.ReplicaDirectoryID, p.HighWatermark}
			if g.Partitions[j] != want {
				t.Fatalf("partition %+v, want %+v", g.Partitions[j], want)
			}
		}
	}
	for i, f := range want.ForgottenTopics {
		g := got.Forgotten[i]
		if string(g.Name) != f.Topic || g.TopicID != f.TopicID || !reflect.DeepEqual(append([]int32{}, g.Partitions...), append([]int32{}, f.Partitions...)) {
			t.Fatalf("forgotten %+v, want %+v", g, f)
		}
	}
}

func fetchPartitionResponse(t *rapid.T) (FetchPartitionResponse, []byte) {
	p := FetchPartitionResponse{
		Index: rapid.Int32().Draw(t, "partition"), ErrorCode: rapid.Int16().Draw(t, "error"),
		HighWatermark: rapid.Int64().Draw(t, "hw"), LastStableOffset: rapid.Int64().Draw(t, "lso"), LogStartOffset: rapid.Int64().Draw(t, "start"),
		PreferredReadReplica: rapid.Int32().Draw(t, "preferred"), CurrentLeader: anyHint.Draw(t, "hint"),
	}
	if rapid.Bool().Draw(t, "aborted is not null") {
		p.AbortedTransactions = []AbortedTransaction{}
		for range rapid.IntRange(0, 3).Draw(t, "aborted") {
			p.AbortedTransactions = append(p.AbortedTransactions, AbortedTransaction{rapid.Int64().Draw(t, "pid"), rapid.Int64().Draw(t, "first")})
		}
	}
	if rapid.Bool().Draw(t, "diverging") {
		p.DivergingEpoch = &DivergingEpoch{rapid.Int32Range(0, 9).Draw(t, "epoch"), rapid.Int64().Draw(t, "end")}
	}
	if rapid.Bool().Draw(t, "snapshot") {
		p.SnapshotID = &SnapshotID{rapid.Int64Range(0, 9).Draw(t, "end"), rapid.Int32().Draw(t, "epoch")}
	}
	records := anyRecords.Draw(t, "records")
	p.RecordsBytes = len(records)
	if records == nil {
		p.RecordsBytes = -1
	}
	return p, records
}

func fetchPartitionAsKmsg(p *FetchPartitionResponse, records []byte, version int16) kmsg.FetchResponseTopicPartition {
	k := kmsg.NewFetchResponseTopicPartition()
	k.Partition, k.ErrorCode, k.HighWatermark = p.Index, p.ErrorCode, p.HighWatermark
	k.LastStableOffset, k.LogStartOffset, k.PreferredReadReplica = p.LastStableOffset, p.LogStartOffset, p.PreferredReadReplica
	k.RecordBatches = records
	if p.AbortedTransactions != nil {
		k.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
	}
	for _, a := range p.AbortedTransactions {
		ka := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
		ka.ProducerID, ka.FirstOffset = a.ProducerID, a.FirstOffset
		k.AbortedTransactions = append(k.AbortedTransactions, ka)
	}
	if version < 12 {
		return k
	}
	if d := p.DivergingEpoch; d != nil {
		k.DivergingEpoch.Epoch, k.DivergingEpoch.EndOffset = d.Epoch, d.EndOffset
	}
	if h := p.CurrentLeader; h != nil {
		k.CurrentLeader.LeaderID, k.CurrentLeader.LeaderEpoch = h.LeaderID, h.LeaderEpoch
	}
	if s := p.SnapshotID; s != nil {
		k.SnapshotID.EndOffset, k.SnapshotID.Epoch = s.EndOffset, s.Epoch
	}
	return k
}

// join makes the response as it goes out: the buffer with the records at the splits.
func join(w *FetchResponse, records [][]byte) (b []byte) {
	at := 0
	for i, s := range w.Splits {
		b = append(b, w.B[at:s.At]...)
		b = append(b, records[i][:s.N]...)
		at = s.At
	}
	return append(b, w.B[at:]...)
}

func TestFetchResponsesOfEachVersionEncode(t *testing.T) {
	var w FetchResponse
	rapid.Check(t, func(rt *rapid.T) {
		version := rapid.Int16Range(FetchMinVersion, FetchMaxVersion).Draw(rt, "version")
		want := kmsg.NewPtrFetchResponse()
		want.Version = version
		want.ThrottleMillis, want.ErrorCode, want.SessionID = rapid.Int32().Draw(rt, "throttle"), rapid.Int16().Draw(rt, "error"), rapid.Int32().Draw(rt, "session")
		w.Reset(w.B, version, 78, want.ThrottleMillis, want.ErrorCode, want.SessionID)
		n := rapid.IntRange(0, 3).Draw(rt, "topics")
		w.BeginTopics(n)
		var ranges [][]byte
		total := 0
		for range n {
			topic := kmsg.NewFetchResponseTopic()
			name, id := anyName.Draw(rt, "topic"), anyID.Draw(rt, "topic id")
			if version >= 13 {
				topic.TopicID = id
			} else {
				topic.Topic = name
			}
			parts := rapid.IntRange(0, 3).Draw(rt, "partitions")
			w.BeginTopic([]byte(name), id, parts)
			for range parts {
				p, records := fetchPartitionResponse(rt)
				w.Partition(&p)
				if len(records) > 0 {
					ranges = append(ranges, records)
					total += len(records)
				}
				topic.Partitions = append(topic.Partitions, fetchPartitionAsKmsg(&p, records, version))
			}
			w.EndTopic()
			want.Topics = append(want.Topics, topic)
		}
		nodes := rapid.SliceOfN(anyNode, 0, 3).Draw(rt, "nodes")
		if version >= 16 {
			for _, n := range nodes {
				b := kmsg.NewFetchResponseBroker()
				b.NodeID, b.Host, b.Port, b.Rack = n.NodeID, n.Host, n.Port, n.Rack
				want.Brokers = append(want.Brokers, b)
			}
		}
		w.End(nodes)
		if len(w.Splits) != len(ranges) || w.RecordsBytes() != total {
			rt.Fatalf("%d splits of %d bytes for %d ranges of %d", len(w.Splits), w.RecordsBytes(), len(ranges), total)
		}
		body := checkFrame(rt, join(&w, ranges), 78, version >= 12)
		if want := want.AppendTo(nil); !bytes.Equal(body, want) {
			rt.Fatalf("got  %x\nwant %x", body, want)
		}
	})
}

func TestFetchCountsThatLieAllocateNothing(t *testing.T) {
	head := []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	for name, tail := range map[string][]byte{
		"topics":          {0x7f, 0xff, 0xff, 0xff},
		"negative topics": {0xff, 0xff, 0xff, 0xfe},
		"partitions":      {0, 0, 0, 1, 0, 1, 't', 0x7f, 0xff, 0xff, 0xff},
	} {
		var r FetchRequest
		if err := r.Decode(4, append(head[:len(head):len(head)], tail...)); err == nil {
			t.Errorf("%s: no error", name)
		}
		if cap(r.Topics) > 1 || len(r.Topics) > 0 && cap(r.Topics[0].Partitions) > 1 {
			t.Errorf("%s: memory for what was not sent", name)
		}
	}
	var r FetchRequest
	for _, v := range []int16{-1, 3, 19} {
		if r.Decode(v, nil) == nil {
			t.Errorf("version %d decodes", v)
		}
	}
}

func FuzzFetchRequest(f *testing.F) {
	for v := int16(FetchMinVersion); v <= FetchMaxVersion; v++ {
		req := rapid.Custom(func(t *rapid.T) *kmsg.FetchRequest { return fetchRequest(t, v) })
		for seed := range 4 {
			f.Add(v, req.Example(seed).AppendTo(nil))
		}
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		var r FetchRequest
		if r.Decode(version, body) != nil {
			return
		}
		k := kmsg.NewPtrFetchRequest()
		k.Version = version
		if err := k.ReadFrom(body); err != nil {
			t.Fatalf("kmsg: %v", err)
		}
		var again FetchRequest
		if err := again.Decode(version, k.AppendTo(nil)); err != nil || !sameFetch(&r, &again) {
			t.Fatalf("%v: %+v and %+v", err, r, again)
		}
	})
}

// sameFetch compares without telling nil from empty slices.
func sameFetch(a, b *FetchRequest) bool {
	for _, r := range []*FetchRequest{a, b} {
		r.Topics, r.Forgotten = append([]FetchTopic{}, r.Topics...), append([]ForgottenTopic{}, r.Forgotten...)
	}
	return reflect.DeepEqual(a, b)
}

func BenchmarkFetchRequestDecode(b *testing.B) {
	req := kmsg.NewPtrFetchRequest()
	req.Version = FetchMaxVersion
	topic := kmsg.NewFetchRequestTopic()
	for i := range 16 {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.HighWatermark = int32(i), 5
		topic.Partitions = append(topic.Partitions, p)
	}
	req.Topics = append(req.Topics, topic)
	body := req.AppendTo(nil)
	var r FetchRequest
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Decode(FetchMaxVersion, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFetchResponseEncode(b *testing.B) {
	var w FetchResponse
	p := FetchPartitionResponse{PreferredReadReplica: -1, RecordsBytes: 1 << 20}
	b.ReportAllocs()
	for b.Loop() {
		w.Reset(w.B, FetchMaxVersion, 1, 0, 0, 0)
		w.BeginTopics(1)
		w.BeginTopic(nil, [16]byte{1}, 16)
		for i := range int32(16) {
			p.Index = i
			w.Partition(&p)
		}
		w.EndTopic()
		w.End(nil)
	}
}
