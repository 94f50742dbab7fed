package segmenttest

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"

	"golang.org/x/sys/unix"
)

// Choice says what of the pending changes has reached the disk in one image of a crash.
type Choice struct {
	Kind string // for people, and for the switch in Image
	A, B int
	Seed uint64
}

// Kinds of choices. Changes of directories reach the disk in order, as a journaling file system has it, unless
// the kind says otherwise.
const (
	contentsAndNames  = "last names lost, contents there"         // A: how many of the last changes of directories are missing
	onlyNames         = "last names lost, contents lost"          // A: as before
	oneLost           = "one content lost"                        // A: index in pending
	oneThere          = "one content there"                       // A: index in pending; B: 1 with all names
	tornFront         = "write torn, front there"                 // A: index in pending; B: sectors
	tornBack          = "write torn, back there"                  // A, B: as before
	random            = "random"                                  // Seed
	oneNameLost       = "one name lost, independent"              // A: index in names; not in order
	oneNameThere      = "one name there, independent"             // A: index in names; not in order
	randomIndependent = "random, directories without their order" // Seed
)

// Choices lists images of the crash that are worth a look: all and nothing, each change alone lost, each alone there, the
// last write torn at each sector, and some at random. With independent, changes of directories may be lost out of order.
func (c *Crash) Choices(seed uint64, independent bool) (out []Choice) {
	for cut := range len(c.names) - c.first + 1 {
		out = append(out, Choice{Kind: contentsAndNames, A: cut}, Choice{Kind: onlyNames, A: cut})
	}
	last := -1
	for i, j := range c.pending {
		out = append(out, Choice{Kind: oneLost, A: i}, Choice{Kind: oneThere, A: i}, Choice{Kind: oneThere, A: i, B: 1})
		if c.rec.Events[j].sectors() > 1 {
			last = i
		}
	}
	if last >= 0 {
		for n := 1; n < c.rec.Events[c.pending[last]].sectors(); n++ {
			out = append(out, Choice{Kind: tornFront, A: last, B: n}, Choice{Kind: tornBack, A: last, B: n})
		}
	}
	open := len(c.names) + len(c.pending)
	if open > 1 {
		for i := range min(4+2*open, 24) {
			out = append(out, Choice{Kind: random, Seed: seed + uint64(c.At)<<16 + uint64(i)})
		}
	}
	if !independent {
		return out
	}
	for i := range c.names {
		out = append(out, Choice{Kind: oneNameLost, A: i}, Choice{Kind: oneNameThere, A: i})
	}
	if len(c.names) > 1 {
		for i := range 8 {
			out = append(out, Choice{Kind: randomIndependent, Seed: seed + uint64(c.At)<<16 + uint64(i)})
		}
	}
	return out
}

// Image is what is on the disk after a crash.
type Image struct {
	paths map[string]*content
	dirs  []string // parents first
}

// Image makes the image of a choice.
func (c *Crash) Image(ch Choice) *Image {
	rnd := rand.New(rand.NewPCG(ch.Seed, uint64(c.At)))
	return c.assemble(c.namesOf(ch, rnd), c.contentsOf(ch, rnd))
}

// namesOf says which pending change of a directory, by its index in names, is there.
func (c *Crash) namesOf(ch Choice, rnd *rand.Rand) func(i int) bool {
	n := len(c.names)
	switch ch.Kind {
	case contentsAndNames, onlyNames:
		return func(i int) bool { return i < n-ch.A }
	case oneThere:
		return func(i int) bool { return ch.B == 1 || i < c.first }
	case random:
		cut := c.first + rnd.IntN(n-c.first+1)
		return func(i int) bool { return i < cut }
	case oneNameLost:
		return func(i int) bool { return i != ch.A }
	case oneNameThere:
		return func(i int) bool { return i == ch.A }
	case randomIndependent:
		there := make([]bool, n)
		for i := range there {
			there[i] = rnd.IntN(2) == 0
		}
		return func(i int) bool { return there[i] }
	}
	return func(int) bool { return true }
}

// contentsOf applies to a file what of a pending change, by its index in pending, is there.
func (c *Crash) contentsOf(ch Choice, rnd *rand.Rand) func(f *content, i int, e *event) {
	whole := func(there func(i int) bool) func(f *content, i int, e *event) {
		return func(f *content, i int, e *event) {
			if there(i) {
				f.apply(e)
			}
		}
	}
	switch ch.Kind {
	case onlyNames:
		return whole(func(int) bool { return false })
	case oneLost:
		return whole(func(i int) bool { return i != ch.A })
	case oneThere, oneNameThere:
		return whole(func(i int) bool { return ch.Kind == oneThere && i == ch.A })
	case tornFront, tornBack:
		return func(f *content, i int, e *event) {
			if i != ch.A {
				f.apply(e)
				return
			}
			f.applyPart(e, ch.B%2 == 0, func(s int) bool { return s < ch.B == (ch.Kind == tornFront) })
		}
	case random, randomIndependent:
		return func(f *content, _ int, e *event) { f.applyRandom(e, rnd) }
	}
	return whole(func(int) bool { return true })
}

func (c *content) applyRandom(e *event, rnd *rand.Rand) {
	n := e.sectors()
	switch how := rnd.IntN(4); {
	case how == 0 || n == 1 && how == 1:
	case how == 1:
		first := rnd.IntN(n)
		c.applyPart(e, rnd.IntN(2) == 0, func(s int) bool { return s >= first })
	case how == 2 && n > 1:
		there := rnd.Uint64()
		c.applyPart(e, rnd.IntN(2) == 0, func(s int) bool { return there>>(s%64)&1 != 0 })
	default:
		c.apply(e)
	}
}

// assemble puts names and contents together.
func (c *Crash) assemble(named func(i int) bool, change func(f *content, i int, e *event)) *Image {
	events := c.rec.Events
	names, dirs, at := tree{}, map[int]bool{}, 0
	for i := range events[:c.At] {
		e := &events[i]
		if !e.ofNames() {
			continue
		}
		if e.Dir {
			dirs[e.Node] = true
		}
		pending := at < len(c.names) && c.names[at] == i
		if !pending || named(at) {
			names.apply(e)
		}
		if pending {
			at++
		}
	}
	contents := map[int]*content{}
	for id, f := range c.files {
		if len(f.then) == 0 {
			contents[id] = &f.base
		} else {
			contents[id] = &content{append([]byte(nil), f.base.data...), f.base.size}
		}
	}
	// In the order of events, so that what is random is the same each time.
	at = 0
	for i := range events[:c.At] {
		e := &events[i]
		if !e.ofContent() {
			continue
		}
		pending := at < len(c.pending) && c.pending[at] == i
		if pending {
			change(contents[e.Node], at, e)
			at++
		} else if c.mustBe[i] {
			contents[e.Node].apply(e)
		}
	}
	img := &Image{paths: map[string]*content{}}
	img.collect(names.children(), dirs, contents, 0, "")
	return img
}

type child struct {
	name string
	node int
}

func (t tree) children() map[int][]child {
	out := map[int][]child{}
	for e, id := range t {
		out[e.Dir] = append(out[e.Dir], child{e.Name, id})
	}
	return out
}

func (img *Image) collect(children map[int][]child, dirs map[int]bool, contents map[int]*content, dir int, prefix string) {
	for _, c := range children[dir] {
		path := prefix + c.name
		switch {
		case dirs[c.node]:
			img.dirs = append(img.dirs, path)
			img.collect(children, dirs, contents, c.node, path+"/")
		case contents[c.node] != nil:
			img.paths[path] = contents[c.node]
		default:
			img.paths[path] = &content{}
		}
	}
}

var hashSeed = maphash.MakeSeed()

// Hash tells images apart. It is another one in each process.
func (img *Image) Hash() (sum uint64) {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	for _, d := range img.dirs {
		h.Reset()
		h.WriteString(d)
		sum += h.Sum64()
	}
	for path, f := range img.paths {
		h.Reset()
		h.WriteString(path)
		fmt.Fprintf(&h, " %d ", f.size)
		h.Write(f.data)
		sum += h.Sum64()
	}
	return sum
}

// WriteTo makes the image's files in an empty directory.
func (img *Image) WriteTo(dir string) error {
	for _, d := range img.dirs {
		if err := unix.Mkdir(dir+"/"+d, 0o755); err != nil {
			return fmt.Errorf("image: mkdir %s: %w", d, err)
		}
	}
	for path, f := range img.paths {
		if err := f.writeTo(dir + "/" + path); err != nil {
			return fmt.Errorf("image: %s: %w", path, err)
		}
	}
	return nil
}

func (c *content) writeTo(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if len(c.data) > 0 {
		if n, err := unix.Pwrite(fd, c.data, 0); err != nil || n != len(c.data) {
			return fmt.Errorf("%d of %d bytes written: %w", n, len(c.data), err)
		}
	}
	if c.size != int64(len(c.data)) {
		return unix.Ftruncate(fd, c.size)
	}
	return nil
}
