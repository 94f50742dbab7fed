package segment

import (
	"errors"

	"millrace/segment/producer"
)

// Errors a caller acts on. Others are failures of the machine and carry operation, file and position.
var (
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrWouldBlock: Read with block == false would have to wait for the disk.
	ErrWouldBlock = errors.New("read would block")
	ErrDirOffline = errors.New("log dir offline")
	// ErrDirInUse: another process, or this one by another path, has the log dir.
	ErrDirInUse = errors.New("in use by another process, which holds its .lock")
	// ErrForeignDir: the log dir belongs to another node, cluster or version.
	ErrForeignDir = errors.New("belongs to another")
	// ErrNoSpace: the disk is full; it passes as soon as there is space.
	ErrNoSpace = errors.New("no space in log dir")
	ErrClosed  = errors.New("log closed")
	// ErrBusy: the slab budget is used up by batches that wait for the disk; it passes as they are written.
	ErrBusy = errors.New("write buffers exhausted")
	// ErrCorrupt: the asked range of the log is damaged. It comes wrapped with file and positions.
	ErrCorrupt = errors.New("corrupt log")
	// ErrBatchTooLarge: the batch does not fit into a segment.
	ErrBatchTooLarge = errors.New("batch larger than segment.bytes")
	// ErrInvalidBatch: the bytes given to Append are not one whole batch.
	ErrInvalidBatch = errors.New("invalid batch")

	// ErrSegmentGone: a segment that compaction works on was deleted, cut or closed meanwhile.
	ErrSegmentGone = errors.New("segment gone")

	ErrOutOfOrderSequence   = producer.ErrOutOfOrderSequence
	ErrInvalidProducerEpoch = producer.ErrInvalidProducerEpoch
	ErrInvalidTxnState      = producer.ErrInvalidTxnState
	ErrCoordinatorFenced    = producer.ErrCoordinatorFenced
)

// errReplaced: compaction has replaced the segment under a reader, which looks up its place anew.
var errReplaced = errors.New("segment replaced")
