package segmenttest

import (
	"io/fs"
	"iter"
	"math"
	"strings"
	"syscall"
)

// kind says what an event is.
type kind uint8

const (
	evWrite      kind = iota // bytes through the page cache
	evBegin                  // a write of the engine is handed to the kernel
	evTruncate               // size becomes off
	evAllocate               // size becomes off if it is less
	evSync                   // of a file
	evFlushBegin             // fdatasync is handed to the kernel
	evName                   // an entry for a new node
	evRename
	evRemove
	evSyncDir
	evSyncfs
	evDone // an operation of the engine is done
)

// never is the end of what has not ended.
const never = math.MaxInt

// event is one thing that happened.
type event struct {
	Kind    kind
	Durable bool // evBegin: with RWF_DSYNC
	Dir     bool // evName: of a directory
	Node    int
	Off     int64
	Data    []byte
	At      entry // evName, evRename: the new entry
	From    entry // evRename, evRemove: the one that goes
	Done    int   // index of the event at which it was done: its own but for the engine's
}

// entry is a name in a directory.
type entry struct {
	Dir  int
	Name string
}

// tree says which node each entry leads to.
type tree map[entry]int

func (t tree) apply(e *event) {
	switch e.Kind {
	case evName:
		t[e.At] = e.Node
	case evRename:
		delete(t, e.From)
		t[e.At] = e.Node
	case evRemove:
		delete(t, e.From)
	}
}

// ofContent says that an event changes what is in a file, ofNames that it changes directories.
func (e *event) ofContent() bool { return e.Kind <= evAllocate }
func (e *event) ofNames() bool   { return e.Kind >= evName && e.Kind <= evRemove }

func splitPath(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for part := range strings.SplitSeq(path, "/") {
			if part != "" && part != "." && !yield(part) {
				return
			}
		}
	}
}

func inoOf(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
