package broker_test

import (
	"fmt"
	"testing"
	"time"

	"millrace/broker/brokertest"
	"millrace/segment/batch"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// records builds a batch of n records with the given value, stamped now.
func records(t testing.TB, n int, shape func(*batch.Builder)) []byte {
	t.Helper()
	b := batch.NewBuilder()
	now := time.Now().UnixMilli()
	for i := range n {
		b.Add(now+int64(i), []byte(fmt.Sprint("k", i)), []byte("v"))
	}
	if shape != nil {
		shape(b)
	}
	return built(t, b)
}

func built(t testing.TB, b *batch.Builder) []byte {
	t.Helper()
	out, err := b.Build(nil)
	if err != nil {
		t.Fatalf("build batch: %v", err)
	}
	return out
}

func produceRequest(version, acks int16, topic string, partition int32, recs []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, acks, 10_000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, recs
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
	req.Topics = append(req.Topics, rt)
	return req
}

// produce sends one batch and returns the answer for its partition.
func produce(c *brokertest.Conn, topic string, recs []byte) kmsg.ProduceResponseTopicPartition {
	return c.Do(produceRequest(11, -1, topic, 0, recs)).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
}

func TestProduceRefusesWhatMayNotBeAppended(t *testing.T) {
	n := brokertest.Start(t, map[string]string{"auto.create.topics.enable": "false"})
	c := n.Dial(t)
	c.CreateTopic("plain", 1)
	c.CreateTopic("compacted", 1, "cleanup.policy", "compact")
	c.CreateTopic("small", 1, "max.message.bytes", "200")
	good := records(t, 3, nil)
	with := func(f func(b []byte) []byte) []byte { return f(append([]byte(nil), good...)) }
	keyless := batch.NewBuilder()
	keyless.Add(time.Now().UnixMilli(), nil, []byte("v"))
	late := batch.NewBuilder()
	late.Add(time.Now().Add(2*time.Hour).UnixMilli(), []byte("k"), []byte("v"))

	for _, x := range []struct {
		name     string
		topic    string
		version  int16
		acks     int16
		records  []byte
		want     *kerr.Error
		logStart int64 // told with errors of the append, as by Kafka; -1 with others
	}{
		{"unknown topic", "nowhere", 11, -1, good, kerr.UnknownTopicOrPartition, -1},
		{"acks out of range", "plain", 11, 2, good, kerr.InvalidRequiredAcks, -1},
		{"null records", "plain", 11, -1, nil, kerr.InvalidRecord, 0},
		{"no records", "plain", 11, -1, []byte{}, kerr.InvalidRecord, -1},
		{"two batches", "plain", 11, -1, append(append([]byte(nil), good...), good...), kerr.InvalidRecord, -1},
		{"bad CRC", "plain", 11, -1, with(func(b []byte) []byte { b[len(b)-1] ^= 1; return b }), kerr.CorruptMessage, -1},
		{"length too short", "plain", 11, -1, with(func(b []byte) []byte { b[11] -= 2; return b }), kerr.CorruptMessage, -1},
		{"magic 1", "plain", 11, -1, with(func(b []byte) []byte { b[16] = 1; return b }), kerr.InvalidRecord, -1},
		{"control batch", "plain", 11, -1, records(t, 1, func(b *batch.Builder) { b.Control = true }), kerr.InvalidRecord, 0},
		{"too large", "small", 11, -1, records(t, 100, nil), kerr.MessageTooLarge, -1},
		{"no key into a compacted topic", "compacted", 11, -1, built(t, keyless), kerr.InvalidRecord, 0},
		{"two hours ahead", "plain", 11, -1, built(t, late), kerr.InvalidTimestamp, 0},
		{"zstd from an old client", "plain", 6, -1, records(t, 1, func(b *batch.Builder) { b.Codec = batch.Zstd }), kerr.UnsupportedCompressionType, -1},
		{"transactional without an id or a producer", "plain", 11, -1, with(func(b []byte) []byte { b[22] |= 16; batch.Batch(b).FixCRC(); return b }), kerr.TransactionalIDAuthorizationFailed, -1},
		{"unknown codec", "plain", 11, -1, with(func(b []byte) []byte { b[22] |= 5; batch.Batch(b).FixCRC(); return b }), kerr.UnsupportedCompressionType, 0},
		{"unknown codec from an old client", "plain", 6, -1, with(func(b []byte) []byte { b[22] |= 5; batch.Batch(b).FixCRC(); return b }), kerr.UnsupportedCompressionType, -1},
		{"a negative sequence", "plain", 11, -1, records(t, 1, func(b *batch.Builder) {
			b.ProducerID, b.ProducerEpoch, b.BaseSequence = 1, 0, -5
		}), kerr.InvalidRecord, 0},
		{"transactional without an id", "plain", 11, -1, records(t, 1, func(b *batch.Builder) {
			b.Transactional, b.ProducerID, b.ProducerEpoch, b.BaseSequence = true, 1, 0, 0
		}), kerr.TransactionalIDAuthorizationFailed, -1},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := c.Do(produceRequest(x.version, x.acks, x.topic, 0, x.records)).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
			if p.ErrorCode != x.want.Code {
				t.Fatalf("error %d, want %d (%s)", p.ErrorCode, x.want.Code, x.want.Message)
			}
			if p.BaseOffset != -1 {
				t.Errorf("base offset %d beside an error", p.BaseOffset)
			}
			if p.LogStartOffset != x.logStart {
				t.Errorf("log start offset %d, want %d", p.LogStartOffset, x.logStart)
			}
		})
	}
	for _, topic := range []string{"plain", "compacted", "small"} {
		if p := produce(c, topic, records(t, 1, nil)); p.ErrorCode != 0 || p.BaseOffset != 0 {
			t.Errorf("%s: error %d, offset %d after the refusals; nothing may have been appended", topic, p.ErrorCode, p.BaseOffset)
		}
	}
}

func TestRecordErrorsNameTheRecord(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("compacted", 1, "cleanup.policy", "compact")
	for _, codec := range []batch.Codec{batch.None, batch.Gzip} { // inline, and on a worker
		b := batch.NewBuilder()
		b.Codec = codec
		b.Add(time.Now().UnixMilli(), []byte("k"), []byte("v"))
		b.Add(time.Now().UnixMilli(), nil, []byte("v"))
		p := produce(c, "compacted", built(t, b))
		if p.ErrorCode != kerr.InvalidRecord.Code || len(p.ErrorRecords) != 1 || p.ErrorRecords[0].RelativeOffset != 1 {
			t.Errorf("%v: error %d, records %+v; want 87 for record 1", codec, p.ErrorCode, p.ErrorRecords)
		}
		if p.ErrorMessage == nil || *p.ErrorMessage == "" {
			t.Errorf("%v: no message", codec)
		}
	}
}

func TestAcksZeroIsNotAnswered(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("t", 1)
	c.Send(produceRequest(11, 0, "t", 0, records(t, 2, nil)))
	if p := produce(c, "t", records(t, 1, nil)); p.ErrorCode != 0 || p.BaseOffset != 2 {
		t.Fatalf("error %d, offset %d; the batch with acks=0 comes first", p.ErrorCode, p.BaseOffset)
	}
	c.Send(produceRequest(11, 0, "nowhere", 7, records(t, 1, nil)))
	c.ExpectClosed()
}

func TestIdempotentRetriesAreRecognised(t *testing.T) {
	n := brokertest.Start(t, nil)
	c := n.Dial(t)
	c.CreateTopic("t", 1)
	send := func(epoch int16, sequence int32) (int64, int16) {
		p := produce(c, "t", records(t, 2, func(b *batch.Builder) {
			b.ProducerID, b.ProducerEpoch, b.BaseSequence = 7, epoch, sequence
		}))
		if p.LogStartOffset != 0 {
			t.Errorf("sequence %d: error %d with log start offset %d, want 0", sequence, p.ErrorCode, p.LogStartOffset)
		}
		return p.BaseOffset, p.ErrorCode
	}
	for i := range int32(6) {
		if at, code := send(0, 2*i); code != 0 || at != int64(2*i) {
			t.Fatalf("sequence %d: offset %d, error %d", 2*i, at, code)
		}
	}
	check := func(when string) {
		t.Helper()
		for i := int32(1); i < 6; i++ { // the last five
			if at, code := send(0, 2*i); code != 0 || at != int64(2*i) {
				t.Errorf("%s: retry of sequence %d: offset %d, error %d; want its first offset", when, 2*i, at, code)
			}
		}
		for _, x := range []struct {
			what     string
			epoch    int16
			sequence int32
			want     *kerr.Error
		}{
			{"the sixth last", 0, 0, kerr.OutOfOrderSequenceNumber},
			{"a gap", 0, 20, kerr.OutOfOrderSequenceNumber},
			{"half an overlap", 0, 11, kerr.OutOfOrderSequenceNumber},
			{"a new epoch that does not start at 0", 1, 12, kerr.OutOfOrderSequenceNumber},
		} {
			if _, code := send(x.epoch, x.sequence); code != x.want.Code {
				t.Errorf("%s: %s: error %d, want %d", when, x.what, code, x.want.Code)
			}
		}
	}
	check("running")
	n.Restart(t)
	c = n.Dial(t)
	check("after a restart")
	if at, code := send(1, 0); code != 0 || at != 12 {
		t.Errorf("new epoch: offset %d, error %d", at, code)
	}
	if _, code := send(0, 12); code != kerr.InvalidProducerEpoch.Code {
		t.Errorf("old epoch: error %d, want %d", code, kerr.InvalidProducerEpoch.Code)
	}
}

func TestLogAppendTimeIsTheBrokers(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("append", 1, "message.timestamp.type", "LogAppendTime")
	c.CreateTopic("create", 1)
	before := time.Now().UnixMilli()
	old := batch.NewBuilder()
	old.Add(1000, []byte("k"), []byte("v"))
	recs := built(t, old)
	if p := produce(c, "append", recs); p.LogAppendTime < before {
		t.Errorf("log append time %d, want the broker's, from %d on", p.LogAppendTime, before)
	}
	if p := produce(c, "create", recs); p.LogAppendTime != -1 {
		t.Errorf("log append time %d with CreateTime, want -1", p.LogAppendTime)
	}
	got := batch.Batch(fetchOne(c, "append", 0).RecordBatches)
	if !got.IsLogAppendTime() || got.MaxTimestamp() < before || !got.ValidCRC() {
		t.Errorf("stored batch: log append time %v, max timestamp %d, CRC valid %v", got.IsLogAppendTime(), got.MaxTimestamp(), got.ValidCRC())
	}

	// A client that claims the broker's stamp: refused where the broker does stamp, the
	// claim dropped where it does not.
	batch.Batch(recs).SetLogAppendTime(1000)
	if p := produce(c, "append", recs); p.ErrorCode != kerr.InvalidTimestamp.Code || len(p.ErrorRecords) != 1 {
		t.Errorf("claimed stamp: error %d with %d records, want %d with 1", p.ErrorCode, len(p.ErrorRecords), kerr.InvalidTimestamp.Code)
	}
	if p := produce(c, "create", recs); p.ErrorCode != 0 || p.BaseOffset != 1 {
		t.Fatalf("claimed stamp with CreateTime: error %d, offset %d", p.ErrorCode, p.BaseOffset)
	}
	got = batch.Batch(fetchOne(c, "create", 1).RecordBatches)
	if got.IsLogAppendTime() || got.MaxTimestamp() != 1000 || !got.ValidCRC() {
		t.Errorf("stored batch: log append time %v, max timestamp %d, CRC valid %v", got.IsLogAppendTime(), got.MaxTimestamp(), got.ValidCRC())
	}
}

func TestATopicsCompressionTypeIsApplied(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	for _, x := range []struct {
		configured string
		want       batch.Codec
	}{{"gzip", batch.Gzip}, {"snappy", batch.Snappy}, {"lz4", batch.LZ4}, {"zstd", batch.Zstd}, {"uncompressed", batch.None}, {"producer", batch.Snappy}} {
		topic := "c-" + x.configured
		c.CreateTopic(topic, 1, "compression.type", x.configured)
		if p := produce(c, topic, records(t, 50, func(b *batch.Builder) { b.Codec = batch.Snappy })); p.ErrorCode != 0 {
			t.Fatalf("%s: error %d", topic, p.ErrorCode)
		}
		got := batch.Batch(fetchOne(c, topic, 0).RecordBatches)
		n := 0
		if err := batch.ForEach(got, 1<<20, func(*batch.Record) error { n++; return nil }); err != nil || n != 50 || got.Codec() != x.want {
			t.Errorf("%s: codec %v with %d records (%v), want %v with 50", topic, got.Codec(), n, err, x.want)
		}
	}
}

// A batch that needs a worker must not be overtaken by one that does not.
func TestBatchesOfAConnectionKeepTheirOrder(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("slow", 1, "compression.type", "zstd")
	const n = 40
	for i := range n {
		codec := batch.None // needs compression: a worker
		if i%2 == 1 {
			codec = batch.Zstd // does not
		}
		c.Send(produceRequest(11, -1, "slow", 0, records(t, 1+i%3, func(b *batch.Builder) {
			b.Codec, b.ProducerID, b.ProducerEpoch, b.BaseSequence = codec, 5, 0, sequenceOf(i)
		})))
	}
	for i := range n {
		p := c.Receive(produceRequest(11, -1, "slow", 0, nil)).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if p.ErrorCode != 0 || p.BaseOffset != int64(sequenceOf(i)) {
			t.Fatalf("batch %d: error %d, offset %d, want %d", i, p.ErrorCode, p.BaseOffset, sequenceOf(i))
		}
	}
}

// sequenceOf is the sum of 1+k%3 for k below i.
func sequenceOf(i int) int32 {
	s := int32(0)
	for k := range i {
		s += int32(1 + k%3)
	}
	return s
}
