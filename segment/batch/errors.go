package batch

import (
	"errors"
	"fmt"
)

// Why a batch is refused, named for the protocol error that each becomes at the
// broker's edge. They come wrapped with the reason.
var (
	// ErrCorrupt: CORRUPT_MESSAGE. The CRC is wrong, or lengths lie.
	ErrCorrupt = errors.New("corrupt batch")
	// ErrInvalidRecord: INVALID_RECORD. The bytes are whole but say what no producer
	// may say.
	ErrInvalidRecord = errors.New("invalid record")
	// ErrNotOneBatch is a record set with no batch in it, or with several. It is
	// ErrInvalidRecord, too.
	ErrNotOneBatch = fmt.Errorf("%w: not exactly one batch", ErrInvalidRecord)
	// ErrUnsupportedMagic is a message format before v2. Kafka 4.4 answers
	// INVALID_RECORD to it, so errors.Is(err, ErrInvalidRecord) holds, too.
	ErrUnsupportedMagic = fmt.Errorf("%w: unsupported magic", ErrInvalidRecord)
	// ErrUnsupportedCodec: UNSUPPORTED_COMPRESSION_TYPE.
	ErrUnsupportedCodec = errors.New("unsupported compression type")
	// ErrTooLarge: MESSAGE_TOO_LARGE.
	ErrTooLarge = errors.New("batch too large")
	// ErrInvalidTimestamp: INVALID_TIMESTAMP.
	ErrInvalidTimestamp = errors.New("invalid timestamp")
	// ErrBomb means that a batch decompresses to more than the limit. It is refused
	// like a batch that is too large.
	ErrBomb = fmt.Errorf("%w: decompresses beyond the limit", ErrTooLarge)
	// ErrShort means that the bytes end inside the batch.
	ErrShort = errors.New("batch is cut short")
)
