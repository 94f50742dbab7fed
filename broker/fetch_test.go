package broker_test

import (
	"context"
	"testing"
	"time"

	"millrace/broker/brokertest"
	"millrace/segment/batch"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type fetchPart struct {
	topic  string
	index  int32
	offset int64
	max    int32
}

func fetchRequest(parts ...fetchPart) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 12, 0, 1, 1<<20, -1
	req.ReplicaID = -1
	for _, x := range parts {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = x.index, x.offset, x.max, -1
		if x.max == 0 {
			p.PartitionMaxBytes = 1 << 20
		}
		rt := kmsg.NewFetchRequestTopic()
		rt.Topic, rt.Partitions = x.topic, []kmsg.FetchRequestTopicPartition{p}
		req.Topics = append(req.Topics, rt)
	}
	return req
}

// fetchOne reads partition 0 of a topic from offset on.
func fetchOne(c *brokertest.Conn, topic string, offset int64) kmsg.FetchResponseTopicPartition {
	return c.Do(fetchRequest(fetchPart{topic: topic, offset: offset})).(*kmsg.FetchResponse).Topics[0].Partitions[0]
}

func TestFetchReturnsTheWholeBatchThatHoldsTheOffset(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("t", 1)
	produce(c, "t", records(t, 10, nil))
	p := fetchOne(c, "t", 5)
	if b := batch.Batch(p.RecordBatches); len(b) < batch.HeaderSize || b.BaseOffset() != 0 || b.Count() != 10 || !b.ValidCRC() {
		t.Fatalf("%d bytes, want the batch 0..9", len(b))
	}
	if p.HighWatermark != 10 || p.LastStableOffset != 10 || p.LogStartOffset != 0 {
		t.Fatalf("high watermark %d, last stable %d, log start %d", p.HighWatermark, p.LastStableOffset, p.LogStartOffset)
	}
}

func TestTheFirstBatchComesWholeWhateverTheLimits(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("a", 1)
	c.CreateTopic("b", 1)
	recs := records(t, 20, nil)
	for range 3 {
		produce(c, "a", recs)
		produce(c, "b", recs)
	}
	req := fetchRequest(fetchPart{topic: "a", max: 1}, fetchPart{topic: "b", max: 1})
	req.MaxBytes = 1
	resp := c.Do(req).(*kmsg.FetchResponse)
	if n := len(resp.Topics[0].Partitions[0].RecordBatches); n != len(recs) {
		t.Errorf("first partition: %d bytes, want the first batch of %d", n, len(recs))
	}
	if n := len(resp.Topics[1].Partitions[0].RecordBatches); n != 0 {
		t.Errorf("second partition: %d bytes, want none: only one batch may pass the limit", n)
	}
}

// A consumer that is given part of a batch and nothing else fails (Java: "Failed to make progress"). Kafka gives such a
// partition nothing, from Fetch version 3 on.
func TestABatchThatDoesNotFitBehindOthersIsLeftOut(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("a", 1)
	c.CreateTopic("b", 1)
	recs := records(t, 20, nil)
	produce(c, "a", recs)
	for range 2 {
		produce(c, "b", recs)
	}
	for name, test := range map[string]struct {
		request, partition int
		want               int
	}{
		"limit of the request":     {2*len(recs) - 1, 1 << 20, 0},
		"limit of the partition":   {1 << 20, len(recs) - 1, 0},
		"one that fits":            {2 * len(recs), 1 << 20, len(recs)},
		"part of what comes after": {1 << 20, len(recs) + 100, len(recs) + 100},
	} {
		req := fetchRequest(fetchPart{topic: "a"}, fetchPart{topic: "b", max: int32(test.partition)})
		req.MaxBytes, req.MinBytes, req.MaxWaitMillis = int32(test.request), 1<<20, 15_000
		if test.want == len(recs) { // nothing is held back by a limit: it would wait
			req.MinBytes = 1
		}
		start := time.Now()
		resp := c.Do(req).(*kmsg.FetchResponse)
		if n := len(resp.Topics[1].Partitions[0].RecordBatches); n != test.want {
			t.Errorf("%s: %d bytes of the second partition, want %d", name, n, test.want)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: answered after %v; waiting cannot make it fit", name, took)
		}
	}
}

func TestFetchErrorsArePerPartition(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("t", 1)
	produce(c, "t", records(t, 3, nil))
	req := fetchRequest(fetchPart{topic: "t"}, fetchPart{topic: "t", offset: 4}, fetchPart{topic: "t", offset: -1}, fetchPart{topic: "nowhere"}, fetchPart{topic: "t", index: 9}, fetchPart{topic: "t", offset: 3})
	epochs := fetchRequest(fetchPart{topic: "t"})
	epochs.Topics[0].Partitions[0].CurrentLeaderEpoch = 5
	resp := c.Do(req).(*kmsg.FetchResponse)
	for i, want := range []int16{0, kerr.OffsetOutOfRange.Code, kerr.OffsetOutOfRange.Code, kerr.UnknownTopicOrPartition.Code, kerr.UnknownTopicOrPartition.Code, 0} {
		var got []kmsg.FetchResponseTopicPartition
		for _, rt := range resp.Topics {
			got = append(got, rt.Partitions...)
		}
		if got[i].ErrorCode != want {
			t.Errorf("partition %d: error %d, want %d", i, got[i].ErrorCode, want)
		}
		if wantList := want == kerr.UnknownTopicOrPartition.Code; (got[i].AbortedTransactions != nil) != wantList {
			t.Errorf("partition %d: aborted transactions %v with error %d; want an empty list: %v", i, got[i].AbortedTransactions, want, wantList)
		}
		if want == kerr.OffsetOutOfRange.Code && (got[i].HighWatermark != -1 || got[i].LastStableOffset != -1 || got[i].LogStartOffset != -1) {
			t.Errorf("partition %d: bounds %d %d %d beside OFFSET_OUT_OF_RANGE, want -1", i, got[i].HighWatermark, got[i].LastStableOffset, got[i].LogStartOffset)
		}
	}
	if p := c.Do(epochs).(*kmsg.FetchResponse).Topics[0].Partitions[0]; p.ErrorCode != kerr.UnknownLeaderEpoch.Code {
		t.Errorf("newer leader epoch: error %d, want %d", p.ErrorCode, kerr.UnknownLeaderEpoch.Code)
	}
}

func TestAFetchPastAnUnknownEpochIsOutOfRange(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("t", 1)
	produce(c, "t", records(t, 3, nil))
	for _, offset := range []int64{0, 3, 20} {
		req := fetchRequest(fetchPart{topic: "t", offset: offset})
		req.Topics[0].Partitions[0].LastFetchedEpoch = 5
		p := c.Do(req).(*kmsg.FetchResponse).Topics[0].Partitions[0]
		if p.ErrorCode != kerr.OffsetOutOfRange.Code || p.HighWatermark != -1 || p.LastStableOffset != -1 || p.LogStartOffset != -1 {
			t.Errorf("from %d: error %d with bounds %d %d %d, want %d and -1", offset, p.ErrorCode, p.HighWatermark, p.LastStableOffset, p.LogStartOffset, kerr.OffsetOutOfRange.Code)
		}
	}
}

func TestWhoMayNotReadIsToldTheLeader(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	id := c.CreateTopic("t", 1)
	for version, want := range map[int16]int32{15: -1, 16: 1, 17: 1} {
		req := fetchRequest(fetchPart{topic: "t"})
		req.Version, req.Topics[0].TopicID, req.ReplicaState.ID = version, id, 7
		p := c.Do(req).(*kmsg.FetchResponse).Topics[0].Partitions[0]
		if p.ErrorCode != kerr.NotLeaderForPartition.Code || p.CurrentLeader.LeaderID != want {
			t.Errorf("v%d as a replica: error %d, leader %d; want %d, %d", version, p.ErrorCode, p.CurrentLeader.LeaderID, kerr.NotLeaderForPartition.Code, want)
		}
	}
}

func TestALongPollWaitsForData(t *testing.T) {
	n := brokertest.Start(t, nil)
	c, producer := n.Dial(t), n.Dial(t)
	c.CreateTopic("t", 1)
	req := fetchRequest(fetchPart{topic: "t"})
	req.MaxWaitMillis = 15_000
	start := time.Now()
	c.Send(req)
	produce(producer, "t", records(t, 1, nil))
	p := c.Receive(req).(*kmsg.FetchResponse).Topics[0].Partitions[0]
	if len(p.RecordBatches) == 0 || time.Since(start) > 10*time.Second {
		t.Fatalf("%d bytes after %v, want the batch as it comes", len(p.RecordBatches), time.Since(start))
	}
}

func TestALongPollEndsWithItsTime(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("t", 1)
	produce(c, "t", records(t, 1, nil))
	req := fetchRequest(fetchPart{topic: "t"})
	req.MaxWaitMillis, req.MinBytes = 200, 1<<20
	start := time.Now()
	p := c.Do(req).(*kmsg.FetchResponse).Topics[0].Partitions[0]
	if took := time.Since(start); took < 200*time.Millisecond || len(p.RecordBatches) == 0 {
		t.Fatalf("%d bytes after %v, want what there is after 200 ms", len(p.RecordBatches), took)
	}
	req.MinBytes = 0
	req.Topics[0].Partitions[0].FetchOffset = 1
	req.MaxWaitMillis = 15_000
	start = time.Now()
	c.Do(req)
	if took := time.Since(start); took > 5*time.Second {
		t.Fatalf("answered after %v; with min_bytes 0 it does not wait", took)
	}
}

func TestAParkedFetchHoldsBackWhatComesBehindIt(t *testing.T) {
	n := brokertest.Start(t, nil)
	c := n.Dial(t)
	c.CreateTopic("t", 1)
	fetch, versions := fetchRequest(fetchPart{topic: "t"}), kmsg.NewPtrApiVersionsRequest()
	fetch.MaxWaitMillis = 300
	c.Send(fetch)
	c.Send(versions)
	if p := c.Receive(fetch).(*kmsg.FetchResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 {
		t.Fatalf("fetch: error %d", p.ErrorCode)
	}
	if v := c.Receive(versions).(*kmsg.ApiVersionsResponse); len(v.ApiKeys) == 0 {
		t.Fatal("no versions behind the fetch")
	}
}

func TestFetchSessions(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("a", 1)
	c.CreateTopic("b", 1)
	produce(c, "a", records(t, 1, nil))

	open := fetchRequest(fetchPart{topic: "a"}, fetchPart{topic: "b"})
	open.SessionEpoch = 0
	first := c.Do(open).(*kmsg.FetchResponse)
	if first.SessionID == 0 || len(first.Topics) != 2 {
		t.Fatalf("session %d with %d topics, want a session and both topics", first.SessionID, len(first.Topics))
	}
	next := fetchRequest(fetchPart{topic: "a", offset: 1})
	next.SessionID, next.SessionEpoch = first.SessionID, 1
	if r := c.Do(next).(*kmsg.FetchResponse); r.ErrorCode != 0 || len(r.Topics) != 0 {
		t.Fatalf("error %d with %d topics, want none: nothing changed", r.ErrorCode, len(r.Topics))
	}
	produce(c, "b", records(t, 1, nil))
	next = fetchRequest()
	next.SessionID, next.SessionEpoch = first.SessionID, 2
	if r := c.Do(next).(*kmsg.FetchResponse); len(r.Topics) != 1 || r.Topics[0].Topic != "b" {
		t.Fatalf("topics %+v, want b only", r.Topics)
	}
	if r := c.Do(next).(*kmsg.FetchResponse); r.ErrorCode != kerr.InvalidFetchSessionEpoch.Code {
		t.Errorf("the same epoch again: error %d, want %d", r.ErrorCode, kerr.InvalidFetchSessionEpoch.Code)
	}
	next.SessionID = first.SessionID ^ 1
	if r := c.Do(next).(*kmsg.FetchResponse); r.ErrorCode != kerr.FetchSessionIDNotFound.Code {
		t.Errorf("unknown session: error %d, want %d", r.ErrorCode, kerr.FetchSessionIDNotFound.Code)
	}
}

func TestAFetchSessionMayBeginWithoutPartitions(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("t", 1)
	open := fetchRequest()
	open.SessionEpoch = 0
	first := c.Do(open).(*kmsg.FetchResponse)
	if first.ErrorCode != 0 || first.SessionID == 0 {
		t.Fatalf("error %d, session %d, want a session", first.ErrorCode, first.SessionID)
	}
	next := fetchRequest(fetchPart{topic: "t"})
	next.SessionID, next.SessionEpoch = first.SessionID, 1
	if r := c.Do(next).(*kmsg.FetchResponse); r.ErrorCode != 0 || len(r.Topics) != 1 || r.SessionID != first.SessionID {
		t.Fatalf("error %d, session %d with %d topics, want the topic in the session", r.ErrorCode, r.SessionID, len(r.Topics))
	}
}

func TestDeletedTopicsAreUnknownByID(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	id := c.CreateTopic("t", 1)
	produce(c, "t", records(t, 5, nil))
	del := kmsg.NewPtrDeleteTopicsRequest()
	del.Version, del.TimeoutMillis = 5, 10_000
	del.TopicNames = []string{"t"}
	if r := c.Do(del).(*kmsg.DeleteTopicsResponse); r.Topics[0].ErrorCode != 0 {
		t.Fatalf("delete: error %d", r.Topics[0].ErrorCode)
	}
	next := c.CreateTopic("t", 1)
	if next == id {
		t.Fatal("the new topic has the old id")
	}
	req := fetchRequest(fetchPart{topic: "t"})
	req.Version = 13
	req.Topics[0].TopicID = id
	if p := c.Do(req).(*kmsg.FetchResponse).Topics[0].Partitions[0]; p.ErrorCode != kerr.UnknownTopicID.Code {
		t.Errorf("old id: error %d, want %d", p.ErrorCode, kerr.UnknownTopicID.Code)
	}
	if p := fetchOne(c, "t", 0); p.ErrorCode != 0 || p.HighWatermark != 0 || len(p.RecordBatches) != 0 {
		t.Errorf("new topic: error %d, high watermark %d, %d bytes; want it empty", p.ErrorCode, p.HighWatermark, len(p.RecordBatches))
	}
}

func TestWaitsEndWithTheConnection(t *testing.T) {
	n := brokertest.Start(t, nil)
	admin := n.Dial(t)
	admin.CreateTopic("t", 1)
	for range 50 {
		c := n.Dial(t)
		req := fetchRequest(fetchPart{topic: "t"})
		req.MaxWaitMillis = 3_600_000
		c.Send(req)
		c.Send(kmsg.NewPtrApiVersionsRequest())
		c.Close()
	}
	deadline := time.Now().Add(15 * time.Second)
	for n.ParkedFetches() != 0 || n.Connections() > 1 {
		if time.Now().After(deadline) {
			t.Fatalf("%d fetches wait for %d connections", n.ParkedFetches(), n.Connections())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A client may be ready to wait for an hour, a shutdown is not.
func TestAShutdownAnswersFetchesThatWait(t *testing.T) {
	n := brokertest.Start(t, nil)
	admin := n.Dial(t)
	admin.CreateTopic("t", 1)
	var waiting []*brokertest.Conn
	req := fetchRequest(fetchPart{topic: "t"})
	req.MaxWaitMillis = 3_600_000
	for range 50 {
		c := n.Dial(t)
		c.Send(req)
		waiting = append(waiting, c)
	}
	deadline := time.Now().Add(15 * time.Second)
	for n.ParkedFetches() < int64(len(waiting)) {
		if time.Now().After(deadline) {
			t.Fatalf("%d fetches wait", n.ParkedFetches())
		}
		time.Sleep(5 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	begun := time.Now()
	if err := n.Shutdown(ctx); err != nil {
		t.Fatalf("shutdown after %v: %v", time.Since(begun), err)
	}
	for _, c := range waiting {
		if p := c.Receive(req).(*kmsg.FetchResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 {
			t.Errorf("error %d, want an answer without records", p.ErrorCode)
		}
	}
}
