package crashimages

import (
	"math"

	"millrace/segment"
)

// never is the position of what has not happened.
const never = math.MaxInt

// Facts are what one run has done and been promised, with positions in its recording. A thing that began at position b
// and returned at e has done nothing in an image at a position up to b, and must show in one from e on; in
// between it may.
type Facts struct {
	Commit string // of segment.DirOptions
	Logs   []*LogFacts
	Cleans []span // clean shutdowns, until the dir was opened again
}

type span struct{ From, To int }

// LogFacts are about one log: a partition of one topic id.
type LogFacts struct {
	Topic   string
	ID      [16]byte
	Config  segment.LogConfig
	Created int
	Deleted span // of Delete; From is never while the topic lives
	Batches []*Batch
	Starts  []change // log start offsets, asked for
	Epochs  []change // leader epochs that were assigned
	// DropsUpTo is the highest log start offset that retention may have set by itself.
	DropsUpTo int64
}

// Batch was appended.
type Batch struct {
	Base, Last int64
	Sum        uint64
	Durable    int  // acknowledged
	Cut        span // of the truncation that took it
	Producer   int64
	Sequence   int32 // of the last record
}

// change is something that was to become Value.
type change struct {
	Value int64
	Span  span
	Start int64 // of a leader epoch, its first offset
}

// lives says that the metadata knows the log at a position.
func (f *LogFacts) lives(at int) bool { return f.Created <= at && at <= f.Deleted.From }

// gone says that the log is deleted for certain.
func (f *LogFacts) gone(at int) bool { return f.Deleted.To <= at }

// must says that a batch has to be there in an image at a position, may that it can be.
func (b *Batch) must(at int) bool { return b.Durable <= at && at <= b.Cut.From }
func (b *Batch) may(at int) bool  { return at < b.Cut.To }

// bounds are the least a value must be and the most it may be at a position.
func bounds(changes []change, at int, least, most int64) (int64, int64) {
	for _, c := range changes {
		if c.Span.To <= at {
			least = max(least, c.Value)
		}
		if c.Span.From < at {
			most = max(most, c.Value)
		}
	}
	return least, max(least, most)
}

// epoch is the least leader epoch of a log that ends at an offset, after a crash at a position. One that would begin
// behind the end is forgotten with what was before it.
func (f *LogFacts) epoch(at int, end int64) int64 {
	least := int64(-1)
	for _, c := range f.Epochs {
		if c.Span.To <= at && c.Start <= end {
			least = max(least, c.Value)
		}
	}
	return least
}

// clean says that the last thing before a position was a clean shutdown.
func (f *Facts) clean(at int) bool {
	for _, s := range f.Cleans {
		if s.From <= at && at <= s.To {
			return true
		}
	}
	return false
}

// after are the facts of a run that begins with what a recovery of an image at a position has found.
func (f *Facts) after(at int, found map[*LogFacts]*state, returned int) *Facts {
	out := &Facts{Commit: f.Commit}
	for _, l := range f.Logs {
		s := found[l]
		if s == nil {
			gone := &LogFacts{Topic: l.Topic, ID: l.ID, Created: -1, Deleted: span{-1, -1}}
			if !l.gone(at) {
				gone.Deleted.To = returned // by then it was set aside
			}
			if l.Created <= at {
				out.Logs = append(out.Logs, gone)
			}
			continue
		}
		n := &LogFacts{Topic: l.Topic, ID: l.ID, Config: l.Config, Created: 0, Deleted: span{never, never}}
		least, most := bounds(l.Starts, at, 0, l.DropsUpTo)
		n.Starts = []change{{least, span{-1, 0}, 0}, {s.start, span{-1, returned}, 0}}
		n.DropsUpTo = max(most, s.start)
		n.Epochs = []change{{s.epoch, span{-1, returned}, s.end}}
		for _, e := range l.Epochs {
			if e.Span.To <= at {
				n.Epochs = append(n.Epochs, change{e.Value, span{-1, 0}, e.Start})
			}
		}
		for _, b := range l.Batches {
			if !b.may(at) {
				continue
			}
			c := *b
			c.Durable, c.Cut = never, span{never, never}
			if b.must(at) {
				c.Durable = 0
			}
			switch {
			case b.Last < s.start:
				c.Durable = never // nobody can have seen it
			case s.has(b):
				c.Durable = min(c.Durable, returned)
			default:
				c.Cut = span{-1, returned} // it is not there, so it must not come back
			}
			n.Batches = append(n.Batches, &c)
		}
		out.Logs = append(out.Logs, n)
	}
	return out
}
