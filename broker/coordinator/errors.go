package coordinator

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

// ErrorCode is what a client of a coordinator is told about a failed append, as
// Kafka maps it: errors that another try at the same broker may cure become
// COORDINATOR_NOT_AVAILABLE, a broker that cannot write becomes NOT_COORDINATOR
// (so that the client looks for another), and a record that does not fit is our
// own fault. Anything but a protocol error is a failure of the storage.
func ErrorCode(err error) *kerr.Error {
	if err == nil {
		return nil
	}
	var ke *kerr.Error
	if !errors.As(err, &ke) {
		return kerr.NotCoordinator
	}
	switch ke {
	case kerr.UnknownTopicOrPartition, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut:
		return kerr.CoordinatorNotAvailable
	case kerr.NotLeaderForPartition, kerr.KafkaStorageError:
		return kerr.NotCoordinator
	case kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidFetchSize:
		return kerr.UnknownServerError
	}
	return ke
}
