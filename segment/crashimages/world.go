package crashimages

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"

	"millrace/segment"
	"millrace/segment/batch"
	"millrace/segment/segmenttest"
)

// world is a dir in use by a scenario, and what is known about it.
type world struct {
	path string
	rec  *segmenttest.Recorder
	rnd  *rand.Rand
	dir  *segment.Dir
	logs map[string]*liveLog
	from int // images are taken from here on

	mu    sync.Mutex
	facts *Facts
	moved sync.Cond // durable offsets
}

// liveLog is an open log and its facts.
type liveLog struct {
	*segment.Log
	w     *world
	facts *LogFacts
	epoch int32
}

// failure is how steps of a scenario end it.
type failure struct{ error }

func (w *world) must(err error, what string) {
	if err != nil {
		panic(failure{fmt.Errorf("%s: %w", what, err)})
	}
}

// commits are the ways in which the log can commit; runs take turns.
var commits = []string{"journal", "direct", "auto"}

func newWorld(path string, seed uint64) (*world, error) {
	rec, err := segmenttest.NewRecorder(path)
	if err != nil {
		return nil, err
	}
	w := &world{path: path, rec: rec, rnd: rand.New(rand.NewPCG(seed, 1)), facts: &Facts{Commit: commits[seed/8%3]}, logs: map[string]*liveLog{}}
	w.moved.L = &w.mu
	return w, nil
}

// interesting says that crashes before this moment are not.
func (w *world) interesting() { w.from = w.rec.Position() }

func (w *world) open() {
	if n := len(w.facts.Cleans); n > 0 && w.facts.Cleans[n-1].To == never {
		w.facts.Cleans[n-1].To = w.rec.Position()
	}
	var err error
	w.dir, err = segment.OpenDir(dirOptions(w.path, w.rec, w.facts.Commit))
	w.must(err, "open")
	for _, l := range w.logs {
		w.openLog(l)
	}
}

// shut closes the dir cleanly: all that was appended is then on the disk.
func (w *world) shut() {
	w.must(w.dir.Close(), "close")
	for _, l := range w.logs {
		l.noteDrops()
	}
	at := w.rec.Position()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts.Cleans = append(w.facts.Cleans, span{at, never})
	for _, l := range w.logs {
		l.facts.acknowledge(never, at)
	}
}

func (w *world) create(topic string, cfg segment.LogConfig) *liveLog {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], w.rnd.Uint64())
	l := &liveLog{w: w, facts: &LogFacts{
		Topic: topic, ID: id, Config: cfg, Created: w.rec.Position(), Deleted: span{never, never},
	}}
	w.mu.Lock()
	w.facts.Logs = append(w.facts.Logs, l.facts)
	w.mu.Unlock()
	w.logs[topic] = l
	w.openLog(l)
	return l
}

func (w *world) openLog(l *liveLog) {
	var err error
	l.Log, err = w.dir.OpenLog(l.facts.Topic, 0, segment.LogOptions{
		TopicID: l.facts.ID, Config: l.facts.Config, OnDurable: func(o int64) {
			if l.facts.Config.Durability != segment.Async {
				w.durable(l.facts, o)
			}
		},
		OnFailed: func(error) { w.moved.Broadcast() },
	})
	w.must(err, "open log")
}

// durable notes an acknowledgement.
func (w *world) durable(f *LogFacts, offset int64) {
	at := w.rec.Position()
	w.mu.Lock()
	defer w.mu.Unlock()
	f.acknowledge(offset, at)
	w.moved.Broadcast()
}

func (f *LogFacts) acknowledge(below int64, at int) {
	for i := len(f.Batches) - 1; i >= 0; i-- {
		if b := f.Batches[i]; b.Last < int64(below) && b.Durable == never && b.Cut.From == never {
			b.Durable = at
		}
	}
}

// append appends a batch of n records. It does not wait.
func (l *liveLog) append(n, size int) {
	w := l.w
	b := &Batch{Base: l.EndOffset(), Durable: never, Cut: span{never, never}, Producer: batch.NoProducerID}
	build := batch.NewBuilder()
	if w.rnd.IntN(2) == 0 {
		b.Producer = 10 + int64(w.rnd.IntN(2))
		build.ProducerID, build.ProducerEpoch, build.BaseSequence = b.Producer, 0, l.facts.nextSequence(b.Producer)
		b.Sequence = build.BaseSequence + int32(n) - 1
	}
	value := make([]byte, 0, size+sha256.Size)
	for i := range n {
		// Content that no other batch has.
		for value = value[:0]; len(value) < size; {
			var seed [16]byte
			binary.BigEndian.PutUint64(seed[:], w.rnd.Uint64())
			s := sha256.Sum256(seed[:])
			value = append(value, s[:]...)
		}
		build.Add(1_700_000_000_000+int64(i), nil, value[:size])
	}
	built, err := build.Build(nil)
	w.must(err, "build")
	b.Last, b.Sum = b.Base+int64(n)-1, sum(built)
	w.mu.Lock()
	l.facts.Batches = append(l.facts.Batches, b)
	w.mu.Unlock()
	info, err := l.Append(built, l.epoch)
	w.must(err, "append")
	if info.BaseOffset != b.Base || info.LastOffset != b.Last {
		panic(failure{fmt.Errorf("appended at %d to %d, expected %d to %d", info.BaseOffset, info.LastOffset, b.Base, b.Last)})
	}
}

func (f *LogFacts) nextSequence(producer int64) int32 {
	for i := len(f.Batches) - 1; i >= 0; i-- {
		if b := f.Batches[i]; b.Producer == producer && b.Cut.From == never {
			return b.Sequence + 1
		}
	}
	return 0
}

// settle waits until all that was appended is acknowledged. An async log acknowledges what it has flushed.
func (l *liveLog) settle() {
	w := l.w
	if l.facts.Config.Durability == segment.Async {
		w.durable(l.facts, l.DurableOffset())
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for n := len(l.facts.Batches); n > 0 && l.facts.Batches[n-1].Cut.From == never && l.facts.Batches[n-1].Durable == never; {
		w.must(w.dir.Err(), "settle")
		w.moved.Wait()
	}
}

func (l *liveLog) truncate(offset int64) {
	w := l.w
	from := w.rec.Position()
	w.mu.Lock()
	var cut []*Batch
	for _, b := range l.facts.Batches {
		if b.Last >= offset && b.Cut.From == never {
			b.Cut.From = from
			cut = append(cut, b)
		}
	}
	end := offset // a batch goes whole
	if len(cut) > 0 {
		end = cut[0].Base
	}
	for i, e := range l.facts.Epochs {
		if e.Start >= end {
			l.facts.Epochs[i].Span.To = never // nothing is left of it
		}
	}
	w.mu.Unlock()
	w.must(l.Truncate(offset), "truncate")
	to := w.rec.Position()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range cut {
		b.Cut.To = to
	}
}

// advance deletes records below an offset.
func (l *liveLog) advance(offset int64) {
	w := l.w
	c := change{Value: offset, Span: span{w.rec.Position(), never}}
	w.must(l.AdvanceStartOffset(offset), "advance start offset")
	c.Span.To = w.rec.Position()
	w.mu.Lock()
	defer w.mu.Unlock()
	l.facts.Starts = append(l.facts.Starts, c)
}

func (l *liveLog) assignEpoch() {
	w := l.w
	l.epoch++
	c := change{int64(l.epoch), span{w.rec.Position(), never}, l.EndOffset()}
	w.must(l.AssignLeaderEpoch(l.epoch), "assign leader epoch")
	c.Span.To = w.rec.Position()
	if l.EndOffset() == 0 {
		c.Span.To = never // nothing was ever appended
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	l.facts.Epochs = append(l.facts.Epochs, c)
}

// noteDrops notes how far retention has come. It works in the background, too.
func (l *liveLog) noteDrops() {
	if l.facts.Config.RetentionBytes >= 0 {
		l.facts.DropsUpTo = max(l.facts.DropsUpTo, l.StartOffset())
	}
}

func (l *liveLog) retain() {
	_, err := l.ApplyRetention()
	l.w.must(err, "retention")
}

func (l *liveLog) delete() {
	w := l.w
	w.mu.Lock()
	l.facts.Deleted.From = w.rec.Position()
	w.mu.Unlock()
	l.noteDrops()
	w.must(l.Delete(), "delete")
	w.mu.Lock()
	l.facts.Deleted.To = w.rec.Position()
	w.mu.Unlock()
	delete(w.logs, l.facts.Topic)
}
