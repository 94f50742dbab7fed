package batch

import "fmt"

// RecordIter walks the records of a batch. It is for one goroutine.
type RecordIter struct {
	rest  []byte
	count int32 // records still to come, by the header
	rec   Record
	err   error
	buf   *[]byte // decompressed bytes, nil if the batch is not compressed
}

// Records starts a walk over the records, decompressing at most limit bytes:
// beyond it the error is ErrBomb, and no more memory than that was used. The
// records are views that live until Close, which must be called.
func Records(b Batch, limit int) (*RecordIter, error) {
	it := &RecordIter{rest: b.Records(), count: b.Count()}
	if c := b.Codec(); c != None {
		buf, err := decompress(c, it.rest, limit)
		if err != nil {
			return nil, err
		}
		it.rest, it.buf = *buf, buf
	}
	if int64(it.count)*minRecordSize > int64(len(it.rest)) || it.count < 0 {
		it.Close()
		return nil, fmt.Errorf("%w: %d records in %d bytes", ErrInvalidRecord, b.Count(), len(it.rest))
	}
	return it, nil
}

// Next moves to the next record. It is false at the end and after an error.
func (it *RecordIter) Next() bool {
	if it.count == 0 || it.err != nil {
		if it.err == nil && len(it.rest) != 0 {
			it.err = fmt.Errorf("%w: %d bytes after the last record", ErrInvalidRecord, len(it.rest))
		}
		return false
	}
	rec, size, err := readRecord(it.rest)
	if err != nil {
		it.err = err
		return false
	}
	it.rec, it.rest = rec, it.rest[size:]
	it.count--
	return true
}

// Record is the record Next moved to; the pointer is valid until the next Next.
func (it *RecordIter) Record() *Record { return &it.rec }

// Err is why Next stopped, nil at the regular end.
func (it *RecordIter) Err() error { return it.err }

// Close gives the decompressed bytes back.
func (it *RecordIter) Close() {
	if it.buf != nil {
		putBuffer(it.buf)
		it.buf = nil
	}
	it.rest, it.count, it.rec = nil, 0, Record{}
}

// ForEach calls f with each record, which is valid during the call. limit is as
// for Records. It ends with the first error.
func ForEach(b Batch, limit int, f func(*Record) error) error {
	it, err := Records(b, limit)
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
		if err := f(it.Record()); err != nil {
			return err
		}
	}
	return it.Err()
}
