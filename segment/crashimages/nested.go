package crashimages

import (
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"sync"

	"millrace/segment"
	"millrace/segment/batch"
	"millrace/segment/segmenttest"
)

// appendToAll appends a batch to each log that is flushed and waits for it.
func (r *recovered) appendToAll() error {
	for f, l := range r.logs {
		if f.Config.Durability == segment.Async {
			continue
		}
		err := appendOne(l, nil)
		if err == nil {
			err = r.settle(f)
		}
		if err != nil {
			return fmt.Errorf("%s: append after recovery: %w", f.Topic, err)
		}
	}
	return nil
}

// appendOne appends a small batch. before is told of it.
func appendOne(l *segment.Log, before func(*Batch)) error {
	build := batch.NewBuilder()
	build.Add(1_700_000_000_000, nil, fmt.Appendf(nil, "after recovery, at %d", l.EndOffset()))
	b, err := build.Build(nil)
	if err != nil {
		return err
	}
	if before != nil {
		before(&Batch{
			Base: l.EndOffset(), Last: l.EndOffset(), Sum: sum(b), Durable: never, Cut: span{never, never}, Producer: batch.NoProducerID,
		})
	}
	_, err = l.Append(b, max(l.LeaderEpoch(), 0))
	return err
}

// nested records the recovery of an image and what is appended after it, and checks images of that.
func (c *checker) nested(rec *segmenttest.Recording, s spot, dir string) error {
	inner := &checker{
		scenario: c.scenario + ", in recovery", seed: c.seed, dir: filepath.Join(c.dir, "nested"), independent: c.independent,
		seen: map[uint64]bool{},
	}
	if err := os.MkdirAll(inner.dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(inner.dir)
	recorder, err := segmenttest.NewRecorder(dir)
	if err != nil {
		return err
	}
	first := recorder.Position()
	var mu sync.Mutex
	now := map[*LogFacts]*LogFacts{}
	r, err := c.recoverAndCheck(dir, recorder, s.at, func(f *LogFacts, offset int64) {
		at := recorder.Position()
		mu.Lock()
		defer mu.Unlock()
		if f.Config.Durability != segment.Async {
			now[f].acknowledge(offset, at)
		}
	})
	if r != nil {
		defer r.dir.Close()
	}
	if err != nil {
		return &Violation{c.scenario, c.seed, rec, c.facts, s.at, s.choice, nothing, err.Error()}
	}
	inner.facts = c.facts.after(s.at, r.states, recorder.Position())
	for l, log := range r.logs {
		f := inner.facts.living(l.Topic, first)
		mu.Lock()
		now[l] = f
		mu.Unlock()
		err := appendOne(log, func(b *Batch) {
			mu.Lock()
			defer mu.Unlock()
			f.Batches = append(f.Batches, b)
		})
		if err != nil {
			return &Violation{c.scenario, c.seed, rec, c.facts, s.at, s.choice, appendThenAgain, err.Error()}
		}
	}
	for l := range r.logs {
		if err := r.settle(l); err != nil {
			return &Violation{c.scenario, c.seed, rec, c.facts, s.at, s.choice, appendThenAgain, err.Error()}
		}
	}
	recording := recorder.Recording()
	if err := r.dir.Close(); err != nil {
		return fmt.Errorf("%s: close after recovery: %w", inner.scenario, err)
	}
	err = inner.images(recording, first, nestedImages, false)
	c.count.Images += inner.count.Images
	c.count.Nested += inner.count.Images
	return err
}

var factsSeed = maphash.MakeSeed()

// hash tells apart what must hold at positions.
func (f *Facts) hash(at int) uint64 {
	var h maphash.Hash
	h.SetSeed(factsSeed)
	flag := func(b ...bool) {
		for _, b := range b {
			if b {
				h.WriteByte(1)
			} else {
				h.WriteByte(0)
			}
		}
	}
	flag(f.clean(at))
	for _, l := range f.Logs {
		flag(l.lives(at), l.gone(at))
		for _, b := range l.Batches {
			flag(b.must(at), b.may(at))
		}
		for _, c := range append(l.Starts, l.Epochs...) {
			flag(c.Span.To <= at, c.Span.From < at)
		}
	}
	return h.Sum64()
}
