package compact

import (
	"testing"

	"millrace/segment/batch"
)

// record is one record of a log.
type record struct {
	offset, ts int64
	key, value string
	null       bool // no value
}

// committed lists the records of batches that a reader of committed data sees, in the order of their offsets. It knows
// aborted transactions by their markers alone.
func committed(t testing.TB, batches []batch.Batch) (out []record) {
	t.Helper()
	open := map[int64]int{} // by producer, the first of its records in out
	dead := map[int]bool{}
	owner := []int64{}
	for _, b := range batches {
		err := batch.ForEach(b, 1<<20, func(r *batch.Record) error {
			id := int64(-1)
			switch {
			case b.IsControl():
				first, ok := open[b.ProducerID()]
				if r.Key[3] == 0 && ok {
					for i := first; i < len(out); i++ {
						dead[i] = dead[i] || owner[i] == b.ProducerID()
					}
				}
				for i := range owner {
					if owner[i] == b.ProducerID() {
						owner[i] = -1
					}
				}
				delete(open, b.ProducerID())
				return nil
			case b.IsTransactional():
				id = b.ProducerID()
				if _, ok := open[id]; !ok {
					open[id] = len(out)
				}
			}
			ts := b.BaseTimestamp() + r.TimestampDelta
			out = append(out, record{b.BaseOffset() + int64(r.OffsetDelta), ts, string(r.Key), string(r.Value), r.Value == nil})
			owner = append(owner, id)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	kept := []record{}
	for i, r := range out {
		if !dead[i] {
			kept = append(kept, r)
		}
	}
	return kept
}
