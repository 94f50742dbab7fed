package crashimages

import "millrace/segment"

// scenarios are what the log is put through, by name.
var scenarios = []struct {
	name string
	run  func(w *world)
}{
	{"append", appends},
	{"roll", rolls},
	{"restart", restarts},
	{"retention", retention},
	{"delete-records", deleteRecords},
	{"truncate", truncations},
	{"topics", topics},
	{"async", async},
	{"journal", journal},
}

func config(segmentBytes int32) segment.LogConfig {
	return segment.LogConfig{
		SegmentBytes: segmentBytes, SegmentMs: 1 << 40, SegmentIndexBytes: 1 << 20, IndexIntervalBytes: 400,
		RetentionMs: -1, RetentionBytes: -1, DeleteByRetention: true, FlushMessages: 1 << 60, FlushMs: 1 << 60,
		ProducerExpirationMs: 1 << 40,
	}
}

// some appends a few batches of mixed sizes, and waits for them now and then.
func (l *liveLog) some() {
	w := l.w
	for range 1 + w.rnd.IntN(3) {
		size := []int{20, 20, 300, 1300}[w.rnd.IntN(4)]
		l.append(1+w.rnd.IntN(3), size)
	}
	if w.rnd.IntN(3) == 0 {
		l.settle()
	}
}

func (w *world) either(logs ...*liveLog) *liveLog { return logs[w.rnd.IntN(len(logs))] }

// within is an offset between the start and the end of the log, one of the two at times.
func (l *liveLog) within() int64 {
	start, end := l.StartOffset(), l.EndOffset()
	return start + l.w.rnd.Int64N(end-start+1)
}

func appends(w *world) {
	w.open()
	a, b, c := w.create("a", config(64<<10)), w.create("b", config(64<<10)), w.create("c.long", config(64<<10))
	for range 14 {
		w.either(a, b, c).some()
	}
	a.settle()
	b.settle()
}

func rolls(w *world) {
	w.open()
	a, b := w.create("a", config(5000)), w.create("b", config(9000))
	for range 14 {
		w.either(a, b).some()
	}
	a.settle()
	b.settle()
}

func restarts(w *world) {
	w.open()
	a, b := w.create("a", config(5000)), w.create("b", config(64<<10))
	for range 3 {
		for range 1 + w.rnd.IntN(5) {
			w.either(a, b).some()
		}
		w.shut()
		w.open()
	}
	a.some()
	b.some()
}

func retention(w *world) {
	w.open()
	cfg := config(4000)
	cfg.RetentionBytes = 9000
	a, b := w.create("a", cfg), w.create("b", config(4000))
	for range 5 {
		for range 3 {
			w.either(a, a, b).some()
		}
		a.settle()
		a.retain()
	}
}

func deleteRecords(w *world) {
	w.open()
	a, b := w.create("a", config(4000)), w.create("b", config(64<<10))
	for range 6 {
		for range 2 {
			w.either(a, b).some()
		}
		l := w.either(a, b)
		l.settle()
		l.advance(l.within())
		if w.rnd.IntN(2) == 0 {
			l.retain()
		}
	}
}

func truncations(w *world) {
	w.open()
	a, b := w.create("a", config(4000)), w.create("b", config(64<<10))
	if w.rnd.IntN(2) == 0 {
		a.assignEpoch()
		b.assignEpoch()
	}
	for range 6 {
		for range 1 + w.rnd.IntN(3) {
			w.either(a, b).some()
		}
		l := w.either(a, b)
		l.truncate(l.within())
		if w.rnd.IntN(2) == 0 {
			l.assignEpoch()
		}
	}
	a.some()
	b.some()
}

func topics(w *world) {
	w.open()
	a, b := w.create("a", config(5000)), w.create("b", config(64<<10))
	for range 4 {
		for range 1 + w.rnd.IntN(3) {
			w.either(a, b).some()
		}
		if w.rnd.IntN(2) == 0 {
			a.settle()
			if w.rnd.IntN(2) == 0 {
				a.advance(a.within())
			}
		}
		a.delete()
		a = w.create("a", config(5000))
	}
	a.some()
}

func async(w *world) {
	w.open()
	cfg := config(5000)
	cfg.Durability, cfg.FlushMessages = segment.Async, 5
	a, b := w.create("a", cfg), w.create("b", config(5000))
	for i := range 14 {
		w.either(a, a, b).some()
		a.settle()
		if i == 8 {
			w.shut()
			w.open()
		}
	}
}

// journal has many logs with little to write each, so that turns of the journal have several and its files go round.
func journal(w *world) {
	w.facts.Commit = "journal"
	w.open()
	var logs []*liveLog
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		l := w.create(name, config(4000))
		l.append(1, 20)
		logs = append(logs, l)
	}
	for round := range 8 {
		for range 5 {
			w.either(logs...).append(1+w.rnd.IntN(2), []int{20, 100, 1000}[w.rnd.IntN(3)])
		}
		for _, l := range logs {
			l.settle()
		}
		switch i := w.rnd.IntN(len(logs)); {
		case round%3 == 0:
			logs[i].truncate(logs[i].within())
		case round%3 == 1:
			logs[i].delete()
			logs[i] = w.create(logs[i].facts.Topic, config(4000))
			logs[i].append(1, 20)
		}
	}
}
