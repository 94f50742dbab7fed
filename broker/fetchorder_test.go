package broker_test

import (
	"testing"

	"millrace/broker/brokertest"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A fetch that waits behind a control request of its connection parks like any other, also if records arrive in that
// very moment. It is answered, and (under the race detector) by one goroutine at a time.
func TestAFetchBehindAControlRequestParks(t *testing.T) {
	n := brokertest.Start(t, nil)
	c, p := n.Dial(t), n.Dial(t)
	c.CreateTopic("t", 1)
	recs := records(t, 1, nil)
	const rounds = 200
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range rounds {
			p.Send(produceRequest(9, -1, "t", 0, recs))
			p.Receive(produceRequest(9, -1, "t", 0, nil))
		}
	}()
	for offset := int64(0); offset < rounds; offset++ {
		meta, fetch := kmsg.NewPtrMetadataRequest(), fetchRequest(fetchPart{topic: "t", offset: offset})
		meta.Version, fetch.MaxWaitMillis = 9, 10_000
		c.SendRaw(append(c.Frame(meta), c.Frame(fetch)...))
		c.Receive(meta)
		if part := c.Receive(fetch).(*kmsg.FetchResponse).Topics[0].Partitions[0]; part.ErrorCode != 0 || len(part.RecordBatches) == 0 {
			t.Fatalf("offset %d: error %d, %d bytes", offset, part.ErrorCode, len(part.RecordBatches))
		}
	}
	<-done
}
