package oracle

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Produce: what a batch must be, what the answer says, what is left in the log.

var produceRules = []Rule{Keyed("*.Partitions", "Partition"), topicIDs, messages, appendTimes, endpoint}

// produces is a probe that sends one record set to a fresh topic at each of the
// versions, and then reads the log back.
func produces(name string, set func() []byte, configs ...string) Probe {
	return Probe{Name: "produce-" + name, Rules: produceRules, Play: func(r *Run) {
		topic, id := r.topic("t", 1, configs...)
		for _, v := range []int16{3, 6, 7, 8, 11, 13} {
			req := produceTo(topic, 0, set())
			req.Topics[0].TopicID = id
			r.askAny(fmt.Sprint("v", v), v, req)
		}
		r.askAny("log", 4, fetchFrom(topic, 0))
	}}
}

func fixed(b batch) func() []byte { return b.bytes }

func tearing(tear func(b []byte)) func() []byte {
	return batch{records: values(2), tear: tear}.bytes
}

// resealed applies change and makes the CRC right again.
func resealed(change func(b []byte)) func([]byte) {
	return func(b []byte) { change(b); seal(b) }
}

func produceProbes() []Probe {
	now := func() int64 { return epochMs }
	codec := func(c kgo.CompressionCodec) batch {
		return batch{records: []kmsg.Record{value(strings.Repeat("compress me ", 50)), value("x")}, codec: c}
	}
	null := kmsg.Record{}
	headers := kmsg.Record{Key: []byte("k"), Value: []byte("v"), Headers: []kmsg.Header{{Key: "h", Value: []byte("1")}, {Key: "", Value: nil}}}
	probes := []Probe{
		produces("plain", fixed(batch{records: values(3)})),
		produces("null-key-and-value", fixed(batch{records: []kmsg.Record{null, {Key: []byte{}, Value: []byte{}}}})),
		produces("headers", fixed(batch{records: []kmsg.Record{headers}})),
		produces("gzip", fixed(codec(kgo.GzipCompression()))),
		produces("snappy", fixed(codec(kgo.SnappyCompression()))),
		produces("lz4", fixed(codec(kgo.Lz4Compression()))),
		produces("zstd", fixed(codec(kgo.ZstdCompression()))),
		produces("codec-5", fixed(batch{records: values(1), attributes: 5})),
		produces("codec-lies", fixed(batch{records: values(3), attributes: 1})),
		produces("crc-bad", tearing(func(b []byte) { b[17]++ })),
		produces("body-flipped", tearing(func(b []byte) { b[len(b)-1] ^= 1 })),
		produces("two-batches", func() []byte { return append(plain(1), plain(1)...) }),
		produces("empty-set", func() []byte { return []byte{} }),
		produces("half-a-header", func() []byte { return plain(1)[:30] }),
		produces("cut-at-the-end", func() []byte { b := plain(2); return b[:len(b)-3] }),
		produces("bytes-after-the-batch", func() []byte { return append(plain(1), 1, 2, 3) }),
		produces("length-too-long", tearing(func(b []byte) { b[11] += 9 })),
		produces("length-too-short", tearing(func(b []byte) { b[11] -= 2 })),
		produces("length-negative", tearing(func(b []byte) { b[8] = 0x80 })),
		produces("length-tiny", tearing(func(b []byte) { copy(b[8:], []byte{0, 0, 0, 10}) })),
		produces("magic-1", tearing(func(b []byte) { b[16] = 1 })),
		produces("magic-0", tearing(func(b []byte) { b[16] = 0 })),
		produces("magic-3", tearing(func(b []byte) { b[16] = 3 })),
		produces("base-offset-42", tearing(func(b []byte) { b[7] = 42 })),
		produces("leader-epoch-9", tearing(func(b []byte) { b[15] = 9; b[12], b[13], b[14] = 0, 0, 0 })),
		produces("control-batch", fixed(batch{records: values(1), attributes: 1 << 5})),
		produces("log-append-bit", fixed(batch{records: values(1), attributes: 1 << 3})),
		produces("log-append-bit-gzip", fixed(batch{records: values(30), attributes: 1 << 3, codec: kgo.GzipCompression()})),
		produces("log-append-bit-max-lies", fixed(batch{records: values(2), attributes: 1 << 3, maxMs: epochMs + 5000})),
		produces("transactional-bit", fixed(batch{records: values(1), attributes: 1 << 4})),
		produces("unused-attribute-bits", fixed(batch{records: values(1), attributes: 1 << 9})),
		produces("delete-horizon-bit", fixed(batch{records: values(1), attributes: 1 << 6})),
		produces("no-records", fixed(batch{records: nil})),
		produces("count-too-large", tearing(resealed(func(b []byte) { b[60] = 9 }))),
		produces("count-too-small", tearing(resealed(func(b []byte) { b[60] = 1 }))),
		produces("count-negative", tearing(resealed(func(b []byte) { b[57] = 0xff }))),
		produces("last-delta-too-large", tearing(resealed(func(b []byte) { b[26] = 7 }))),
		produces("last-delta-negative", tearing(resealed(func(b []byte) { b[23] = 0xff }))),
		produces("record-length-lies", tearing(resealed(func(b []byte) { b[61] = 0x7e }))),
		produces("record-delta-wrong", tearing(resealed(func(b []byte) { b[64] = 8 }))),
		produces("max-timestamp-lies", fixed(batch{records: values(2), maxMs: epochMs + 5000})),
		produces("timestamps-unordered", fixed(batch{records: []kmsg.Record{at(value("a"), 50), at(value("b"), 10)}})),
		produces("timestamp-minus-1", fixed(batch{records: values(1), firstMs: -1, maxMs: -1})),
		produces("timestamp-long-ago", fixed(batch{records: values(1), firstMs: 1})),
		produces("timestamp-in-2-hours", func() []byte {
			return batch{records: values(2), firstMs: now() + 3*3600_000}.bytes()
		}),
		produces("timestamp-one-of-two-ahead", func() []byte {
			return batch{records: []kmsg.Record{value("a"), at(value("b"), 4*3600_000)}}.bytes()
		}),
		produces("timestamp-too-old", fixed(batch{records: values(1), firstMs: epochMs - 10_000_000}), "message.timestamp.before.max.ms", "5000"),
		produces("compacted-without-key", fixed(batch{records: []kmsg.Record{keyed("k", "v"), value("x"), value("y")}}), "cleanup.policy", "compact"),
		produces("compacted-with-key", fixed(batch{records: []kmsg.Record{keyed("k", "v")}}), "cleanup.policy", "compact"),
		produces("compacted-without-key-gzip", fixed(batch{records: []kmsg.Record{keyed("k", "v"), value("xxxxxxxxxxxxxxxxxxxxxxxxxxxxx")}, codec: kgo.GzipCompression()}), "cleanup.policy", "compact"),
		produces("too-large", fixed(batch{records: []kmsg.Record{value(strings.Repeat("x", 2000))}}), "max.message.bytes", "1000"),
		produces("large-but-compressed", fixed(batch{records: []kmsg.Record{value(strings.Repeat("x", 2000))}, codec: kgo.GzipCompression()}), "max.message.bytes", "1000"),
		produces("recompress-gzip", fixed(batch{records: values(1)}), "compression.type", "uncompressed"),
		produces("decompress-for-topic", fixed(codec(kgo.GzipCompression())), "compression.type", "uncompressed"),
	}
	return append(append(probes, appendTimeProbes()...), produceStories()...)
}

// appendTimeProbes: the broker's clock replaces that of the client, in the answer
// and in the batch; which time it is cannot be compared.
func appendTimeProbes() []Probe {
	rules := append([]Rule{Masked("*.MaxTimestamp"), Masked("*.FirstTimestamp")}, produceRules...)
	var probes []Probe
	for _, b := range []struct {
		name string
		set  batch
	}{
		{"plain", batch{records: values(2)}},
		{"gzip", batch{records: []kmsg.Record{value(strings.Repeat("a", 300))}, codec: kgo.GzipCompression()}},
		{"bit", batch{records: values(1), attributes: 1 << 3}},
		{"far-ahead", batch{records: values(1), firstMs: epochMs + 9*3600_000}},
	} {
		p := produces("log-append-time-"+b.name, fixed(b.set), "message.timestamp.type", "LogAppendTime")
		p.Rules = rules
		probes = append(probes, p)
	}
	return probes
}

func produceStories() []Probe {
	acks := func(n int16) Probe {
		return Probe{Name: fmt.Sprintf("produce-acks-%d", n), Rules: produceRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			req := produceTo(topic, 0, plain(1))
			req.Acks = n
			r.askAny("answer", 9, req)
			r.askAny("log", 4, fetchFrom(topic, 0))
		}}
	}
	silent := func(name string, req func(r *Run, topic string) *kmsg.ProduceRequest) Probe {
		return Probe{Name: "produce-acks-0-" + name, Rules: produceRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			c := r.Dial()
			produce := req(r, topic)
			produce.Acks = 0
			produce.SetVersion(9)
			frame, _ := c.encode(produce)
			c.Write(frame)
			r.outcome("then", c, quiet)
			r.askAny("log", 4, fetchFrom(topic, 0))
		}}
	}
	return []Probe{
		acks(1), acks(2), acks(-2), acks(-1),
		silent("good", func(r *Run, topic string) *kmsg.ProduceRequest { return produceTo(topic, 0, plain(1)) }),
		silent("bad-crc", func(r *Run, topic string) *kmsg.ProduceRequest {
			return produceTo(topic, 0, tearing(func(b []byte) { b[17]++ })())
		}),
		silent("unknown-topic", func(r *Run, topic string) *kmsg.ProduceRequest { return produceTo(r.Name("none"), 0, plain(1)) }),
		{Name: "produce-null-records", Rules: produceRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			c := r.Dial()
			req := produceTo(topic, 0, nil)
			req.SetVersion(9)
			frame, _ := c.encode(req)
			c.Write(frame)
			r.outcome("then", c, 2*time.Second)
		}},
		{Name: "produce-unknown-partition", Rules: produceRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			r.askAny("1", 9, produceTo(topic, 1, plain(1)))
			r.askAny("-1", 9, produceTo(topic, -1, plain(1)))
			r.askAny("v13", 13, produceTo(topic, 0, plain(1))) // zero topic id
		}},
		{Name: "produce-no-topics", Rules: produceRules, Play: func(r *Run) {
			req := produceTo("", 0, nil)
			req.Topics = nil
			r.askAny("answer", 9, req)
		}},
		{Name: "produce-bad-topic-name", Rules: produceRules, Play: func(r *Run) { r.askAny("answer", 9, produceTo("a/b", 0, plain(1))) }},
		{Name: "produce-internal-topic", Rules: produceRules, Play: func(r *Run) {
			r.findCoordinator(r.Name("g"))
			r.askAny("answer", 9, produceTo("__consumer_offsets", 0, plain(1)))
		}},
		{Name: "produce-two-partitions-one-bad", Rules: produceRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 2)
			req := produceTo(topic, 0, plain(1))
			p := kmsg.NewProduceRequestTopicPartition()
			p.Partition, p.Records = 1, tearing(func(b []byte) { b[17]++ })()
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
			r.askAny("answer", 9, req)
		}},
		{Name: "produce-same-partition-twice", Rules: produceRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			req := produceTo(topic, 0, plain(1))
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, req.Topics[0].Partitions[0])
			resp := send[*kmsg.ProduceResponse](r, r.Conn(), "answer", 9, req)
			r.Note("entries", len(resp.Topics[0].Partitions))
		}},
		{Name: "produce-transactional-id", Rules: produceRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			req := produceTo(topic, 0, plain(1))
			req.TransactionID = ptr(r.Name("tx"))
			r.askAny("plain batch", 9, req)
		}},
		{Name: "produce-min-isr-above-replicas", Rules: produceRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1, "min.insync.replicas", "2")
			r.askAny("acks all", 9, produceTo(topic, 0, plain(1)))
		}},
		{Name: "produce-zero-timeout", Rules: produceRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			req := produceTo(topic, 0, plain(1))
			req.TimeoutMillis = 0
			resp := send[*kmsg.ProduceResponse](r, r.Conn(), "answer", 9, req)
			code := resp.Topics[0].Partitions[0].ErrorCode
			r.Note("ok or timed out", code == 0 || code == 7)
		}},
		{Name: "produce-base-offsets-count-up", Rules: produceRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			for i := range 4 {
				r.askAny(fmt.Sprint(i), 9, produceTo(topic, 0, plain(i+1)))
			}
		}},
		{Name: "produce-old-message-set", Rules: produceRules, Play: func(r *Run) {
			topic, _ := r.topic("t", 1)
			// A message set of format 1: offset, size, CRC, magic 1, attributes, timestamp, key, value.
			m := binary.BigEndian.AppendUint64(nil, 0)
			m = append(m, 0, 0, 0, 23, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 'x')
			r.askAny("v3", 3, produceTo(topic, 0, m))
			r.askAny("v9", 9, produceTo(topic, 0, m))
		}},
	}
}
