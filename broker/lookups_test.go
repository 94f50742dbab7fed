package broker_test

import (
	"testing"

	"millrace/broker/brokertest"
	"millrace/segment/batch"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func listOffsets(c *brokertest.Conn, version int16, topic string, timestamp int64) kmsg.ListOffsetsResponseTopicPartition {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = version, -1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp, p.CurrentLeaderEpoch = timestamp, -1
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic, rt.Partitions = topic, []kmsg.ListOffsetsRequestTopicPartition{p}
	req.Topics = append(req.Topics, rt)
	return c.Do(req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
}

func TestListOffsetsFindsTheRecordNotTheBatch(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("t", 1)
	c.CreateTopic("empty", 1)
	for _, codec := range []batch.Codec{batch.None, batch.Zstd} {
		b := batch.NewBuilder()
		b.Codec = codec
		for _, ts := range []int64{1000, 3000, 2000, 5000} {
			b.Add(ts, []byte("k"), []byte("v"))
		}
		produce(c, "t", built(t, b))
	}
	for _, x := range []struct {
		what             string
		version          int16
		topic            string
		timestamp        int64
		code             int16
		offset, recordTs int64
	}{
		{"latest", 11, "t", -1, 0, 8, -1},
		{"earliest", 11, "t", -2, 0, 0, -1},
		{"largest timestamp", 11, "t", -3, 0, 3, 5000},
		{"earliest local", 11, "t", -4, 0, 0, -1},
		{"latest tiered", 11, "t", -5, 0, -1, -1},
		{"pending upload", 11, "t", -6, 0, -1, -1},
		{"unknown special", 11, "t", -7, kerr.UnsupportedVersion.Code, -1, -1},
		{"largest timestamp before its version", 6, "t", -3, kerr.UnsupportedVersion.Code, -1, -1},
		{"exact", 11, "t", 3000, 0, 1, 3000},
		{"between", 11, "t", 3001, 0, 3, 5000},
		{"before all", 11, "t", 0, 0, 0, 1000},
		{"after all", 11, "t", 5001, 0, -1, -1},
		{"empty topic by time", 11, "empty", 5, 0, -1, -1},
		{"empty topic, largest timestamp", 11, "empty", -3, 0, -1, -1},
		{"unknown topic", 11, "nowhere", -1, kerr.UnknownTopicOrPartition.Code, -1, -1},
	} {
		if p := listOffsets(c, x.version, x.topic, x.timestamp); p.ErrorCode != x.code || p.Offset != x.offset || p.Timestamp != x.recordTs {
			t.Errorf("%s: error %d, offset %d, timestamp %d; want %d, %d, %d", x.what, p.ErrorCode, p.Offset, p.Timestamp, x.code, x.offset, x.recordTs)
		}
	}
}

func TestDeleteRecordsMovesTheLogStart(t *testing.T) {
	n := brokertest.Start(t, nil)
	c := n.Dial(t)
	c.CreateTopic("t", 1)
	for range 3 {
		produce(c, "t", records(t, 10, nil))
	}
	deleteTo := func(offset int64) kmsg.DeleteRecordsResponseTopicPartition {
		req := kmsg.NewPtrDeleteRecordsRequest()
		req.Version, req.TimeoutMillis = 2, 10_000
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Offset = offset
		rt := kmsg.NewDeleteRecordsRequestTopic()
		rt.Topic, rt.Partitions = "t", []kmsg.DeleteRecordsRequestTopicPartition{p}
		req.Topics = append(req.Topics, rt)
		return c.Do(req).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
	}
	if p := deleteTo(31); p.ErrorCode != kerr.OffsetOutOfRange.Code {
		t.Errorf("beyond the high watermark: error %d", p.ErrorCode)
	}
	if p := deleteTo(15); p.ErrorCode != 0 || p.LowWatermark != 15 {
		t.Fatalf("error %d, low watermark %d", p.ErrorCode, p.LowWatermark)
	}
	check := func(when string) {
		if p := fetchOne(c, "t", 14); p.ErrorCode != kerr.OffsetOutOfRange.Code {
			t.Errorf("%s: deleted offset: error %d", when, p.ErrorCode)
		}
		if p := fetchOne(c, "t", 15); p.ErrorCode != 0 || p.LogStartOffset != 15 || batch.Batch(p.RecordBatches).BaseOffset() != 10 {
			t.Errorf("%s: error %d, log start %d; want the whole batch that holds offset 15", when, p.ErrorCode, p.LogStartOffset)
		}
	}
	check("running")
	n.Restart(t)
	c = n.Dial(t)
	check("after a restart")
	if p := deleteTo(-1); p.ErrorCode != 0 || p.LowWatermark != 30 {
		t.Errorf("-1: error %d, low watermark %d, want the high watermark 30", p.ErrorCode, p.LowWatermark)
	}
}

func TestOffsetForLeaderEpoch(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("t", 1)
	produce(c, "t", records(t, 4, nil))
	for _, x := range []struct {
		current, asked int32
		code           int16
		epoch          int32
		end            int64
	}{
		{-1, 0, 0, 0, 4},
		{0, 0, 0, 0, 4},
		{-1, 5, 0, -1, -1},
		{3, 0, kerr.UnknownLeaderEpoch.Code, -1, -1},
	} {
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.Version, req.ReplicaID = 4, -2
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.CurrentLeaderEpoch, p.LeaderEpoch = x.current, x.asked
		rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
		rt.Topic, rt.Partitions = "t", []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}
		req.Topics = append(req.Topics, rt)
		got := c.Do(req).(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0]
		if got.ErrorCode != x.code || got.LeaderEpoch != x.epoch || got.EndOffset != x.end {
			t.Errorf("current %d asked %d: error %d, epoch %d, end %d; want %d, %d, %d", x.current, x.asked, got.ErrorCode, got.LeaderEpoch, got.EndOffset, x.code, x.epoch, x.end)
		}
	}
}

func TestDescribeProducersExplainsAMissingTopic(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("t", 1)
	req := kmsg.NewPtrDescribeProducersRequest()
	for _, name := range []string{"t", "none", "a/b"} {
		rt := kmsg.NewDescribeProducersRequestTopic()
		rt.Topic, rt.Partitions = name, []int32{0, 9}
		req.Topics = append(req.Topics, rt)
	}
	resp := c.Do(req).(*kmsg.DescribeProducersResponse)
	for i, want := range []struct {
		codes     [2]int16
		explained bool
	}{
		{[2]int16{0, kerr.UnknownTopicOrPartition.Code}, false},
		{[2]int16{kerr.UnknownTopicOrPartition.Code, kerr.UnknownTopicOrPartition.Code}, true},
		{[2]int16{kerr.InvalidTopicException.Code, kerr.InvalidTopicException.Code}, true},
	} {
		for j, p := range resp.Topics[i].Partitions {
			if p.ErrorCode != want.codes[j] || (p.ErrorMessage != nil) != want.explained {
				t.Errorf("%s-%d: error %d, message %v; want %d, a message: %v", resp.Topics[i].Topic, p.Partition, p.ErrorCode, p.ErrorMessage, want.codes[j], want.explained)
			}
		}
	}
}

func TestDescribeProducersAnswersEachPartitionOnce(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("t", 2)
	req := kmsg.NewPtrDescribeProducersRequest()
	rt := kmsg.NewDescribeProducersRequestTopic()
	rt.Topic, rt.Partitions = "t", []int32{0, 1, 0, 0, 1}
	req.Topics = append(req.Topics, rt, rt)
	resp := c.Do(req).(*kmsg.DescribeProducersResponse)
	if n := len(resp.Topics[0].Partitions) + len(resp.Topics[1].Partitions); n != 2 {
		t.Errorf("%d answers for two partitions", n)
	}
}

func TestAProducerHasBothIDAndEpochOrNeither(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	for _, x := range []struct {
		id    int64
		epoch int16
		want  int16
	}{{-1, -1, 0}, {5, 0, 0}, {5, -1, kerr.InvalidRequest.Code}, {-1, 0, kerr.InvalidRequest.Code}} {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.ProducerID, req.ProducerEpoch = 4, x.id, x.epoch
		resp := c.Do(req).(*kmsg.InitProducerIDResponse)
		if resp.ErrorCode != x.want || (resp.ProducerID >= 0) != (x.want == 0) {
			t.Errorf("id %d, epoch %d: error %d, producer id %d; want error %d", x.id, x.epoch, resp.ErrorCode, resp.ProducerID, x.want)
		}
	}
}

func TestDescribeGroupsBoundsWhatIsRepeated(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version = 5
	for range 10_000 {
		req.Groups = append(req.Groups, "g")
	}
	if n := len(c.Do(req).(*kmsg.DescribeGroupsResponse).Groups); n < 2 || n > 200 {
		t.Errorf("a group that is named 10,000 times is described %d times", n)
	}
}
