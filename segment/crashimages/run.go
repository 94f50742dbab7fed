package crashimages

import (
	"encoding/gob"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"millrace/segment"
	"millrace/segment/segmenttest"
)

// Options of Run.
type Options struct {
	Images      int    // how many at least, over all scenarios
	Seed        uint64 // of the scenarios and the choice of images
	Dir         string // for the files of runs and images; best in memory
	Workers     int
	Scenario    string // empty: all
	Independent bool   // changes of directories may be lost out of order
}

// perRecording is how many images are taken from one run: more runs tell more than more images of one.
const perRecording = 1000

// In one of nestedEvery images the recovery is recorded, too, and nestedImages are taken from it.
const (
	nestedEvery  = 40
	nestedImages = 25
)

// Count is what was looked at.
type Count struct {
	Runs   int
	Images int // different ones, each with what must hold
	Nested int // of these in or after a recovery
}

// then is what is done with a recovered image after it was looked at.
type then int

const (
	nothing         then = iota
	again                // it is killed and recovered again
	appendThenAgain      // something is appended to each log, and then the same
)

// Violation is an image that does not hold what was promised, and all that is needed to see it again.
type Violation struct {
	Scenario  string
	Seed      uint64
	Recording *segmenttest.Recording
	Facts     *Facts
	At        int
	Choice    segmenttest.Choice
	Then      then // after the first recovery
	Problem   string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("%s, seed %d: crash at position %d of %d, %+v: %s", v.Scenario, v.Seed, v.At, v.Recording.Positions()-1,
		v.Choice, v.Problem)
}

// Save keeps a violation in a file, for Replay.
func (v *Violation) Save(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return gob.NewEncoder(f).Encode(v)
}

// Replay checks the image of a file that Save has made, in the directory dir. events is what came before the crash.
func Replay(file, dir string) (events string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var v Violation
	if err := gob.NewDecoder(f).Decode(&v); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	c := v.Recording.Crash(v.At)
	events = c.Describe()
	if err := c.Image(v.Choice).WriteTo(dir); err != nil {
		return events, err
	}
	if problem := (&checker{facts: v.Facts}).recover(dir, v.At, v.Then); problem != nil {
		v.Problem = problem.Error()
		return events, &v
	}
	return events, nil
}

// Run looks at images until there are enough, or one is wrong: then it returns a *Violation.
func Run(o Options) (map[string]*Count, error) {
	r := &runner{o: o, counts: map[string]*Count{}}
	for _, s := range scenarios {
		if o.Scenario == "" || o.Scenario == s.name {
			r.counts[s.name] = &Count{}
			r.chosen = append(r.chosen, s.name)
		}
	}
	if len(r.chosen) == 0 {
		return nil, fmt.Errorf("no scenario %q", o.Scenario)
	}
	var wg sync.WaitGroup
	for range max(o.Workers, 1) {
		wg.Go(func() {
			for !r.stop.Load() {
				r.one(int(r.next.Add(1) - 1))
			}
		})
	}
	wg.Wait()
	return r.counts, r.err
}

type runner struct {
	o      Options
	chosen []string
	next   atomic.Int64
	stop   atomic.Bool

	mu     sync.Mutex
	counts map[string]*Count
	images int
	err    error
}

// one runs a scenario and takes images from it.
func (r *runner) one(n int) {
	name := r.chosen[n%len(r.chosen)]
	seed := r.o.Seed + uint64(n)
	dir := filepath.Join(r.o.Dir, fmt.Sprintf("run-%d", n))
	c := &checker{scenario: name, seed: seed, dir: dir, independent: r.o.Independent, seen: map[uint64]bool{}}
	limit := min(perRecording, max(r.o.Images/(len(r.chosen)*3), 1))
	err := c.run(limit)
	os.RemoveAll(dir)
	r.mu.Lock()
	defer r.mu.Unlock()
	count := r.counts[name]
	count.Runs++
	count.Images += c.count.Images
	count.Nested += c.count.Nested
	r.images += c.count.Images
	if err != nil && r.err == nil {
		r.err = err
	}
	if r.err != nil || r.images >= r.o.Images {
		r.stop.Store(true)
	}
}

// checker takes images from one run.
type checker struct {
	scenario    string
	seed        uint64
	dir         string
	independent bool
	own         func(w *world)    // instead of a scenario
	before      func(path string) // makes what is on the disk when the run begins; nil: nothing
	facts       *Facts
	seen        map[uint64]bool // images with what must hold of them
	count       Count
}

// run records the scenario and checks up to limit images.
func (c *checker) run(limit int) error {
	path := filepath.Join(c.dir, "log")
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	if c.before != nil {
		c.before(path)
	}
	w, err := newWorld(path, c.seed)
	if err != nil {
		return err
	}
	if err := w.play(c.script()); err != nil {
		return fmt.Errorf("%s, seed %d: the run itself fails: %w", c.scenario, c.seed, err)
	}
	recording := w.rec.Recording()
	w.finish()
	c.facts = w.facts
	if err := w.dir.Close(); err != nil {
		return fmt.Errorf("%s, seed %d: %w", c.scenario, c.seed, err)
	}
	os.RemoveAll(path)
	return c.images(recording, w.from, limit, true)
}

// script is what the scenario of that name does.
func (c *checker) script() func(w *world) {
	for _, s := range scenarios {
		if s.name == c.scenario {
			return s.run
		}
	}
	return c.own
}

func (w *world) play(script func(w *world)) (err error) {
	defer func() {
		if f, ok := recover().(failure); ok {
			err = f.error
		}
	}()
	script(w)
	return nil
}

// finish makes the facts complete. Nothing may be acknowledged any more that the recording does not have; what is, is at
// a position behind it.
func (w *world) finish() {
	for _, l := range w.logs {
		l.noteDrops()
	}
}

type spot struct {
	at     int
	choice segmenttest.Choice
}

// images checks images of crashes at positions from first on, limit of them, or all there are at as many positions.
func (c *checker) images(rec *segmenttest.Recording, first, limit int, nest bool) error {
	rnd := rand.New(rand.NewPCG(c.seed, 2))
	positions := rnd.Perm(rec.Positions() - first)
	positions = positions[:min(len(positions), limit)]
	var spots []spot
	for _, at := range positions {
		for _, ch := range rec.Crash(first+at).Choices(c.seed, c.independent) {
			spots = append(spots, spot{first + at, ch})
		}
	}
	rnd.Shuffle(len(spots), func(i, j int) { spots[i], spots[j] = spots[j], spots[i] })
	for done := 0; len(spots) > 0 && done < limit; {
		some := spots[:min(len(spots), limit-done)]
		spots = spots[len(some):]
		slices.SortStableFunc(some, func(a, b spot) int { return a.at - b.at }) // what a crash leaves is worked out once
		n, err := c.some(rec, some, done, nest)
		if err != nil {
			return err
		}
		done += n
	}
	return nil
}

// some checks images, ordered by position, but for those that were seen before, and says how many.
func (c *checker) some(rec *segmenttest.Recording, spots []spot, done int, nest bool) (n int, err error) {
	crash := rec.Crash(spots[0].at)
	for _, s := range spots {
		if crash.At != s.at {
			crash = rec.Crash(s.at)
		}
		img := crash.Image(s.choice)
		key := img.Hash() ^ c.facts.hash(s.at)
		if c.seen[key] {
			continue
		}
		c.seen[key] = true
		n++
		c.count.Images++
		if err := c.image(rec, s, img, done+n, nest); err != nil {
			return n, err
		}
	}
	return n, nil
}

// image checks one.
func (c *checker) image(rec *segmenttest.Recording, s spot, img *segmenttest.Image, n int, nest bool) error {
	dir := filepath.Join(c.dir, fmt.Sprintf("image-%d", c.count.Images))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := img.WriteTo(dir); err != nil {
		return err
	}
	if nest && n%nestedEvery == 0 {
		if err := c.nested(rec, s, dir); err != nil {
			return err
		}
		return nil
	}
	then := then(n % 3)
	if problem := c.recover(dir, s.at, then); problem != nil {
		return &Violation{c.scenario, c.seed, rec, c.facts, s.at, s.choice, then, problem.Error()}
	}
	return nil
}

// recover recovers a dir, checks it, and goes on as then says.
func (c *checker) recover(dir string, at int, then then) error {
	disk := &segmenttest.Loose{}
	first, err := c.recoverAndCheck(dir, disk, at, nil)
	defer func() {
		disk.Kill()
		if first != nil {
			first.dir.Close()
		}
	}()
	if err != nil || then == nothing {
		return err
	}
	if then == appendThenAgain {
		if err := first.appendToAll(); err != nil {
			return err
		}
	}
	disk.Kill()
	if err := first.dir.Close(); err != nil {
		return fmt.Errorf("close after recovery: %w", err)
	}
	disk = &segmenttest.Loose{}
	second, err := c.facts.recover(dir, disk, at, nil)
	if second != nil {
		defer func() {
			disk.Kill()
			second.dir.Close()
		}()
	}
	if err != nil {
		return fmt.Errorf("second recovery: %w", err)
	}
	for l, s := range first.states {
		appended := 0
		if then == appendThenAgain && l.Config.Durability != segment.Async {
			appended = 1
		}
		if err := same(s, second.states[l], appended); err != nil {
			return fmt.Errorf("%s: second recovery: %w", l.Topic, err)
		}
	}
	return nil
}

func (c *checker) recoverAndCheck(dir string, disk segment.Disk, at int, durable func(*LogFacts, int64)) (*recovered, error) {
	r, err := c.facts.recover(dir, disk, at, durable)
	if err != nil {
		return r, err
	}
	if c.facts.clean(at) && !r.dir.WasClean() {
		return r, errNotClean
	}
	for l, s := range r.states {
		if err := l.check(s, at); err != nil {
			return r, err
		}
	}
	return r, nil
}

var errNotClean = errors.New("a clean shutdown is not seen")
