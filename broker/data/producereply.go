package data

import (
	"errors"

	"millrace/net/server"
	"millrace/net/wire"
	"millrace/replication"
	"millrace/segment/batch"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/valyala/bytebufferpool"
)

// encode makes the answer to a Produce request out of its results.
func (op *produceOp) encode() server.Part {
	buf := bytebufferpool.Get()
	var w wire.ProduceResponse
	w.Reset(buf.B, op.r.Header.APIVersion, op.r.Header.CorrelationID)
	w.BeginTopics(len(op.req.Topics))
	k := 0
	for i := range op.req.Topics {
		t := &op.req.Topics[i]
		w.BeginTopic(t.Name, t.TopicID, len(t.Partitions))
		for j := range t.Partitions {
			res := &op.results[k]
			p := wire.ProducePartitionResponse{
				Index:           t.Partitions[j].Index,
				ErrorCode:       res.err,
				BaseOffset:      res.baseOffset,
				LogAppendTimeMs: res.appendTimeMs,
				LogStartOffset:  res.logStart,
			}
			if res.err != 0 {
				res.explain(&p)
			}
			w.Partition(&p)
			k++
		}
		w.EndTopic()
	}
	buf.B = w.End(0, nil)
	return server.PooledPart(buf, 0)
}

// refuse notes that a batch for p was not appended. The log start is told with the
// errors that Kafka meets at the append, and not with those it meets before, or that
// cast doubt on the log.
func (res *produceResult) refuse(p *replication.Partition, err error) {
	res.err = ErrorCode(err)
	switch {
	case err == kerr.UnsupportedCompressionType, // by the version of the request
		errors.Is(err, batch.ErrNotOneBatch), errors.Is(err, batch.ErrUnsupportedMagic):
		return
	}
	switch res.err {
	case kerr.InvalidRecord.Code, kerr.InvalidTimestamp.Code, kerr.UnsupportedCompressionType.Code,
		kerr.OutOfOrderSequenceNumber.Code, kerr.InvalidProducerEpoch.Code:
		res.logStart = p.LogStartOffset()
	}
}

// explain adds what was wrong, as a whole and record by record (KIP-467).
func (res *produceResult) explain(p *wire.ProducePartitionResponse) {
	if res.message != "" {
		p.ErrorMessage = &res.message
	}
	for i := range res.records {
		e := &res.records[i]
		p.RecordErrors = append(p.RecordErrors, wire.RecordError{BatchIndex: int32(e.Index), Message: &e.Message})
	}
}
