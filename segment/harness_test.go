package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"millrace/segment"
	"millrace/segment/batch"
)

// combination is one of the ways the log can write.
type combination struct{ engine, io, commit string }

func (c combination) String() string { return c.engine + "-" + c.io + "-" + c.commit }

// combinations are those this build and file system have.
func combinations(t testing.TB, dir string) (out []combination) {
	for _, c := range []combination{
		{"ring", "direct", "journal"}, {"ring", "direct", "direct"}, {"ring", "buffered", "journal"},
		{"pwritev2", "direct", "direct"}, {"pwritev2", "buffered", "journal"}, {"pwritev2", "buffered", "direct"},
	} {
		d, err := segment.OpenDir(options(filepath.Join(dir, "probe-"+c.String()), c))
		if err != nil {
			t.Logf("%s: not here: %v", c, err)
			continue
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// onEach runs a test on each combination.
func onEach(t *testing.T, f func(t *testing.T, h *harness)) {
	t.Helper()
	for _, c := range combinations(t, t.TempDir()) {
		t.Run(c.String(), func(t *testing.T) { f(t, newHarness(t, c, t.TempDir())) })
	}
}

// onOne runs a test on the machine's combination, without the journal: files are as the test expects them.
func onOne(t *testing.T) *harness {
	return newHarness(t, combination{"auto", "auto", "direct"}, t.TempDir())
}

// inMemory runs a test with buffered I/O, in memory if the machine has such a file system: for many small cases.
func inMemory(t *testing.T) *harness {
	dir := t.TempDir()
	if shm, err := os.MkdirTemp("/dev/shm", "segment"); err == nil {
		t.Cleanup(func() { os.RemoveAll(shm) })
		dir = shm
	}
	return newHarness(t, combination{"pwritev2", "buffered", "direct"}, dir)
}

// harness opens dirs and logs of one test.
type harness struct {
	t       testing.TB
	path    string
	opts    segment.DirOptions
	cfg     segment.LogConfig
	home    string // the first path
	crashes int

	mu  sync.Mutex
	now time.Time
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func options(path string, c combination) segment.DirOptions {
	return segment.DirOptions{
		Path: path, NodeID: 1, ClusterID: "cluster", Engine: c.engine, IO: c.io, Commit: c.commit, SlabBytes: 16 << 20,
		JournalBytes: 256 << 10,
		Logger:       quiet, RetentionCheckInterval: -1,
	}
}

func newHarness(t testing.TB, c combination, path string) *harness {
	h := &harness{t: t, path: path, home: path, opts: options(path, c), now: time.UnixMilli(1_700_000_000_000)}
	h.opts.Now = func() time.Time {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.now
	}
	h.cfg = segment.LogConfig{
		SegmentBytes: 1 << 30, SegmentMs: 1 << 40, SegmentIndexBytes: 10 << 20, IndexIntervalBytes: 4096,
		RetentionMs: -1, RetentionBytes: -1, DeleteByRetention: true, FlushMessages: 1 << 60, FlushMs: 1 << 60,
		ProducerExpirationMs: 1 << 40,
	}
	return h
}

func (h *harness) advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func (h *harness) nowMs() int64 { return h.opts.Now().UnixMilli() }

func (h *harness) open() *segment.Dir {
	h.t.Helper()
	d, err := segment.OpenDir(h.opts)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { d.Close() })
	return d
}

// watched is a log with its callbacks.
type watched struct {
	*segment.Log
	t       testing.TB
	mu      sync.Mutex
	changed sync.Cond
	durable int64
	failed  error
	calls   int
}

var topicID = [16]byte{1, 2, 3}

func (h *harness) log(d *segment.Dir, topic string) *watched {
	h.t.Helper()
	w, err := h.tryLog(d, topic)
	if err != nil {
		h.t.Fatal(err)
	}
	return w
}

func (h *harness) tryLog(d *segment.Dir, topic string) (*watched, error) {
	w := &watched{t: h.t}
	w.changed.L = &w.mu
	var err error
	w.Log, err = d.OpenLog(topic, 0, segment.LogOptions{
		TopicID: topicID, Config: h.cfg,
		OnDurable: func(o int64) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if o < w.durable {
				h.t.Errorf("durable offset went back from %d to %d", w.durable, o)
			}
			w.durable = o
			w.calls++
			w.changed.Broadcast()
		},
		OnFailed: func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.failed != nil {
				h.t.Errorf("failed twice: %v, %v", w.failed, err)
			}
			w.failed = err
			w.changed.Broadcast()
		},
	})
	if err == nil {
		w.durable = w.DurableOffset() // what was found is not reported
	}
	return w, err
}

// settle waits until everything appended is durable, by the callback.
func (w *watched) settle() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.durable < w.EndOffset() && w.failed == nil {
		w.changed.Wait()
	}
	if w.failed != nil {
		w.t.Fatalf("log failed: %v", w.failed)
	}
}

// awaitFailure waits for OnFailed.
func (w *watched) awaitFailure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.failed == nil {
		w.changed.Wait()
	}
	return w.failed
}

// truncate truncates; durable offsets then start over from there.
func (w *watched) truncate(offset int64) {
	w.t.Helper()
	if err := w.Truncate(offset); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.durable = min(w.durable, w.EndOffset())
}

func (w *watched) durableSeen() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.durable
}

// build makes a batch of n records with values of the given size.
func build(t testing.TB, n, size int, ts int64, change ...func(*batch.Builder)) batch.Batch {
	t.Helper()
	w := batch.NewBuilder()
	for _, c := range change {
		c(w)
	}
	value := bytes.Repeat([]byte{byte(size), 1, 2, 3, 4, 5, 6, 7, 8}, size/9+1)[:size]
	for i := range n {
		if size > 1 {
			value[1] = byte(i)
		}
		w.Add(ts+int64(i), nil, value)
	}
	b, err := w.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// append appends and fails the test if that fails.
func (w *watched) append(b batch.Batch) segment.AppendInfo {
	w.t.Helper()
	info, err := w.Append(b, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return info
}

// bytesOf reads ranges and releases them.
func bytesOf(ranges []segment.Range) ([]byte, error) {
	var out []byte
	var err error
	for _, r := range ranges {
		if r.Mem != nil {
			out = append(out, r.Mem...)
		} else if err == nil {
			b := make([]byte, r.Len)
			var n int
			if r.Fd == 0 {
				err = errors.New("file range with descriptor 0")
			} else if n, err = unix.Pread(r.Fd, b, r.Off); err == nil && n != r.Len {
				err = fmt.Errorf("%d of %d bytes", n, r.Len)
			}
			out = append(out, b...)
		}
		r.Ref.Release()
	}
	return out, err
}

// contents reads the whole log and checks that each batch is whole and follows the one before.
func (w *watched) contents() (batches []batch.Batch) {
	w.t.Helper()
	next := int64(-1)
	err := w.ReadBatches(w.StartOffset(), w.EndOffset(), func(b batch.Batch) error {
		if !b.ValidCRC() {
			return fmt.Errorf("CRC of batch at %d", b.BaseOffset())
		}
		if next >= 0 && b.BaseOffset() != next {
			return fmt.Errorf("batch at %d follows offset %d", b.BaseOffset(), next)
		}
		next = b.NextOffset()
		batches = append(batches, bytes.Clone(b))
		return nil
	})
	if err != nil {
		w.t.Fatalf("read %d to %d: %v", w.StartOffset(), w.EndOffset(), err)
	}
	if len(batches) > 0 && next != w.EndOffset() {
		w.t.Fatalf("read to %d of %d", next, w.EndOffset())
	}
	return batches
}

// samePayload compares batches but for base offset and leader epoch.
func samePayload(a, b batch.Batch) bool {
	return len(a) == len(b) && bytes.Equal(a[16:], b[16:]) && bytes.Equal(a[8:12], b[8:12])
}

// crash copies the dir as it is, as a kill of the process would leave it, and makes the harness use the copy.
func (h *harness) crash() {
	h.t.Helper()
	h.crashes++
	to := fmt.Sprintf("%s-crash%d", h.home, h.crashes)
	h.t.Cleanup(func() { os.RemoveAll(to) })
	if err := copyDir(h.path, to); err != nil {
		h.t.Fatal(err)
	}
	h.path, h.opts.Path = to, to
}

func copyDir(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if rel == ".lock" || rel == ".reserve" {
			return nil
		}
		return copyFile(path, filepath.Join(to, rel))
	})
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a temporary file, or one deleted meanwhile
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}

// logFile is the path of a segment file.
func (h *harness) logFile(topic string, base int64, suffix string) string {
	return filepath.Join(h.path, topic+"-0", fmt.Sprintf("%020d%s", base, suffix))
}

// corruptAt flips the bytes of a file in [from, to).
func corruptAt(t testing.TB, path string, from, to int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, to-from)
	if _, err := f.ReadAt(b, from); err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] ^= 0xa5
	}
	if _, err := f.WriteAt(b, from); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}
