package coordinator

// Record is one record of an internal topic. A nil Value is a tombstone.
type Record struct {
	Key   []byte
	Value []byte
}

// recordOverhead bounds what a record takes beside its key and value, bytes:
// varints of length, timestamp delta, offset delta, key and value length, the
// attributes and the header count.
const recordOverhead = 5 + 1 + 10 + 5 + 5 + 5 + 1

// bound is an upper bound of the bytes r takes in a batch.
func (r Record) bound() int { return recordOverhead + len(r.Key) + len(r.Value) }
