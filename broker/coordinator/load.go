package coordinator

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"millrace/segment/batch"
)

// Load calls apply with every record of part that is in effect, in the order in
// which it came into effect: a plain record at its place, the records of a
// transaction at its commit marker. Blocking. key and value are views that live
// until apply returns.
//
// Load holds one batch at a time, whatever its size, and the records of
// transactions that are still open.
func Load(part Partition, apply func(key, value []byte) error) error {
	l := loader{apply: apply, open: map[int64][]Record{}}
	return part.ReadAll(l.batch)
}

type loader struct {
	apply func(key, value []byte) error
	open  map[int64][]Record // by producer id
}

func (l *loader) batch(b batch.Batch) error {
	var err error
	switch {
	case b.IsControl():
		err = l.marker(b)
	case b.IsTransactional():
		id := b.ProducerID()
		err = forEach(b, func(key, value []byte) error {
			l.open[id] = append(l.open[id], Record{Key: bytes.Clone(key), Value: bytes.Clone(value)})
			return nil
		})
	default:
		err = forEach(b, l.apply)
	}
	if err != nil {
		return fmt.Errorf("load batch at offset %d: %w", b.BaseOffset(), err)
	}
	return nil
}

// marker ends the transaction of a producer. Its key is version int16, type
// int16: 0 abort, 1 commit.
func (l *loader) marker(b batch.Batch) error {
	const commit = 1
	return forEach(b, func(key, _ []byte) error {
		if len(key) < 4 {
			return fmt.Errorf("%w: marker with a key of %d bytes", batch.ErrInvalidRecord, len(key))
		}
		records := l.open[b.ProducerID()]
		delete(l.open, b.ProducerID())
		if binary.BigEndian.Uint16(key[2:]) != commit {
			return nil
		}
		for _, r := range records {
			if err := l.apply(r.Key, r.Value); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxDecompressedBytes bounds what one compressed batch may become. We write none,
// but an adopted data directory may have them (offsets.topic.compression.codec).
const maxDecompressedBytes = 1 << 30

// forEach calls f with key and value of each record of b. A nil value is a
// tombstone. The slices are views that live until f returns.
func forEach(b batch.Batch, f func(key, value []byte) error) error {
	return batch.ForEach(b, maxDecompressedBytes, func(r *batch.Record) error { return f(r.Key, r.Value) })
}
