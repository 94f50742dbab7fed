package compact

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/segment"
	"millrace/segment/batch"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// harness is one log in one dir, under a clock of the test's.
type harness struct {
	t    testing.TB
	opts segment.DirOptions
	cfg  segment.LogConfig
	use  Config
	dir  *segment.Dir
	log  *segment.Log

	mu      sync.Mutex
	now     time.Time
	changed sync.Cond // OnDurable was called
}

const day = 24 * time.Hour

func newHarness(t testing.TB, io, path string) *harness {
	h := &harness{t: t, now: time.UnixMilli(1_700_000_000_000)}
	h.changed.L = &h.mu
	h.opts = segment.DirOptions{
		Path: path, NodeID: 1, ClusterID: "cluster", Engine: "pwritev2", IO: io, SlabBytes: 8 << 20,
		Logger: quiet, RetentionCheckInterval: -1,
		Now: func() time.Time {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.now
		},
	}
	h.cfg = segment.LogConfig{
		SegmentBytes: 1 << 20, SegmentMs: 1 << 40, SegmentIndexBytes: 10 << 20, IndexIntervalBytes: 100,
		RetentionMs: -1, RetentionBytes: -1, FlushMessages: 1 << 60, FlushMs: 1 << 60, ProducerExpirationMs: 1 << 40,
		Compact: true, MaxCompactionLagMs: math.MaxInt64, DeleteRetentionMs: day.Milliseconds(),
	}
	h.use = Config{Threads: 1, DedupeBufferBytes: 1 << 20, LoadFactor: 0.9, IOBufferBytes: 16 << 10, MaxBytesPerSecond: math.MaxFloat64}
	return h
}

// onBothModes runs a test with direct and with buffered I/O.
func onBothModes(t *testing.T, f func(t *testing.T, h *harness)) {
	for _, mode := range []string{"direct", "buffered"} {
		t.Run(mode, func(t *testing.T) {
			h := newHarness(t, mode, filepath.Join(t.TempDir(), "log"))
			h.open()
			f(t, h)
		})
	}
}

func (h *harness) advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func (h *harness) nowMs() int64 { return h.opts.Now().UnixMilli() }

func (h *harness) open() {
	h.t.Helper()
	d, err := segment.OpenDir(h.opts)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { d.Close() })
	h.dir = d
	h.log, err = d.OpenLog("t", 0, segment.LogOptions{TopicID: [16]byte{1}, Config: h.cfg, OnDurable: func(int64) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.changed.Broadcast()
	}})
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) close() {
	h.t.Helper()
	if err := h.dir.Close(); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) append(b batch.Batch) segment.AppendInfo {
	h.t.Helper()
	info, err := h.log.Append(b, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	return info
}

// roll makes b the first batch of a new segment, and waits until the one before can be compacted.
func (h *harness) roll(b batch.Batch) segment.AppendInfo {
	h.t.Helper()
	c := h.cfg
	c.SegmentMs = -1 << 40
	h.log.SetConfig(c)
	info := h.append(b)
	h.log.SetConfig(h.cfg)
	h.settle()
	if _, open := h.log.FirstUnstableOffset(); open || info.BaseOffset == 0 {
		return info
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		s := h.log.Cleanable(math.MaxInt64).Segments
		if n := len(s); n > 0 && s[n-1].NextOffset == info.BaseOffset {
			return info
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("the segment before offset %d is not sealed", info.BaseOffset)
		}
	}
}

// settle waits until all is durable.
func (h *harness) settle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.log.DurableOffset() < h.log.EndOffset() {
		h.changed.Wait()
	}
}

// pass makes one pass over all that may be compacted, whether it is due or not.
func (h *harness) pass() (more bool, err error) {
	c := &Cleaner{}
	x := candidate{state: h.log.Cleanable(math.MaxInt64)}
	if err := x.leaveRecent(h.nowMs()); err != nil {
		return false, err
	}
	p := &pass{cleaner: c, ctx: context.Background(), cfg: h.use, log: h.log, state: x.state, nowMs: h.nowMs()}
	return p.run()
}

// compact makes passes until there is nothing left to do.
func (h *harness) compact() {
	h.t.Helper()
	for {
		more, err := h.pass()
		if err != nil {
			h.t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

// batches reads the whole log.
func (h *harness) batches() (out []batch.Batch) {
	h.t.Helper()
	next := h.log.StartOffset()
	err := h.log.ReadBatches(next, h.log.EndOffset(), func(b batch.Batch) error {
		if b.BaseOffset() < next {
			return fmt.Errorf("batch at %d after offset %d", b.BaseOffset(), next)
		}
		next = b.NextOffset()
		out = append(out, bytes.Clone(b))
		return nil
	})
	if err != nil || next != h.log.EndOffset() {
		h.t.Fatalf("read up to %d of %d: %v", next, h.log.EndOffset(), err)
	}
	return out
}

// listing is the log in words: a batch that is not one plain record is in brackets.
func (h *harness) listing() string {
	h.t.Helper()
	var out []string
	for _, b := range h.batches() {
		var records []string
		err := batch.ForEach(b, 1<<20, func(r *batch.Record) error {
			at := b.BaseOffset() + int64(r.OffsetDelta)
			switch {
			case b.IsControl():
				records = append(records, fmt.Sprintf("%d:%s", at, []string{"abort", "commit"}[r.Key[3]]))
			case r.Value == nil:
				records = append(records, fmt.Sprintf("%d:%s-", at, r.Key))
			default:
				records = append(records, fmt.Sprintf("%d:%s=%s", at, r.Key, r.Value))
			}
			return nil
		})
		if err != nil {
			h.t.Fatal(err)
		}
		text := strings.Join(records, " ")
		if len(records) != 1 || b.LastOffsetDelta() > 0 {
			text = fmt.Sprintf("[%d-%d %s]", b.BaseOffset(), b.LastOffset(), text)
			text = strings.Replace(text, " ]", "]", 1)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func (h *harness) want(listing string) {
	h.t.Helper()
	if got := h.listing(); got != listing {
		h.t.Errorf("\ngot  %s\nwant %s", got, listing)
	}
}

// parse makes a batch of words like a=1 (a record), a- (a tombstone), -=1 (a record without key), in the listing's way.
func (h *harness) parse(words string, change ...func(*batch.Builder)) batch.Batch {
	h.t.Helper()
	w := batch.NewBuilder()
	for _, c := range change {
		c(w)
	}
	for _, word := range strings.Fields(words) {
		key, value, ok := strings.Cut(word, "=")
		switch {
		case !ok:
			w.Add(h.nowMs(), []byte(strings.TrimSuffix(word, "-")), nil)
		case key == "-":
			w.Add(h.nowMs(), nil, []byte(value))
		default:
			w.Add(h.nowMs(), []byte(key), []byte(value))
		}
	}
	b, err := w.Build(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return b
}

// say appends each argument as a batch.
func (h *harness) say(batches ...string) {
	h.t.Helper()
	for _, words := range batches {
		h.append(h.parse(words))
	}
}

// as makes a batch one of a producer, and of a transaction of it if transactional.
func as(id int64, sequence int32, transactional bool) func(*batch.Builder) {
	return func(w *batch.Builder) {
		w.ProducerID, w.ProducerEpoch, w.BaseSequence, w.Transactional = id, 0, sequence, transactional
	}
}

// marker ends a transaction.
func (h *harness) marker(id int64, commit bool) batch.Batch {
	h.t.Helper()
	w := batch.NewBuilder()
	w.ProducerID, w.ProducerEpoch, w.Transactional, w.Control = id, 0, true, true
	key := []byte{0, 0, 0, 0}
	if commit {
		key[3] = 1
	}
	w.Add(h.nowMs(), key, binary.BigEndian.AppendUint32([]byte{0, 0}, 0))
	b, err := w.Build(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return b
}

// image copies the dir's files as they are.
func image(t testing.TB, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e os.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case rel == ".lock" || rel == ".reserve":
			return nil
		}
		b, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// files lists the names in the log's directory that end in suffix.
func (h *harness) files(suffix string) (names []string) {
	h.t.Helper()
	paths, err := filepath.Glob(filepath.Join(h.opts.Path, "t-0", "*"+suffix))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}
