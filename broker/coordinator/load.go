package coordinator

import (
	"encoding/binary"
	"errors"
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
		err = ForEach(b, func(key, value []byte) error {
			l.open[id] = append(l.open[id], Record{Key: cloneBytes(key), Value: cloneBytes(value)})
			return nil
		})
	default:
		err = ForEach(b, l.apply)
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
	return ForEach(b, func(key, _ []byte) error {
		if len(key) < 4 {
			return errTruncated
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

// cloneBytes keeps the difference between nil and empty.
func cloneBytes(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

var errTruncated = errors.New("truncated record")

// ForEach calls f with key and value of each record of b. A nil value is a
// tombstone. The slices are views into b.
func ForEach(b batch.Batch, f func(key, value []byte) error) error {
	if len(b) < batch.HeaderSize || b.Size() > len(b) || b.Size() < batch.HeaderSize {
		return errTruncated
	}
	if c := b.Codec(); c != batch.None {
		return fmt.Errorf("codec %d in an internal topic", c)
	}
	rest := b.Records()
	for i := int32(0); i < b.Count(); i++ {
		body, err := sized(&rest)
		if err != nil {
			return err
		}
		if len(body) == 0 {
			return errTruncated
		}
		body = body[1:] // attributes
		if err := skipVarints(&body, 2); err != nil {
			return err
		}
		key, err := sized(&body)
		if err != nil {
			return err
		}
		value, err := sized(&body)
		if err != nil {
			return err
		}
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}

// sized cuts a varint length and that many bytes off b; a negative length is nil.
func sized(b *[]byte) ([]byte, error) {
	n, used := binary.Varint(*b)
	if used <= 0 || n > int64(len(*b)-used) {
		return nil, errTruncated
	}
	rest := (*b)[used:]
	if n < 0 {
		*b = rest
		return nil, nil
	}
	*b = rest[n:]
	return rest[:n:n], nil
}

func skipVarints(b *[]byte, n int) error {
	for ; n > 0; n-- {
		_, used := binary.Varint(*b)
		if used <= 0 {
			return errTruncated
		}
		*b = (*b)[used:]
	}
	return nil
}
