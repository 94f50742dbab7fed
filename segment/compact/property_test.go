package compact

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"millrace/segment"
	"millrace/segment/batch"
)

func TestMain(m *testing.M) {
	flag.Set("rapid.checks", "10") // the command line may ask for more
	os.Exit(m.Run())
}

// TestCompactedLogIsItsModel appends records, tombstones and transactions, compacts with tiny offset maps, restarts and
// kills in random order, and compares with a list and a map in memory.
func TestCompactedLogIsItsModel(t *testing.T) {
	for _, mode := range []string{"direct", "buffered"} {
		t.Run(mode, func(t *testing.T) {
			root, runs := t.TempDir(), 0
			rapid.Check(t, func(rt *rapid.T) {
				runs++
				path := filepath.Join(root, fmt.Sprint(runs))
				defer os.RemoveAll(path)
				h := newHarness(t, mode, path)
				h.cfg.SegmentBytes = int32(rapid.SampledFrom([]int{700, 3000, 1 << 20}).Draw(rt, "segment bytes"))
				h.cfg.IndexIntervalBytes = int32(rapid.SampledFrom([]int{0, 200, 4096}).Draw(rt, "index interval"))
				h.use.DedupeBufferBytes = int64(rapid.SampledFrom([]int{1, 5, 10_000}).Draw(rt, "keys")) * entryBytes
				m := &modelTest{h: h, written: map[int64]record{}, newest: map[string]record{}, sequences: map[int64]int32{}, open: map[int64][]record{}}
				h.open()
				defer func() { h.dir.Close() }()
				rt.Repeat(map[string]func(*rapid.T){
					"append":      m.append,
					"transaction": m.transaction,
					"roll":        m.roll,
					"pass":        m.pass,
					"wait":        func(rt *rapid.T) { h.advance(time.Duration(rapid.IntRange(1, 30).Draw(rt, "hours")) * time.Hour) },
					"read":        m.readFrom,
					"restart":     func(*rapid.T) { h.close(); h.open() },
					"kill":        m.kill,
					"":            m.check,
				})
			})
		})
	}
}

type modelTest struct {
	h         *harness
	written   map[int64]record   // by offset, all that was ever committed
	newest    map[string]record  // of each key
	sequences map[int64]int32    // next, by producer
	open      map[int64][]record // of transactions not ended
	clean     int64              // compacted below
	kills     int
}

func (m *modelTest) build(rt *rapid.T, change func(*batch.Builder)) (batch.Batch, []record) {
	w := batch.NewBuilder()
	w.Codec = rapid.SampledFrom([]batch.Codec{batch.None, batch.None, batch.Gzip, batch.Snappy, batch.LZ4, batch.Zstd}).Draw(rt, "codec")
	if change != nil {
		change(w)
	}
	var records []record
	for range rapid.IntRange(1, 5).Draw(rt, "records") {
		r := record{
			ts:    m.h.nowMs() + int64(rapid.IntRange(-1000, 0).Draw(rt, "time")),
			key:   fmt.Sprint(rapid.IntRange(0, 12).Draw(rt, "key")),
			value: fmt.Sprint(rapid.IntRange(0, 1_000_000).Draw(rt, "value")),
		}
		value := []byte(r.value)
		switch rapid.IntRange(0, 5).Draw(rt, "kind") {
		case 0:
			r.value, r.null, value = "", true, nil
		case 1:
			r.value, value = "", []byte{}
		}
		w.Add(r.ts, []byte(r.key), value)
		records = append(records, r)
	}
	b, err := w.Build(nil)
	if err != nil {
		rt.Fatal(err)
	}
	return b, records
}

func (m *modelTest) commit(records []record) {
	for _, r := range records {
		m.written[r.offset] = r
		// Records of a transaction count at their own offsets, not at the marker's.
		if old, ok := m.newest[r.key]; !ok || old.offset < r.offset {
			m.newest[r.key] = r
		}
	}
}

func (m *modelTest) append(rt *rapid.T) {
	for range rapid.IntRange(1, 10).Draw(rt, "batches") {
		var change func(*batch.Builder)
		id := int64(rapid.IntRange(-2, 2).Draw(rt, "producer"))
		if id >= 0 {
			change = as(id, m.sequences[id], false)
		}
		b, records := m.build(rt, change)
		m.place(b, records)
		if id >= 0 {
			m.sequences[id] += int32(len(records))
		}
		m.commit(records)
	}
}

// place appends a batch and notes the offsets.
func (m *modelTest) place(b batch.Batch, records []record) {
	info := m.h.append(b)
	for i := range records {
		records[i].offset = info.BaseOffset + int64(i)
	}
}

// transaction begins, goes on with, or ends one of two transactions.
func (m *modelTest) transaction(rt *rapid.T) {
	id := int64(rapid.IntRange(10, 11).Draw(rt, "transactional producer"))
	if records, ok := m.open[id]; ok && rapid.Bool().Draw(rt, "end") {
		commit := rapid.Bool().Draw(rt, "commit")
		m.h.append(m.h.marker(id, commit))
		delete(m.open, id)
		if commit {
			m.commit(records)
		}
		return
	}
	b, records := m.build(rt, as(id, m.sequences[id], true))
	m.place(b, records)
	m.sequences[id] += int32(len(records))
	m.open[id] = append(m.open[id], records...)
}

func (m *modelTest) roll(rt *rapid.T) {
	b, records := m.build(rt, nil)
	info := m.h.roll(b)
	for i := range records {
		records[i].offset = info.BaseOffset + int64(i)
	}
	m.commit(records)
}

// pass compacts, once or until all fits, and looks at what is left below.
func (m *modelTest) pass(rt *rapid.T) {
	for range rapid.IntRange(1, 4).Draw(rt, "passes") {
		more, err := m.h.pass()
		if err != nil {
			rt.Fatal(err)
		}
		clean := m.h.log.Cleanable(m.h.log.EndOffset()).FirstDirty
		if clean < m.clean || more && clean == m.clean {
			rt.Fatalf("compacted below %d, before it was %d (more: %v)", clean, m.clean, more)
		}
		m.clean = clean
	}
	seen := map[string]int64{}
	for _, b := range m.h.batches() {
		err := batch.ForEach(b, 1<<20, func(r *batch.Record) error {
			offset := b.BaseOffset() + int64(r.OffsetDelta)
			if b.IsControl() || offset >= m.clean {
				return nil
			}
			if before, ok := seen[string(r.Key)]; ok {
				rt.Fatalf("key %s is at %d and at %d, compacted below %d", r.Key, before, offset, m.clean)
			}
			if _, ok := m.written[offset]; !ok {
				rt.Fatalf("offset %d was aborted, and is there (compacted below %d)", offset, m.clean)
			}
			if r.Value == nil && (!b.HasDeleteHorizon() || b.BaseTimestamp() <= m.h.nowMs()) {
				rt.Fatalf("tombstone at %d: horizon %v %d, now %d", offset, b.HasDeleteHorizon(), b.BaseTimestamp(), m.h.nowMs())
			}
			seen[string(r.Key)] = offset
			return nil
		})
		if err != nil {
			rt.Fatal(err)
		}
	}
}

// check compares the whole log with the model.
func (m *modelTest) check(rt *rapid.T) {
	found := map[string]record{}
	for _, r := range committed(m.h.t, m.h.batches()) {
		if w, ok := m.written[r.offset]; ok && w != r {
			rt.Fatalf("offset %d holds %+v, written was %+v", r.offset, r, w)
		} else if !ok && !slices.ContainsFunc(m.undecided(), func(o record) bool { return o == r }) {
			rt.Fatalf("offset %d holds %+v, which was never committed", r.offset, r)
		} else if ok {
			found[r.key] = r
		}
	}
	for key, w := range m.newest {
		if r, ok := found[key]; ok && r != w || !ok && !w.null {
			rt.Fatalf("key %s ends with %+v (found: %v), want %+v", key, r, ok, w)
		}
	}
}

// undecided are the records of open transactions.
func (m *modelTest) undecided() (out []record) {
	for _, id := range slices.Sorted(maps.Keys(m.open)) {
		out = append(out, m.open[id]...)
	}
	return out
}

// readFrom reads from any offset on.
func (m *modelTest) readFrom(rt *rapid.T) {
	end := m.h.log.EndOffset()
	if end == 0 {
		return
	}
	from := int64(rapid.IntRange(0, int(end)-1).Draw(rt, "from"))
	next := int64(-1)
	err := m.h.log.ReadBatches(from, end, func(b batch.Batch) error {
		if next < 0 && b.LastOffset() < from {
			return fmt.Errorf("batch %d to %d", b.BaseOffset(), b.LastOffset())
		}
		next = b.NextOffset()
		return nil
	})
	if err != nil || next != end {
		rt.Fatalf("read from %d to %d of %d: %v", from, next, end, err)
	}
}

// kill goes on with the files as they are, without producer snapshots now and then.
func (m *modelTest) kill(rt *rapid.T) {
	m.h.settle()
	m.kills++
	old := m.h.opts.Path
	to := fmt.Sprintf("%s.%d", old, m.kills)
	image(m.h.t, old, to)
	m.h.t.Cleanup(func() { os.RemoveAll(to) })
	m.h.dir.Close()
	os.RemoveAll(old)
	m.h.opts.Path = to
	if rapid.Bool().Draw(rt, "lose snapshots") {
		for _, name := range m.h.files(".snapshot") {
			os.Remove(filepath.Join(to, "t-0", name))
		}
	}
	m.h.open()
	for _, p := range m.h.log.Producers() {
		if next := m.sequences[p.ProducerID]; p.LastSequence != next-1 {
			rt.Fatalf("producer %d: last sequence %d, next was %d", p.ProducerID, p.LastSequence, next)
		}
	}
	if n := len(m.h.log.Producers()); n != len(m.sequences) {
		rt.Fatalf("%d producers, %d have written", n, len(m.sequences))
	}
	if _, open := m.h.log.FirstUnstableOffset(); open != (len(m.open) > 0) {
		rt.Fatalf("a transaction is open: %v, want %d", open, len(m.open))
	}
	m.clean = min(m.clean, m.h.log.Cleanable(segment.NoHorizon).FirstDirty)
}
