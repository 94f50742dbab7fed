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
	lanes map[laneKey]*lane
	ends  map[int32]int64 // partition: one past the highest acknowledged offset

	// What Trim has forgotten.
	trimmed int64
}

// lane is one producer's records in one partition.
type lane struct {
	base    int64 // number of the first entry; those before it were acknowledged and are forgotten
	entries []entry
}

func (l *lane) next() int64          { return l.base + int64(len(l.entries)) }
func (l *lane) at(seq int64) *entry  { return &l.entries[seq-l.base] }
func (l *lane) knows(seq int64) bool { return seq >= l.base && seq < l.next() }

// New returns an empty history.
func New() *History {
	return &History{lanes: map[laneKey]*lane{}, ends: map[int32]int64{}}
}

// Invoke numbers the next record of a lane. It is called before the record is handed to
// the client, in the order in which records are handed over.
func (h *History) Invoke(producer, partition int32) Stamp {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := laneKey{producer, partition}
	l := h.lanes[k]
	if l == nil {
		l = &lane{}
		h.lanes[k] = l
	}
	l.entries = append(l.entries, entry{offset: NoOffset})
	return Stamp{Producer: producer, Partition: partition, Seq: l.next() - 1}
}

// Acknowledge notes that the broker has confirmed a record, at an offset or at NoOffset.
func (h *History) Acknowledge(s Stamp, offset int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*h.lanes[laneKey{s.Producer, s.Partition}].at(s.Seq) = entry{acknowledged, offset}
	h.ends[s.Partition] = max(h.ends[s.Partition], offset+1)
}

// Refuse notes that a record is certainly not in the log. An error that leaves doubt
// (a timeout, a broken connection) is no refusal: such a record stays unknown.
func (h *History) Refuse(s Stamp) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*h.lanes[laneKey{s.Producer, s.Partition}].at(s.Seq) = entry{refused, NoOffset}
}

// AcknowledgedEnd is one past the highest acknowledged offset of a partition: no log end
// offset seen from now on may be below it.
func (h *History) AcknowledgedEnd(partition int32) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ends[partition]
}

// Trim forgets the records of a partition that were acknowledged below offset start, as far as they come first in their
// lanes: a log that begins at start is not asked for them any more. They still may not turn up again.
func (h *History) Trim(partition int32, start int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for k, l := range h.lanes {
		if k.partition != partition {
			continue
		}
		n := 0
		for n < len(l.entries) && l.entries[n].outcome == acknowledged && l.entries[n].offset < start && l.entries[n].offset != NoOffset {
			n++
		}
		l.base += int64(n)
		l.entries = append([]entry(nil), l.entries[n:]...)
		h.trimmed += int64(n)
	}
}

// Counts is the number of records sent, acknowledged and refused.
func (h *History) Counts() (sent, acked, refusals int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sent, acked = h.trimmed, h.trimmed
	for _, l := range h.lanes {
		sent += int64(len(l.entries))
		for _, e := range l.entries {
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
