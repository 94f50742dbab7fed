package replication

import (
	"millrace/segment"
	"millrace/segment/batch"
)

// Acker is told, once, when an append counts as written or cannot any more. It is
// called on whatever goroutine learns it, possibly before AppendAsLeader returns,
// and must not block.
type Acker interface {
	Appended(token int, err error)
}

// AppendAsLeader appends one validated batch in the current leader epoch. The
// bytes are copied; base offset and leader epoch are patched in the copy. With a
// nil ack nobody is told (acks=0). It waits while the log is being replaced (Swapping). An error means that nothing was appended and
// ack will not be called. A duplicate of an idempotent producer is acknowledged
// when the first append is.
func (p *Partition) AppendAsLeader(b batch.Batch, ack Acker, token int) (segment.AppendInfo, error) {
	p.role.RLock()
	if !p.leads {
		p.role.RUnlock()
		return segment.AppendInfo{}, ErrNotLeader
	}
	p.appending.RLock()
	info, err := p.append(b)
	p.appending.RUnlock()
	p.role.RUnlock()
	if err != nil {
		return info, err
	}
	if ack != nil {
		p.waiting.add(&p.highWatermark, info.LastOffset+1, ack, token)
	}
	return info, nil
}

func (p *Partition) append(b batch.Batch) (segment.AppendInfo, error) {
	if broken := p.broken.Load(); broken != nil {
		return segment.AppendInfo{}, *broken
	}
	return p.Log().Append(b, p.leaderEpoch)
}
