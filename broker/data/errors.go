package data

import (
	"errors"

	"millrace/replication"
	"millrace/segment"
	"millrace/segment/batch"

	"github.com/twmb/franz-go/pkg/kerr"
)

// errorCodes is the one place where what went wrong below becomes a code of the
// protocol. The first match counts.
var errorCodes = []struct {
	err  error
	code *kerr.Error
}{
	{segment.ErrOffsetOutOfRange, kerr.OffsetOutOfRange},
	{segment.ErrOutOfOrderSequence, kerr.OutOfOrderSequenceNumber},
	{segment.ErrInvalidProducerEpoch, kerr.InvalidProducerEpoch},
	{segment.ErrBusy, kerr.RequestTimedOut}, // retried, and no reason to ask for metadata
	{segment.ErrBatchTooLarge, kerr.RecordListTooLarge},
	{segment.ErrNoSpace, kerr.KafkaStorageError},
	{segment.ErrDirOffline, kerr.KafkaStorageError},
	{segment.ErrCorrupt, kerr.CorruptMessage}, // no replica has it better: asking again is no use
	{segment.ErrClosed, kerr.NotLeaderForPartition},
	{replication.ErrNotLeader, kerr.NotLeaderForPartition},
	{replication.ErrFencedLeaderEpoch, kerr.FencedLeaderEpoch},
	{replication.ErrUnknownLeaderEpoch, kerr.UnknownLeaderEpoch},
	{batch.ErrCorrupt, kerr.CorruptMessage},
	{batch.ErrTooLarge, kerr.MessageTooLarge},
	{batch.ErrInvalidRecord, kerr.InvalidRecord},
	{batch.ErrInvalidTimestamp, kerr.InvalidTimestamp},
	{batch.ErrUnsupportedCodec, kerr.UnsupportedCompressionType},
}

// ErrorCode is the protocol's code for an error of the layers below. What none of
// the rows names is a failure of the machine: KAFKA_STORAGE_ERROR, which clients
// retry.
func ErrorCode(err error) int16 {
	if err == nil {
		return 0
	}
	var protocol *kerr.Error
	if errors.As(err, &protocol) {
		return protocol.Code
	}
	for _, m := range errorCodes {
		if errors.Is(err, m.err) {
			return m.code.Code
		}
	}
	return kerr.KafkaStorageError.Code
}
