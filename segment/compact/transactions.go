package compact

import (
	"encoding/binary"
	"fmt"
	"slices"

	"millrace/segment"
	"millrace/segment/batch"
)

// transactions follows the transactions of a log while its batches are read in order, and says of each batch whether
// nobody needs it.
type transactions struct {
	known   []segment.AbortedTxn           // those that begin later, by first offset
	aborted map[int64]*transaction         // those under way, by producer id
	others  map[int64]*transaction         // that are not aborted, as far as the index tells
	keep    func(segment.AbortedTxn) error // enters what is left of an aborted transaction in an index; nil: nowhere
}

// transaction is one of which the marker was not read yet.
type transaction struct {
	segment.AbortedTxn
	seen    bool // a batch of it was read
	records bool // one with records
	left    bool // and something of it stays
}

func newTransactions(keep func(segment.AbortedTxn) error) *transactions {
	return &transactions{aborted: map[int64]*transaction{}, others: map[int64]*transaction{}, keep: keep}
}

// expect makes aborted transactions of the next segment known. The same may come with each segment it reaches into.
func (t *transactions) expect(list []segment.AbortedTxn) {
	t.known = append(t.known, list...)
	slices.SortFunc(t.known, func(a, b segment.AbortedTxn) int { return int(min(max(a.FirstOffset-b.FirstOffset, -1), 1)) })
}

func (t *transactions) begin(upTo int64) {
	for len(t.known) > 0 && t.known[0].FirstOffset <= upTo {
		next := t.known[0]
		t.known = t.known[1:]
		if t.aborted[next.ProducerID] == nil {
			t.aborted[next.ProducerID] = &transaction{AbortedTxn: next}
		}
	}
}

// use is what a batch is good for.
type use int8

const (
	needed  use = iota // as far as its transaction goes
	bare               // a marker of which no batch stays after this pass
	useless            // records of an aborted transaction, or a marker of which there was no batch any more
)

// read says what a batch is good for.
func (t *transactions) read(b batch.Batch) (use, error) {
	t.begin(b.LastOffset())
	switch {
	case b.IsControl():
		return t.marker(b)
	case !b.IsTransactional():
		return needed, nil
	}
	id := b.ProducerID()
	if a := t.aborted[id]; a != nil {
		a.seen = true
		return useless, nil
	}
	if t.others[id] == nil {
		t.others[id] = &transaction{}
	}
	x := t.others[id]
	x.seen, x.records = true, x.records || b.Count() > 0
	return needed, nil
}

// leave notes that something of a batch stays.
func (t *transactions) leave(b batch.Batch) {
	if b.IsControl() || !b.IsTransactional() {
		return
	}
	for _, x := range []*transaction{t.aborted[b.ProducerID()], t.others[b.ProducerID()]} {
		if x != nil {
			x.left = true
		}
	}
}

// Types of control records.
const (
	abortMarker  = 0
	commitMarker = 1
)

func (t *transactions) marker(b batch.Batch) (use, error) {
	if b.Count() == 0 {
		return useless, nil // its record was removed before
	}
	kind := int16(-1)
	err := batch.ForEach(b, maxMarkerBytes, func(r *batch.Record) error {
		if len(r.Key) >= 4 {
			kind = int16(binary.BigEndian.Uint16(r.Key[2:]))
		}
		return nil
	})
	if err != nil {
		return needed, fmt.Errorf("control batch at offset %d: %w", b.BaseOffset(), err)
	}
	id := b.ProducerID()
	x, a := t.others[id], t.aborted[id]
	if kind != commitMarker && kind != abortMarker {
		return needed, nil // of a kind that only others understand
	}
	delete(t.others, id)
	if kind == abortMarker {
		delete(t.aborted, id)
		if a == nil && x != nil && x.records {
			// Taking its records for committed ones would bring them to life.
			return needed, fmt.Errorf("%w: the transaction of producer %d aborted at offset %d is not in the transaction index",
				segment.ErrCorrupt, id, b.BaseOffset())
		}
		x = a
	}
	switch {
	case x == nil || !x.seen:
		return useless, nil
	case kind == abortMarker && t.keep != nil:
		err = t.keep(a.AbortedTxn)
	}
	if x.left {
		return needed, err
	}
	return bare, err
}

// maxMarkerBytes bounds the records of a control batch.
const maxMarkerBytes = 1 << 20
