package wire

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// Generators that the tests of both codecs use.
var (
	anyName = rapid.StringN(0, 20, 60)
	anyID   = rapid.Custom(func(t *rapid.T) (id [16]byte) {
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		return id
	})
	anyRecords = rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOfN(rapid.Byte(), 0, 300))
	anyText    = rapid.Custom(func(t *rapid.T) *string {
		if rapid.Bool().Draw(t, "null") {
			return nil
		}
		s := anyName.Draw(t, "text")
		return &s
	})
	anyNode = rapid.Custom(func(t *rapid.T) NodeEndpoint {
		return NodeEndpoint{NodeID: rapid.Int32().Draw(t, "node"), Host: anyName.Draw(t, "host"), Port: rapid.Int32().Draw(t, "port"), Rack: anyText.Draw(t, "rack")}
	})
	anyHint = rapid.Custom(func(t *rapid.T) *LeaderHint {
		if rapid.Bool().Draw(t, "no hint") {
			return nil
		}
		return &LeaderHint{LeaderID: rapid.Int32Range(0, 9).Draw(t, "leader"), LeaderEpoch: rapid.Int32().Draw(t, "epoch")}
	})
)

func anyTags(t *rapid.T, from uint32) (tags kmsg.Tags) {
	if rapid.IntRange(0, 4).Draw(t, "with unknown tags") == 0 {
		tags.Set(from+rapid.Uint32Range(0, 200).Draw(t, "tag"), rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "tag value"))
	}
	return tags
}

func produceRequest(t *rapid.T, version int16) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version = version
	req.TransactionID = anyText.Draw(t, "transactional id")
	req.Acks = rapid.Int16Range(-1, 1).Draw(t, "acks")
	req.TimeoutMillis = rapid.Int32().Draw(t, "timeout")
	flexible := version >= 9
	for range rapid.IntRange(0, 4).Draw(t, "topics") {
		topic := kmsg.NewProduceRequestTopic()
		if version >= 13 {
			topic.TopicID = anyID.Draw(t, "topic id")
		} else {
			topic.Topic = anyName.Draw(t, "topic")
		}
		for range rapid.IntRange(0, 4).Draw(t, "partitions") {
			p := kmsg.NewProduceRequestTopicPartition()
			p.Partition = rapid.Int32().Draw(t, "partition")
			p.Records = anyRecords.Draw(t, "records")
			if flexible {
				p.UnknownTags = anyTags(t, 0)
			}
			topic.Partitions = append(topic.Partitions, p)
		}
		if flexible {
			topic.UnknownTags = anyTags(t, 0)
		}
		req.Topics = append(req.Topics, topic)
	}
	if flexible {
		req.UnknownTags = anyTags(t, 0)
	}
	return req
}

func TestProduceRequestsOfEachVersionDecode(t *testing.T) {
	var got ProduceRequest // used again and again, as on the hot path
	rapid.Check(t, func(rt *rapid.T) {
		version := rapid.Int16Range(ProduceMinVersion, ProduceMaxVersion).Draw(rt, "version")
		req := produceRequest(rt, version)
		body := req.AppendTo(nil)
		if err := got.Decode(version, body); err != nil {
			rt.Fatal(err)
		}
		if (got.TransactionalID == nil) != (req.TransactionID == nil) || req.TransactionID != nil && string(got.TransactionalID) != *req.TransactionID {
			rt.Fatalf("transactional id %q", got.TransactionalID)
		}
		if got.Acks != req.Acks || got.TimeoutMs != req.TimeoutMillis || len(got.Topics) != len(req.Topics) {
			rt.Fatalf("got %+v, want %+v", got, req)
		}
		for i, topic := range req.Topics {
			g := got.Topics[i]
			if string(g.Name) != topic.Topic || g.TopicID != topic.TopicID || len(g.Partitions) != len(topic.Partitions) {
				rt.Fatalf("topic %+v, want %+v", g, topic)
			}
			for j, p := range topic.Partitions {
				gp := g.Partitions[j]
				if gp.Index != p.Partition || !bytes.Equal(gp.Records, p.Records) || gp.Null != (p.Records == nil) {
					rt.Fatalf("partition %+v, want %+v", gp, p)
				}
			}
		}
		cutNeverDecodes(rt, body, func(b []byte) error { return got.Decode(version, b) })
	})
}

// cutNeverDecodes checks that a request that lacks its end is an error, and one with more
// bytes is not.
func cutNeverDecodes(t *rapid.T, body []byte, decode func([]byte) error) {
	cut := rapid.IntRange(0, len(body)-1).Draw(t, "cut")
	if err := decode(body[:cut:cut]); err == nil {
		t.Fatalf("decoded %d of %d bytes", cut, len(body))
	}
	if err := decode(append(body[:len(body):len(body)], 0)); err != nil {
		t.Fatalf("a byte after its end: %v", err)
	}
}

func TestProduceResponsesOfEachVersionEncode(t *testing.T) {
	var w ProduceResponse
	rapid.Check(t, func(rt *rapid.T) {
		version := rapid.Int16Range(ProduceMinVersion, ProduceMaxVersion).Draw(rt, "version")
		want := kmsg.NewPtrProduceResponse()
		want.Version = version
		want.ThrottleMillis = rapid.Int32().Draw(rt, "throttle")
		w.Reset(w.B, version, 77)
		n := rapid.IntRange(0, 3).Draw(rt, "topics")
		w.BeginTopics(n)
		for range n {
			topic := kmsg.NewProduceResponseTopic()
			name, id := anyName.Draw(rt, "topic"), anyID.Draw(rt, "topic id")
			if version >= 13 {
				topic.TopicID = id
			} else {
				topic.Topic = name
			}
			parts := rapid.IntRange(0, 3).Draw(rt, "partitions")
			w.BeginTopic([]byte(name), id, parts)
			for range parts {
				p := ProducePartitionResponse{
					Index: rapid.Int32().Draw(rt, "partition"), ErrorCode: rapid.Int16().Draw(rt, "error"),
					BaseOffset: rapid.Int64().Draw(rt, "base"), LogAppendTimeMs: rapid.Int64().Draw(rt, "time"),
					LogStartOffset: rapid.Int64().Draw(rt, "start"), ErrorMessage: anyText.Draw(rt, "message"),
					CurrentLeader: anyHint.Draw(rt, "hint"),
				}
				for range rapid.IntRange(0, 3).Draw(rt, "record errors") {
					p.RecordErrors = append(p.RecordErrors, RecordError{rapid.Int32().Draw(rt, "index"), anyText.Draw(rt, "message")})
				}
				w.Partition(&p)
				topic.Partitions = append(topic.Partitions, producePartitionAsKmsg(&p, version))
			}
			w.EndTopic()
			want.Topics = append(want.Topics, topic)
		}
		nodes := rapid.SliceOfN(anyNode, 0, 3).Draw(rt, "nodes")
		if version >= 10 {
			for _, n := range nodes {
				b := kmsg.NewProduceResponseBroker()
				b.NodeID, b.Host, b.Port, b.Rack = n.NodeID, n.Host, n.Port, n.Rack
				want.Brokers = append(want.Brokers, b)
			}
		}
		body := checkFrame(rt, w.End(want.ThrottleMillis, nodes), 77, version >= 9)
		got := kmsg.NewPtrProduceResponse()
		got.Version = version
		if err := got.ReadFrom(body); err != nil {
			rt.Fatal(err)
		}
		if g, w := got.AppendTo(nil), want.AppendTo(nil); !bytes.Equal(g, w) || !bytes.Equal(body, w) {
			rt.Fatalf("got  %x\nwant %x", body, w)
		}
	})
}

func producePartitionAsKmsg(p *ProducePartitionResponse, version int16) kmsg.ProduceResponseTopicPartition {
	k := kmsg.NewProduceResponseTopicPartition()
	k.Partition, k.ErrorCode, k.BaseOffset = p.Index, p.ErrorCode, p.BaseOffset
	k.LogAppendTime, k.LogStartOffset, k.ErrorMessage = p.LogAppendTimeMs, p.LogStartOffset, p.ErrorMessage
	for _, e := range p.RecordErrors {
		r := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		r.RelativeOffset, r.ErrorMessage = e.BatchIndex, e.Message
		k.ErrorRecords = append(k.ErrorRecords, r)
	}
	if h := p.CurrentLeader; h != nil && version >= 10 {
		k.CurrentLeader.LeaderID, k.CurrentLeader.LeaderEpoch = h.LeaderID, h.LeaderEpoch
	}
	return k
}

// checkFrame checks size and header of a response and returns its body.
func checkFrame(t *rapid.T, b []byte, correlation int32, flexible bool) []byte {
	want := BeginResponse(nil, correlation, flexible)
	FinishResponse(want, len(b)-len(want))
	if !bytes.Equal(b[:len(want)], want) {
		t.Fatalf("response begins with %x, want %x", b[:len(want)], want)
	}
	return b[len(want):]
}

func TestProduceCountsThatLieAllocateNothing(t *testing.T) {
	for name, body := range map[string][]byte{
		"topics":             {0xff, 0xff, 0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff},
		"negative topics":    {0xff, 0xff, 0, 1, 0, 0, 0, 0, 0x80, 0, 0, 0},
		"partitions":         {0xff, 0xff, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 't', 0x7f, 0xff, 0xff, 0xff},
		"records":            {0xff, 0xff, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff},
		"topic name is null": {0xff, 0xff, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0},
	} {
		var r ProduceRequest
		if err := r.Decode(3, body); err == nil {
			t.Errorf("%s: no error", name)
		}
		if cap(r.Topics) > 1 || len(r.Topics) > 0 && cap(r.Topics[0].Partitions) > 1 {
			t.Errorf("%s: memory for what was not sent", name)
		}
	}
	var r ProduceRequest
	for _, v := range []int16{-1, 2, 14} {
		if r.Decode(v, nil) == nil {
			t.Errorf("version %d decodes", v)
		}
	}
}

func FuzzProduceRequest(f *testing.F) {
	for v := int16(ProduceMinVersion); v <= ProduceMaxVersion; v++ {
		req := rapid.Custom(func(t *rapid.T) *kmsg.ProduceRequest { return produceRequest(t, v) })
		for seed := range 4 {
			f.Add(v, req.Example(seed).AppendTo(nil))
		}
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		var r, again ProduceRequest
		if r.Decode(version, body) != nil {
			return
		}
		// What decodes here decodes in kmsg, to the same.
		k := kmsg.NewPtrProduceRequest()
		k.Version = version
		if err := k.ReadFrom(body); err != nil {
			t.Fatalf("kmsg: %v", err)
		}
		if err := again.Decode(version, k.AppendTo(nil)); err != nil || !reflect.DeepEqual(r, again) {
			t.Fatalf("%v: %+v and %+v", err, r, again)
		}
	})
}

func BenchmarkProduceRequestDecode(b *testing.B) {
	req := kmsg.NewPtrProduceRequest()
	req.Version = ProduceMaxVersion
	topic := kmsg.NewProduceRequestTopic()
	for i := range 16 {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32(i), make([]byte, 1024)
		topic.Partitions = append(topic.Partitions, p)
	}
	req.Topics = append(req.Topics, topic)
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench")).AppendRequest(nil, req, 1)[4:]
	var r ProduceRequest
	b.ReportAllocs()
	for b.Loop() {
		h, body, err := ParseRequestHeader(frame)
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Decode(h.APIVersion, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProduceResponseEncode(b *testing.B) {
	var w ProduceResponse
	p := ProducePartitionResponse{LogAppendTimeMs: -1}
	b.ReportAllocs()
	for b.Loop() {
		w.Reset(w.B, ProduceMaxVersion, 1)
		w.BeginTopics(1)
		w.BeginTopic(nil, [16]byte{1}, 16)
		for i := range int32(16) {
			p.Index = i
			w.Partition(&p)
		}
		w.EndTopic()
		w.End(0, nil)
	}
}
