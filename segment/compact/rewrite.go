package compact

import (
	"fmt"
	"math"

	"millrace/segment"
	"millrace/segment/batch"
)

// compact writes what is left of a group of segments and puts that in its place.
func (p *pass) compact(group []segment.Sealed, txns *transactions) error {
	out, err := p.log.NewCleaned(group, p.cfg.IOBufferBytes/max(p.cfg.Threads, 1))
	if err != nil {
		return err
	}
	defer out.Discard()
	txns.keep = out.AppendAborted
	g := groupPass{pass: p, out: out, txns: txns, end: group[len(group)-1].NextOffset}
	for _, s := range group {
		if err := p.expect(txns, s); err != nil {
			return err
		}
		if err := s.Scan(s.BaseOffset, g.batch); err != nil {
			return err
		}
	}
	if len(group) == 1 && !g.changed && g.next == g.end {
		return nil // it was what it would become
	}
	return out.Replace()
}

// groupPass is the writing of one group.
type groupPass struct {
	*pass
	out     *segment.Cleaned
	txns    *transactions
	end     int64 // of the group
	next    int64 // one past the last offset read
	changed bool
}

// batch writes what is left of a batch.
func (g *groupPass) batch(b batch.Batch) error {
	g.next = b.NextOffset()
	worth, err := g.txns.read(b)
	if err != nil {
		return err
	}
	left, err := g.leave(b, worth)
	if err != nil {
		return fmt.Errorf("batch at offset %d: %w", b.BaseOffset(), err)
	}
	if len(left) != len(b) || &left[0] != &b[0] {
		g.changed = true
	}
	if left == nil {
		return g.account(len(b), 0)
	}
	g.txns.leave(left)
	if left.HasDeleteHorizon() && left.BaseTimestamp() > g.nowMs {
		g.horizonMs = min(g.horizonMs, left.BaseTimestamp())
	}
	if err := g.out.Append(left); err != nil {
		return err
	}
	return g.account(len(b), len(left))
}

// leave is what is left of a batch, nil if nothing is. It is valid until the next call.
func (g *groupPass) leave(b batch.Batch, worth use) (batch.Batch, error) {
	expired := b.HasDeleteHorizon() && b.BaseTimestamp() <= g.nowMs
	if worth == useless && (expired || !b.IsControl()) {
		return g.header(b), nil
	}
	if b.BaseOffset() > g.offsets.latest {
		return b, nil
	}
	o := batch.RetainOptions{
		HorizonMs: g.nowMs + min(g.state.Config.DeleteRetentionMs, math.MaxInt64-g.nowMs),
		Level:     g.level(b.Codec()),
		Limit:     unpackedLimit(b),
	}
	if b.IsControl() {
		o.Keep, o.Expires = func(*batch.Record) bool { return true }, worth != needed
	} else {
		o.Keep = func(r *batch.Record) bool { return g.stays(b, r, expired) }
	}
	left, kept, err := batch.Retain(g.buf[:0], b, o)
	switch {
	case err != nil:
		return nil, err
	case kept == 0:
		return g.header(b), nil
	}
	g.keepBuffer(left, b)
	return left, nil
}

// level is that of the topic for a codec.
func (g *groupPass) level(c batch.Codec) int {
	levels := g.state.Config.CompressionLevels
	if int(c) >= len(levels) || levels[c] == 0 {
		return batch.DefaultLevel
	}
	return levels[c]
}

// stays is whether a record stays. expired: the delete horizon of its batch is past.
func (g *groupPass) stays(b batch.Batch, r *batch.Record, expired bool) bool {
	offset := b.BaseOffset() + int64(r.OffsetDelta)
	switch {
	case offset > g.offsets.latest:
		return true
	case r.Key == nil:
		return false
	case r.Value == nil && expired:
		return false
	}
	return offset >= g.offsets.get(r.Key)
}

// header is the header of a batch without records if it has to stay, else nil.
func (g *groupPass) header(b batch.Batch) batch.Batch {
	if b.NextOffset() != g.end && !g.isLastOfProducer(b) {
		return nil
	}
	if b.Count() == 0 {
		return b
	}
	left := batch.Empty(g.buf[:0], b)
	g.keepBuffer(left, b)
	return left
}

// isLastOfProducer says that what is known of an active producer comes from this batch.
func (g *groupPass) isLastOfProducer(b batch.Batch) bool {
	if !b.HasProducer() {
		return false
	}
	last, ok := g.producers[b.ProducerID()]
	switch {
	case !ok:
		return false
	case last.LastOffset >= 0:
		return b.LastOffset() == last.LastOffset
	}
	return b.IsControl() && b.ProducerEpoch() == last.ProducerEpoch
}

// keepBuffer makes the memory of left that of the next batch, unless it is b.
func (g *groupPass) keepBuffer(left, b batch.Batch) {
	if &left[0] != &b[0] {
		g.buf = left[:0]
	}
}
