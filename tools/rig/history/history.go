package history

import "sync"

// NoOffset is the offset of an acknowledgement that named none.
const NoOffset int64 = -1

// outcome is what is known of a record.
type outcome uint8

const (
	unknown outcome = iota
	acknowledged
	refused
)

// entry is one record of a lane.
type entry struct {
	outcome outcome
	offset  int64
}

type laneKey struct{ producer, partition int32 }

// History is what producers sent and what they were told.
type History struct {
	mu    sync.Mutex
	lanes map[laneKey][]entry // an entry's index is its record's number
	ends  map[int32]int64     // partition: one past the highest acknowledged offset
}

// New returns an empty history.
func New() *History {
	return &History{lanes: map[laneKey][]entry{}, ends: map[int32]int64{}}
}

// Invoke numbers the next record of a lane. It is called before the record is handed to
// the client, in the order in which records are handed over.
func (h *History) Invoke(producer, partition int32) Stamp {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := laneKey{producer, partition}
	h.lanes[k] = append(h.lanes[k], entry{offset: NoOffset})
	return Stamp{Producer: producer, Partition: partition, Seq: int64(len(h.lanes[k]) - 1)}
}

// Acknowledge notes that the broker has confirmed a record, at an offset or at NoOffset.
func (h *History) Acknowledge(s Stamp, offset int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lanes[laneKey{s.Producer, s.Partition}][s.Seq] = entry{acknowledged, offset}
	h.ends[s.Partition] = max(h.ends[s.Partition], offset+1)
}

// Refuse notes that a record is certainly not in the log. An error that leaves doubt
// (a timeout, a broken connection) is no refusal: such a record stays unknown.
func (h *History) Refuse(s Stamp) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lanes[laneKey{s.Producer, s.Partition}][s.Seq] = entry{refused, NoOffset}
}

// AcknowledgedEnd is one past the highest acknowledged offset of a partition: no log end
// offset seen from now on may be below it.
func (h *History) AcknowledgedEnd(partition int32) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ends[partition]
}

// Counts is the number of records sent, acknowledged and refused.
func (h *History) Counts() (sent, acked, refusals int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, lane := range h.lanes {
		sent += int64(len(lane))
		for _, e := range lane {
			switch e.outcome {
			case acknowledged:
				acked++
			case refused:
				refusals++
			}
		}
	}
	return sent, acked, refusals
}
