package segment_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"millrace/segment"
	"millrace/segment/batch"
)

// model is what a log should be: batches in order.
type model struct {
	start, end int64
	batches    []batch.Batch
	sequence   int32
}

// TestLogBehavesLikeAList appends, reads, rolls, truncates, deletes, stops cleanly and by kill in random order and
// compares with a list in memory.
func TestLogBehavesLikeAList(t *testing.T) {
	root := inMemory(t).path
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		path := filepath.Join(root, fmt.Sprint(runs))
		defer os.RemoveAll(path)
		h := newHarness(t, combination{
			rapid.SampledFrom([]string{"auto", "pwritev2"}).Draw(rt, "engine"), "auto",
			rapid.SampledFrom([]string{"auto", "direct", "journal"}).Draw(rt, "commit"),
		}, path)
		h.cfg.SegmentBytes = int32(rapid.SampledFrom([]int{3000, 20_000, 1 << 20}).Draw(rt, "segment bytes"))
		h.cfg.IndexIntervalBytes = int32(rapid.SampledFrom([]int{0, 200, 4096}).Draw(rt, "index interval"))
		h.opts.SlabBytes = 4 << 20
		s := &listTest{rt: rt, h: h, m: &model{}}
		s.d = h.open()
		s.l = h.log(s.d, "t")
		defer func() { s.d.Close() }()
		rt.Repeat(map[string]func(*rapid.T){
			"append":   s.append,
			"settle":   func(*rapid.T) { s.l.settle() },
			"read":     s.read,
			"truncate": s.truncate,
			"delete":   s.deleteRecords,
			"retain":   s.retain,
			"restart":  s.restart,
			"kill":     s.kill,
			"":         func(*rapid.T) { s.check() },
		})
		s.readAll()
	})
}

type listTest struct {
	rt *rapid.T
	h  *harness
	d  *segment.Dir
	l  *watched
	m  *model
}

func (s *listTest) append(rt *rapid.T) {
	for range rapid.IntRange(1, 20).Draw(rt, "batches") {
		n := rapid.IntRange(1, 5).Draw(rt, "records")
		b := build(s.h.t, n, rapid.IntRange(0, 400).Draw(rt, "bytes"), s.h.nowMs(), func(b *batch.Builder) {
			b.ProducerID, b.ProducerEpoch, b.BaseSequence = 1, 0, s.m.sequence
		})
		info := s.l.append(b)
		if info.BaseOffset != s.m.end || info.Duplicate {
			rt.Fatalf("appended at %d, expected %d (duplicate: %v)", info.BaseOffset, s.m.end, info.Duplicate)
		}
		b.SetBaseOffset(s.m.end)
		s.m.batches = append(s.m.batches, b)
		s.m.end = b.NextOffset()
		s.m.sequence += int32(n)
	}
}

func (s *listTest) check() {
	if s.l.EndOffset() != s.m.end || s.l.StartOffset() < s.m.start {
		s.rt.Fatalf("log %d to %d, model %d to %d", s.l.StartOffset(), s.l.EndOffset(), s.m.start, s.m.end)
	}
	if d := s.l.DurableOffset(); d > s.m.end {
		s.rt.Fatalf("durable %d of %d", d, s.m.end)
	}
}

// at is the index of the batch that holds offset.
func (m *model) at(offset int64) int {
	for i, b := range m.batches {
		if b.LastOffset() >= offset {
			return i
		}
	}
	return len(m.batches)
}

func (s *listTest) read(rt *rapid.T) {
	if s.l.StartOffset() == s.m.end {
		return
	}
	offset := rapid.Int64Range(s.l.StartOffset(), s.m.end-1).Draw(rt, "offset")
	upTo := s.m.batches[rapid.IntRange(s.m.at(offset), len(s.m.batches)-1).Draw(rt, "up to")].NextOffset()
	limit := rapid.IntRange(1, 5000).Draw(rt, "limit")
	ranges, err := s.l.Read(nil, offset, limit, upTo, true, true)
	if err != nil {
		rt.Fatalf("read %d: %v", offset, err)
	}
	got, err := bytesOf(ranges)
	if err != nil {
		rt.Fatal(err)
	}
	i := s.m.at(offset)
	if want := max(limit, len(s.m.batches[i])); len(got) > want {
		rt.Fatalf("read %d: %d bytes, limit %d", offset, len(got), want)
	}
	for len(got) > 0 {
		n := min(len(got), len(s.m.batches[i]))
		if n > batch.HeaderSize && !samePayload(batch.Batch(got[:n]), s.m.batches[i][:n]) || s.m.batches[i].BaseOffset() >= upTo {
			rt.Fatalf("read %d up to %d: wrong batch at %d", offset, upTo, s.m.batches[i].BaseOffset())
		}
		got = got[n:]
		i++
	}
}

func (s *listTest) readAll() {
	var got []batch.Batch
	if s.l.StartOffset() < s.m.end {
		got = s.l.contents()
	}
	want := s.m.batches[s.m.at(s.l.StartOffset()):]
	if len(got) != len(want) {
		s.rt.Fatalf("%d batches, expected %d", len(got), len(want))
	}
	for i := range got {
		if !samePayload(got[i], want[i]) || got[i].BaseOffset() != want[i].BaseOffset() {
			s.rt.Fatalf("batch at %d differs", want[i].BaseOffset())
		}
	}
}

func (s *listTest) truncate(rt *rapid.T) {
	to := rapid.Int64Range(s.l.StartOffset(), s.m.end).Draw(rt, "to")
	s.l.truncate(to)
	keep := s.m.at(to)
	s.m.batches = s.m.batches[:keep]
	s.m.end = s.l.EndOffset()
	if keep > 0 && s.m.end != max(s.m.batches[keep-1].NextOffset(), s.l.StartOffset()) {
		rt.Fatalf("truncated to %d: end %d", to, s.m.end)
	}
	s.m.sequence = 0
	for _, p := range s.l.Producers() {
		s.m.sequence = p.LastSequence + 1
	}
	if len(s.l.Producers()) > 0 && keep > 0 && s.m.sequence != s.m.batches[keep-1].LastSequence()+1 {
		rt.Fatalf("sequence %d after truncation to %d, want %d; start %d end %d keep %d last base %d, producers %+v", s.m.sequence, to, s.m.batches[keep-1].LastSequence()+1, s.l.StartOffset(), s.m.end, keep, s.m.batches[keep-1].BaseOffset(), s.l.Producers())
	}
}

func (s *listTest) deleteRecords(rt *rapid.T) {
	to := rapid.Int64Range(s.l.StartOffset(), s.m.end).Draw(rt, "to")
	if err := s.l.AdvanceStartOffset(to); err != nil {
		rt.Fatal(err)
	}
	s.m.start = to
}

func (s *listTest) retain(rt *rapid.T) {
	c := s.h.cfg
	c.RetentionBytes = int64(rapid.IntRange(0, 40_000).Draw(rt, "bytes"))
	s.l.SetConfig(c)
	if _, err := s.l.ApplyRetention(); err != nil {
		rt.Fatal(err)
	}
	s.l.SetConfig(s.h.cfg)
	s.m.start = s.l.StartOffset()
}

func (s *listTest) restart(rt *rapid.T) {
	if err := s.d.Close(); err != nil {
		rt.Fatal(err)
	}
	s.reopen(rt)
}

func (s *listTest) kill(rt *rapid.T) {
	s.l.settle()
	old := s.h.path
	s.h.crash()
	s.d.Close()
	os.RemoveAll(old)
	s.reopen(rt)
}

func (s *listTest) reopen(rt *rapid.T) {
	s.d = s.h.open()
	s.l = s.h.log(s.d, "t")
	s.check()
	if len(s.m.batches) > 0 && s.l.StartOffset() < s.m.end {
		// A retry of the newest batch is recognised.
		b := s.m.batches[len(s.m.batches)-1]
		info, err := s.l.Append(b, 0)
		if err != nil && !errors.Is(err, segment.ErrOutOfOrderSequence) || err == nil && (!info.Duplicate || info.BaseOffset != b.BaseOffset()) {
			rt.Fatalf("retry after restart: %+v, %v", info, err)
		}
	}
	s.readAll()
}
