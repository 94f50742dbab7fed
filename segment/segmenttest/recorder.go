package segmenttest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"millrace/segment"
	"millrace/segment/uring"
)

// Recorder is a segment.Disk that writes down, in order, everything that is done to the files below its root, for
// crash images (see Crash). Operations are carried out, too, so that the log finds what it wrote; nothing is synced in
// earnest. Methods may be called from any goroutine.
//
// Indexes are written through memory maps, which nobody can record: their content is looked up whenever something is
// done in their directory.
type Recorder struct {
	segment.RealDisk
	root string

	mu     sync.Mutex
	events []event
	tree   tree
	nodes  []*node
	byFile map[uint64]int // inode number to node
}

// node is a file or directory as the recorder sees it, by whatever name.
type node struct {
	id      int
	dir     bool
	foreign bool   // changed behind the recorder's back
	seen    []byte // content of a foreign file when last looked at
	ino     uint64
}

// NewRecorder makes a recorder of the directory root, which exists. What is in it now counts as being on the disk.
func NewRecorder(root string) (*Recorder, error) {
	r := &Recorder{root: root, tree: tree{}, byFile: map[uint64]int{}}
	if _, err := r.adopt(root, true); err != nil {
		return nil, err
	}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root || e.Name() == ".lock" {
			return err
		}
		n, err := r.adopt(path, e.IsDir())
		if err != nil {
			return err
		}
		r.note(event{Kind: evName, Dir: n.dir, At: r.entry(path), Node: n.id})
		if e.IsDir() {
			return nil
		}
		if fi, err := e.Info(); err == nil && e.Name() == ".reserve" {
			r.note(event{Kind: evAllocate, Node: n.id, Off: fi.Size()}) // there is nothing in it
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n.foreign = isIndex(path)
		n.seen = b
		r.note(event{Kind: evWrite, Node: n.id, Data: b})
		return nil
	})
	r.note(event{Kind: evSyncfs})
	return r, err
}

// Position is how many events were recorded so far. An image of a crash at position k has seen the first k of them.
func (r *Recorder) Position() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

// note appends an event and returns its index.
func (r *Recorder) note(e event) int {
	i := len(r.events)
	e.Done = i
	if e.Kind == evBegin || e.Kind == evFlushBegin {
		e.Done = never
	}
	r.tree.apply(&e)
	r.events = append(r.events, e)
	return i
}

// adopt makes a node for the file at path.
func (r *Recorder) adopt(path string, dir bool) (*node, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return nil, fmt.Errorf("record %s: %w", path, err)
	}
	n := &node{id: len(r.nodes), dir: dir, ino: st.Ino}
	r.nodes = append(r.nodes, n)
	r.byFile[st.Ino] = n.id
	return n, nil
}

// entry finds the directory entry that path names. Its directory must be known.
func (r *Recorder) entry(path string) entry {
	rel, err := filepath.Rel(r.root, filepath.Clean(path))
	if err != nil {
		panic(fmt.Sprintf("segmenttest: %s is not below %s", path, r.root))
	}
	dir, name := filepath.Split(rel)
	at := 0
	for part := range splitPath(dir) {
		id, ok := r.tree[entry{at, part}]
		if !ok {
			return entry{-1, name}
		}
		at = id
	}
	return entry{at, name}
}

func (r *Recorder) lookup(path string) *node {
	if id, ok := r.tree[r.entry(path)]; ok {
		return r.nodes[id]
	}
	return nil
}

// fileOf is the node of an open file, nil if it is not the recorder's business.
func (r *Recorder) fileOf(fd int) *node {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return nil
	}
	if id, ok := r.byFile[st.Ino]; ok {
		return r.nodes[id]
	}
	r.lookAll()
	if id, ok := r.byFile[st.Ino]; ok {
		return r.nodes[id]
	}
	return nil
}

// Open implements segment.Disk.
func (r *Recorder) Open(path string, flags int) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if flags&unix.O_CREAT != 0 {
		r.look(filepath.Dir(path))
	}
	old := r.lookup(path)
	fd, err := r.RealDisk.Open(path, flags)
	if err != nil {
		return fd, err
	}
	switch {
	case old == nil && flags&unix.O_CREAT != 0:
		n, err := r.adopt(path, false)
		if err != nil {
			return fd, err
		}
		r.note(event{Kind: evName, At: r.entry(path), Node: n.id})
	case old != nil && flags&unix.O_TRUNC != 0:
		r.note(event{Kind: evTruncate, Node: old.id})
	}
	return fd, nil
}

// WriteAt implements segment.Disk.
func (r *Recorder) WriteAt(fd int, b []byte, off int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.fileOf(fd); n != nil {
		r.note(event{Kind: evWrite, Node: n.id, Off: off, Data: append([]byte(nil), b...)})
	}
	return r.RealDisk.WriteAt(fd, b, off)
}

// Fallocate implements segment.Disk. The file gets holes: room is not what is tested here.
func (r *Recorder) Fallocate(fd int, off, size int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.fileOf(fd); n != nil {
		r.note(event{Kind: evAllocate, Node: n.id, Off: off + size})
	}
	return extendSparse(fd, off+size)
}

func extendSparse(fd int, size int64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Size >= size {
		return err
	}
	return unix.Ftruncate(fd, size)
}

// Truncate implements segment.Disk.
func (r *Recorder) Truncate(fd int, size int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.fileOf(fd); n != nil {
		r.note(event{Kind: evTruncate, Node: n.id, Off: size})
	}
	return r.RealDisk.Truncate(fd, size)
}

// Fsync implements segment.Disk.
func (r *Recorder) Fsync(fd int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.fileOf(fd)
	if n == nil {
		return nil
	}
	r.lookAll()
	if n.dir {
		r.note(event{Kind: evSyncDir, Node: n.id})
	} else {
		r.note(event{Kind: evSync, Node: n.id})
	}
	return nil
}

// Syncfs implements segment.Disk.
func (r *Recorder) Syncfs(int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookAll()
	r.note(event{Kind: evSyncfs})
	return nil
}

// Mkdir implements segment.Disk.
func (r *Recorder) Mkdir(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.RealDisk.Mkdir(path); err != nil {
		return err
	}
	n, err := r.adopt(path, true)
	if err == nil {
		r.note(event{Kind: evName, Dir: true, At: r.entry(path), Node: n.id})
	}
	return err
}

// Rename implements segment.Disk.
func (r *Recorder) Rename(from, to string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.look(filepath.Dir(from))
	n := r.lookup(from)
	if err := r.RealDisk.Rename(from, to); err != nil {
		return err
	}
	if n == nil {
		panic("segmenttest: renamed file is unknown: " + from)
	}
	r.note(event{Kind: evRename, From: r.entry(from), At: r.entry(to), Node: n.id})
	return nil
}

// Remove implements segment.Disk.
func (r *Recorder) Remove(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.remove(path)
}

func (r *Recorder) remove(path string) error {
	r.look(filepath.Dir(path))
	if err := r.RealDisk.Remove(path); err != nil {
		return err
	}
	r.note(event{Kind: evRemove, From: r.entry(path)})
	return nil
}

// RemoveAll implements segment.Disk.
func (r *Recorder) RemoveAll(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries, _ := os.ReadDir(path) // of a directory
	for _, e := range entries {
		if err := r.remove(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(path); err != nil {
		return nil // as os.RemoveAll
	}
	return r.remove(path)
}

// Engine implements segment.Disk.
func (r *Recorder) Engine(e segment.Engine) segment.Engine {
	return &recordingEngine{Engine: e, r: r, begun: map[*uring.Op]int{}}
}

// recordingEngine notes when operations begin and end.
type recordingEngine struct {
	segment.Engine
	r     *Recorder
	begun map[*uring.Op]int // index of the event
}

func (e *recordingEngine) Queue(op *uring.Op) {
	r := e.r
	r.mu.Lock()
	if n := r.fileOf(op.Fd); n != nil {
		ev := event{Kind: evFlushBegin, Node: n.id}
		if op.Kind == uring.Write {
			ev.Kind, ev.Off, ev.Durable = evBegin, op.Off, op.Durable
			for _, v := range op.Iov {
				ev.Data = append(ev.Data, uring.Bytes(v)...)
			}
		}
		e.begun[op] = r.note(ev)
	}
	r.mu.Unlock()
	e.Engine.Queue(op)
}

func (e *recordingEngine) Wait(done []*uring.Op) ([]*uring.Op, error) {
	before := len(done)
	done, err := e.Engine.Wait(done)
	e.r.mu.Lock()
	defer e.r.mu.Unlock()
	for _, op := range done[before:] {
		i, ok := e.begun[op]
		if ok && op.Err == nil {
			e.r.events[i].Done = e.r.note(event{Kind: evDone, Node: e.r.events[i].Node})
		}
		delete(e.begun, op)
	}
	return done, err
}
