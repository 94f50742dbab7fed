package producer

import "math"

// Window is how many batches of a producer are remembered. It bounds
// max.in.flight.requests.per.connection of idempotent clients.
const Window = 5

// Entry is one remembered batch.
type Entry struct {
	BaseSequence, LastSequence int32
	BaseOffset, LastOffset     int64
	TimestampMs                int64 // the batch's max timestamp
}

// newEntry is the batch that ends with lastSequence at lastOffset and has
// offsetDelta+1 offsets.
func newEntry(lastSequence int32, lastOffset int64, offsetDelta int32, timestampMs int64) Entry {
	return Entry{
		BaseSequence: decrementSequence(lastSequence, offsetDelta),
		LastSequence: lastSequence,
		BaseOffset:   lastOffset - int64(offsetDelta),
		LastOffset:   lastOffset,
		TimestampMs:  timestampMs,
	}
}

func (e *Entry) offsetDelta() int32 { return int32(e.LastOffset - e.BaseOffset) }

// decrementSequence is the inverse of batch.IncrementSequence.
func decrementSequence(seq, n int32) int32 {
	if seq < n {
		return math.MaxInt32 - (n - seq) + 1
	}
	return seq - n
}

// producer is what is known about one producer id.
type producer struct {
	id               int64
	epoch            int16
	coordinatorEpoch int32 // -1: no marker seen
	lastTimestamp    int64 // of the last batch, by its own max timestamp
	lastAppendMs     int64 // by the broker's clock
	txnFirstOffset   int64 // -1: no open transaction
	// batches[:n] are the remembered batches of this epoch, oldest first.
	batches [Window]Entry
	n       int
	// Neighbours in order of lastAppendMs.
	prev, next *producer
}

// lastSequence is -1 if no batch of this epoch is remembered.
func (p *producer) lastSequence() int32 {
	if p.n == 0 {
		return -1
	}
	return p.batches[p.n-1].LastSequence
}

func (p *producer) find(baseSequence, lastSequence int32) *Entry {
	for i := p.n - 1; i >= 0; i-- {
		if e := &p.batches[i]; e.BaseSequence == baseSequence && e.LastSequence == lastSequence {
			return e
		}
	}
	return nil
}

func (p *producer) add(e Entry) {
	if p.n == Window {
		copy(p.batches[:], p.batches[1:])
		p.n--
	}
	p.batches[p.n] = e
	p.n++
}

func (p *producer) setEpoch(epoch int16) {
	if p.epoch != epoch {
		p.epoch, p.n = epoch, 0
	}
}
