package journal

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// firstBytes is the size of a journal's first file. Each further one is eight times larger, up to the limit, so
	// that a node with little to do has a small journal.
	firstBytes = 1 << 20
	growth     = 8
	// MaxFiles is how many files there are at most.
	MaxFiles = 4
)

// Journal is the files that turns go to.
type Journal struct {
	disk  Files
	dir   string
	limit int64 // bytes of the largest file
	flags int   // O_DIRECT or 0

	mu         sync.Mutex
	landed     sync.Cond // a turn was placed, or is written, or never will be
	current    *file
	full       []*file // oldest generation first; to be recycled
	spare      []*file // the largest comes last
	files      int
	names      int
	generation uint64
	sequence   uint64 // of the last turn placed
	done       uint64 // of the last turn written
	claimed    bool   // the writer is putting together a turn for the room it was told
	broken     bool
}

// Place is where a turn goes.
type Place struct {
	Fd         int
	Offset     int64
	Bytes      []byte // what to write
	Generation uint64
}

// New makes a journal without files in dir, which exists and has none. Files are at most limit bytes, a multiple of
// Block. direct says that they are written with O_DIRECT.
func New(disk Files, dir string, limit int64, direct bool) *Journal {
	j := &Journal{disk: disk, dir: dir, limit: limit}
	j.landed.L = &j.mu
	if direct {
		j.flags = unix.O_DIRECT
	}
	return j
}

// Room is the longest turn that can be placed now, bytes; 0: there is no file, Prepare has to be called.
func (j *Journal) Room() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.room()
}

// Claim is Room, and it stays so until Place or Unclaim. The writer only.
func (j *Journal) Claim() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.claimed = true
	return j.room()
}

// Unclaim ends a Claim without a turn.
func (j *Journal) Unclaim() {
	j.mu.Lock()
	j.claimed = false
	j.mu.Unlock()
	j.landed.Broadcast()
}

func (j *Journal) room() int64 {
	room := int64(0)
	if j.current != nil {
		room = j.current.size - j.current.used
	}
	if n := len(j.spare); n > 0 {
		room = max(room, j.spare[n-1].size)
	}
	return room
}

// Place seals the turn, which is at most as long as Claim said, and says where it has to be written. One turn is under way at a
// time: Done follows. The writer only.
func (j *Journal) Place(t *Turn) Place {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.done != j.sequence {
		panic("journal: a turn is under way")
	}
	j.claimed = false
	n := int64(t.Size())
	if j.current == nil || j.current.size-j.current.used < n {
		last := len(j.spare) - 1
		if last < 0 || j.spare[last].size < n {
			panic(fmt.Sprintf("journal: no room for a turn of %d bytes", n))
		}
		j.retire()
		j.current = j.spare[last]
		j.spare = j.spare[:last]
		j.generation++
		j.current.use = use{j.generation, rand.Uint64()}
	}
	f := j.current
	j.sequence++
	p := Place{Fd: f.fd, Offset: f.used, Bytes: t.seal(f.use, j.sequence), Generation: f.generation}
	f.used += n
	j.landed.Broadcast()
	return p
}

// retire puts the current file with the full ones. Under j.mu.
func (j *Journal) retire() {
	if j.current != nil {
		j.full = append(j.full, j.current)
		j.current = nil
	}
}

// Done says that the turn under way is written.
func (j *Journal) Done() {
	j.mu.Lock()
	j.done = j.sequence
	j.mu.Unlock()
	j.landed.Broadcast()
}

// Break says that the turn under way, if there is one, may never land: Cut does not wait for it.
func (j *Journal) Break() {
	j.mu.Lock()
	j.broken = true
	j.mu.Unlock()
	j.landed.Broadcast()
}

// Live is the lowest generation that holds what may not be in segment files yet; one that is not in use if there is
// none.
func (j *Journal) Live() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case len(j.full) > 0:
		return j.full[0].generation
	case j.current != nil:
		return j.current.generation
	}
	return j.generation + 1
}

// Full says that a file waits to be recycled.
func (j *Journal) Full() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.full) > 0
}

// Cut ends the current file, if everything says so or it is nearly full, waits until the turn under way is written, and
// returns the highest generation that takes no more turns, 0 if there is none. Once everything committed by then is in
// segment files, on the disk, it may be recycled.
func (j *Journal) Cut(everything bool) (generation uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.claimed && !j.broken {
		j.landed.Wait()
	}
	if f := j.current; f != nil && (everything || f.used >= f.size-f.size/4) {
		j.retire()
	}
	if n := len(j.full); n > 0 {
		generation = j.full[n-1].generation
	}
	for last := j.sequence; j.done < last && !j.broken; {
		j.landed.Wait()
	}
	return generation
}

// Recycle makes the files up to generation usable again: their content is made invalid first, on the disk.
func (j *Journal) Recycle(generation uint64) error {
	for {
		j.mu.Lock()
		if len(j.full) == 0 || j.full[0].generation > generation {
			j.mu.Unlock()
			return nil
		}
		f := j.full[0]
		j.mu.Unlock()
		if err := j.invalidate(f.fd); err != nil {
			return fmt.Errorf("recycle %s: %w", f.path, err)
		}
		j.mu.Lock()
		j.full = j.full[1:]
		f.used, f.use = 0, use{}
		if f.size < j.largest() {
			j.files--
			j.mu.Unlock()
			_ = j.remove(f)
			continue
		}
		j.spare = append(j.spare, f)
		j.mu.Unlock()
	}
}

// largest is the size of the largest file. Under j.mu.
func (j *Journal) largest() (size int64) {
	if j.current != nil {
		size = j.current.size
	}
	for _, f := range slices.Concat(j.full, j.spare) {
		size = max(size, f.size)
	}
	return size
}

// Wanting says that Prepare should be called: no file is spare, and the current one is half full.
func (j *Journal) Wanting() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.wanting()
}

func (j *Journal) wanting() bool {
	return len(j.spare) == 0 && j.files < MaxFiles && (j.current == nil || j.current.used >= j.current.size/2)
}

// Prepare makes a file if one is wanting. Blocking: it writes the whole file.
func (j *Journal) Prepare() error {
	j.mu.Lock()
	if !j.wanting() {
		j.mu.Unlock()
		return nil
	}
	size := int64(firstBytes)
	if l := j.largest(); l > 0 {
		size = l * growth
	}
	size = min(size, j.limit)
	j.names++
	path := filepath.Join(j.dir, fmt.Sprintf("%08d", j.names))
	j.files++
	j.mu.Unlock()
	f, err := j.create(path, size)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.files--
		return fmt.Errorf("journal file: %w", err)
	}
	j.spare = append(j.spare, f)
	return nil
}

// Close removes the files. Everything in them is in segment files, on the disk; else they are left for the next start,
// if keep says so. No turn is under way.
func (j *Journal) Close(keep bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.retire()
	var first error
	for _, f := range slices.Concat(j.full, j.spare) {
		if keep {
			unix.Close(f.fd)
			continue
		}
		if err := j.remove(f); err != nil && first == nil {
			first = err
		}
	}
	j.full, j.spare = nil, nil
	return first
}
