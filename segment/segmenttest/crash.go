package segmenttest

// Recording is what a Recorder has seen.
type Recording struct {
	Events []event
}

// Recording returns what was recorded so far.
func (r *Recorder) Recording() *Recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookAll()
	return &Recording{append([]event(nil), r.events...)}
}

// Positions is one more than the last position at which a crash can be.
func (rec *Recording) Positions() int { return len(rec.Events) + 1 }

// Crash is a loss of power after the first At events of a recording, and what it leaves open.
//
// Certain is, of a file: what was written with RWF_DSYNC and is done, and all that was done before a sync of the file
// or the file system began that has ended. Of a directory: the entries made and removed before it was synced. All the
// rest is pending and may or may not have reached the disk, in any order; a write may have reached it in part, by
// sectors of 512 bytes. A file may be as long as a pending write makes it and have zeros there.
type Crash struct {
	rec *Recording
	At  int

	names   []int        // pending changes of directories, indexes of events
	first   int          // how many of names come before one that is certain
	mustBe  map[int]bool // changes of directories that are certain
	files   map[int]*fileAt
	pending []int // pending changes of contents
}

// fileAt is a file at the time of a crash: what it certainly was once, and what may have happened after that.
type fileAt struct {
	base content
	then []int // events, of which some are certain
}

// Crash works out what a crash at a position leaves.
func (rec *Recording) Crash(at int) *Crash {
	c := &Crash{rec: rec, At: at, mustBe: map[int]bool{}, files: map[int]*fileAt{}}
	synced, all := rec.syncs(at)
	for i := range rec.Events[:at] {
		e := &rec.Events[i]
		switch {
		case e.ofNames():
			if i < all || e.Kind != evRemove && i < synced[e.At.Dir] || e.Kind != evName && i < synced[e.From.Dir] {
				c.mustBe[i] = true
				c.first = len(c.names)
			} else {
				c.names = append(c.names, i)
			}
		case e.ofContent():
			f := c.files[e.Node]
			if f == nil {
				f = &fileAt{}
				c.files[e.Node] = f
			}
			certain := e.Done < max(all, synced[e.Node]) || e.Durable && e.Done < at
			if certain && len(f.then) == 0 {
				f.base.apply(e)
				continue
			}
			f.then = append(f.then, i)
			if certain {
				c.mustBe[i] = true
			} else {
				c.pending = append(c.pending, i)
			}
		}
	}
	return c
}

// syncs finds, for each node, when the last sync of it began that has ended by a position, and that of everything.
func (rec *Recording) syncs(at int) (synced map[int]int, all int) {
	synced, all = map[int]int{}, -1
	for i := range rec.Events[:at] {
		switch e := &rec.Events[i]; {
		case e.Kind == evSyncfs:
			all = i
		case e.Kind == evSync || e.Kind == evSyncDir || e.Kind == evFlushBegin && e.Done < at:
			synced[e.Node] = i
		}
	}
	for i := range rec.Events[:at] {
		if n := rec.Events[i].Node; all > synced[n] {
			synced[n] = all
		}
	}
	return synced, all
}

// content is what is in a file. Bytes between len(data) and size are zeros.
type content struct {
	data []byte
	size int64
}

func (c *content) apply(e *event) {
	switch e.Kind {
	case evWrite, evBegin:
		c.write(e.Data, e.Off)
	case evTruncate:
		c.size = e.Off
		if int64(len(c.data)) > e.Off {
			c.data = c.data[:e.Off]
		}
	case evAllocate:
		c.size = max(c.size, e.Off)
	}
}

func (c *content) write(b []byte, off int64) {
	end := off + int64(len(b))
	c.size = max(c.size, end)
	if n := end - int64(len(c.data)); n > 0 {
		c.data = append(c.data, make([]byte, n)...)
	}
	copy(c.data[off:], b)
}

// sector is what a disk writes whole, bytes.
const sector = 512

// applyPart writes the sectors of a write that keep says, counted from its first one. With size, the file is as long as
// if all were written.
func (c *content) applyPart(e *event, size bool, keep func(sector int) bool) {
	end := e.Off + int64(len(e.Data))
	for i, from := 0, e.Off; from < end; i++ {
		to := min(from-from%sector+sector, end)
		if keep(i) {
			c.write(e.Data[from-e.Off:to-e.Off], from)
		}
		from = to
	}
	if size {
		c.size = max(c.size, end)
	}
}

// sectors is how many sectors a write touches.
func (e *event) sectors() int {
	if e.Kind != evWrite && e.Kind != evBegin || len(e.Data) == 0 {
		return 1
	}
	return int((e.Off+int64(len(e.Data))-1)/sector-e.Off/sector) + 1
}
