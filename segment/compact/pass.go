package compact

import (
	"context"
	"fmt"
	"math"

	"millrace/segment"
	"millrace/segment/batch"
)

// pass is one compaction of one log.
type pass struct {
	cleaner *Cleaner
	ctx     context.Context
	cfg     Config
	log     *segment.Log
	state   segment.Cleanable // Segments ends where compaction must not go further
	nowMs   int64

	offsets   *offsetMap
	producers map[int64]segment.LastRecord
	horizonMs int64 // earliest of what is left
	buf       []byte
}

// run does the pass. more: the offset map was too small for all that is dirty.
func (p *pass) run() (more bool, err error) {
	if err := p.log.BeginCompaction(p.state.FirstDirty); err != nil {
		return false, err
	}
	more, err = p.readKeys()
	defer p.offsets.close()
	if err != nil {
		return false, err
	}
	p.horizonMs = segment.NoHorizon
	p.producers = map[int64]segment.LastRecord{}
	for _, r := range p.log.LastRecords(nil) {
		p.producers[r.ProducerID] = r
	}
	end := p.offsets.latest + 1
	// One for the whole log: a transaction may reach into the next group.
	txns := newTransactions(nil)
	for _, group := range p.groups(end) {
		if err := p.compact(group, txns); err != nil {
			return false, err
		}
	}
	return more, p.log.Compacted(end, p.horizonMs)
}

// readKeys makes the offset map and fills it from the dirty segments. more: it became full.
func (p *pass) readKeys() (more bool, err error) {
	from := p.state.FirstDirty
	records := int64(0)
	if n := len(p.state.Segments); n > 0 {
		records = max(p.state.Segments[n-1].NextOffset-from, 0)
	}
	share := p.cfg.DedupeBufferBytes / int64(max(p.cfg.Threads, 1))
	if p.offsets, err = newOffsetMap(share, p.cfg.LoadFactor, records); err != nil {
		p.offsets = &offsetMap{}
		return false, err
	}
	p.offsets.latest = from - 1
	txns := newTransactions(nil)
	for _, s := range p.state.Segments {
		if s.NextOffset <= from {
			continue
		}
		if err := p.expect(txns, s); err != nil {
			return false, err
		}
		full := false
		err := s.Scan(from, func(b batch.Batch) (err error) {
			full, err = p.takeKeys(b, txns)
			if err == nil && full {
				err = errFull
			}
			return err
		})
		if full {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		p.offsets.latest = s.NextOffset - 1
	}
	return false, nil
}

// errFull ends a scan because the offset map is full.
var errFull = fmt.Errorf("offset map is full")

func (p *pass) takeKeys(b batch.Batch, txns *transactions) (full bool, err error) {
	if err := p.account(len(b), 0); err != nil {
		return false, err
	}
	worth, err := txns.read(b)
	if err != nil {
		return false, err
	}
	m := p.offsets
	if !b.IsControl() && worth != useless {
		err = batch.ForEach(b, unpackedLimit(b), func(r *batch.Record) error {
			offset := b.BaseOffset() + int64(r.OffsetDelta)
			if r.Key == nil || offset < p.state.FirstDirty || full {
				return nil
			}
			if !m.put(r.Key, offset) {
				full, m.latest = true, offset-1
			}
			return nil
		})
		if err != nil {
			return false, fmt.Errorf("batch at offset %d: %w", b.BaseOffset(), err)
		}
	}
	if !full {
		m.latest = max(m.latest, b.LastOffset())
	}
	return full, nil
}

// expect makes the aborted transactions of a segment known.
func (p *pass) expect(txns *transactions, s segment.Sealed) error {
	list, err := s.Aborted(nil)
	if err != nil {
		return err
	}
	txns.expect(list)
	return nil
}

// Bounds of what one batch is decompressed to, bytes: as for a batch that is produced.
const (
	anyUnpacked  = 64 << 20
	mostUnpacked = 512 << 20
	mostRatio    = 100 // beyond anyUnpacked
)

func unpackedLimit(b batch.Batch) int {
	return min(max(anyUnpacked, mostRatio*len(b)), mostUnpacked)
}

// groups divides the segments below end into groups that make one segment each: within segment.bytes, within what its
// index may have, and with offsets that fit into 32 bits.
func (p *pass) groups(end int64) (groups [][]segment.Sealed) {
	c := &p.state.Config
	mostIndexed := int64(c.SegmentIndexBytes)/8*max(int64(c.IndexIntervalBytes), 1) - 2
	var size int64
	for _, s := range p.state.Segments {
		if s.BaseOffset >= end {
			break
		}
		n := len(groups)
		if n > 0 {
			size += s.Size
			if first := groups[n-1][0]; size <= int64(c.SegmentBytes) && size <= mostIndexed && s.NextOffset-1-first.BaseOffset <= math.MaxInt32 {
				groups[n-1] = append(groups[n-1], s)
				continue
			}
		}
		groups, size = append(groups, []segment.Sealed{s}), s.Size
	}
	return groups
}

// account counts bytes read and written, and waits as long as they have to be paid for.
func (p *pass) account(read, written int) error {
	p.cleaner.stats.read.Add(int64(read))
	p.cleaner.stats.written.Add(int64(written))
	return p.cleaner.throttle.wait(p.ctx, read+written, p.cfg.MaxBytesPerSecond)
}
