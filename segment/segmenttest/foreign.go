package segmenttest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// isIndex says that a file is written behind the recorder's back.
func isIndex(path string) bool {
	name := strings.TrimSuffix(filepath.Base(path), ".deleted")
	return strings.HasSuffix(name, ".index") || strings.HasSuffix(name, ".timeindex") || strings.HasSuffix(name, ".txnindex")
}

// lookAll takes in what was done to indexes in all directories.
func (r *Recorder) lookAll() {
	r.look(r.root)
	entries, _ := os.ReadDir(r.root)
	for _, e := range entries {
		if e.IsDir() {
			r.look(filepath.Join(r.root, e.Name()))
		}
	}
}

// look takes in what was done to indexes in one directory.
func (r *Recorder) look(dir string) {
	at := r.entry(filepath.Join(dir, "x")).Dir
	if at < 0 {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	there := map[string]bool{}
	for _, e := range entries {
		name := e.Name()
		there[name] = true
		if !isIndex(name) {
			continue
		}
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		if err != nil {
			delete(there, name)
			continue
		}
		old := r.lookup(path)
		n := old
		if fi, err := os.Lstat(path); err == nil && (old == nil || old.ino != inoOf(fi)) {
			// Another file than before, or none was there.
			if n, err = r.adopt(path, false); err != nil {
				continue
			}
			n.foreign = true
			r.note(event{Kind: evName, At: entry{at, name}, Node: n.id})
		}
		r.lookInto(n, b)
	}
	for e, id := range r.tree {
		if e.Dir == at && r.nodes[id].foreign && !there[e.Name] {
			r.note(event{Kind: evRemove, From: e})
		}
	}
}

// lookInto notes how the content of a file has changed since it was last seen, as one write.
func (r *Recorder) lookInto(n *node, b []byte) {
	old := n.seen
	n.seen = b
	if len(b) < len(old) {
		r.note(event{Kind: evTruncate, Node: n.id, Off: int64(len(b))})
		old = old[:len(b)]
	} else if len(b) > len(old) {
		r.note(event{Kind: evAllocate, Node: n.id, Off: int64(len(b))})
		old = append(old[:len(old):len(old)], make([]byte, len(b)-len(old))...)
	}
	if bytes.Equal(b, old) {
		return
	}
	from, to := 0, len(b)
	for b[from] == old[from] {
		from++
	}
	for b[to-1] == old[to-1] {
		to--
	}
	r.note(event{Kind: evWrite, Node: n.id, Off: int64(from), Data: b[from:to]})
}
