package cold

import (
	"math/rand"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

func byteAt(pos int64) byte { return byte(uint64(pos) * 2654435761 >> 13) }

// testFile makes a file of size bytes and opens it for a cache. A file system without O_DIRECT reads it as it can.
func testFile(t *testing.T, c *Cache, size int) *File {
	t.Helper()
	b := make([]byte, size)
	for i := range b {
		b[i] = byteAt(int64(i))
	}
	path := filepath.Join(t.TempDir(), "segment")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	o, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	f := new(File)
	f.Open(c, int(o.Fd()))
	if f.open() < 0 {
		d, err := unix.Dup(int(o.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		f.direct.Store(int32(d))
	}
	t.Cleanup(f.Close)
	f.Written(int64(size))
	return f
}

func check(t *testing.T, mem []byte, off int64) {
	t.Helper()
	for i, v := range mem {
		if v != byteAt(off+int64(i)) {
			t.Fatalf("byte %d of %d at %d is wrong", i, len(mem), off)
		}
	}
}

func TestLoadHandsOutWhatTheFileHas(t *testing.T) {
	const size = 3<<20 + 1234
	c := New(8 << 20)
	for _, off := range []int64{0, 1, 4095, 4096, BlockSize - 1, BlockSize, 2*BlockSize + 777, 3 << 20, size - 1} {
		for _, need := range []int{1, 16 << 10, 200 << 10, BlockSize} {
			f := testFile(t, c, size)
			if mem, _ := f.Cached(off); mem != nil {
				t.Fatal("in memory before it was read")
			}
			mem, hold := f.Load(off, need, false)
			end := min(off&^(BlockSize-1)+BlockSize, size)
			if want := min(int64(need), end-off); int64(len(mem)) < want || off+int64(len(mem)) > end {
				t.Fatalf("%d bytes for %d at %d", len(mem), need, off)
			}
			check(t, mem, off)
			again, hold2 := f.Cached(off)
			if len(again) != len(mem) || &again[0] != &mem[0] {
				t.Fatal("not found again")
			}
			var few [100]byte
			if n := f.Copy(few[:], off); n != min(len(few), len(mem)) {
				t.Fatalf("copied %d bytes", n)
			}
			hold.Release()
			hold2.Spent()
		}
	}
	f := testFile(t, c, size)
	if mem, _ := f.Load(size, 1, false); mem != nil {
		t.Fatal("bytes behind the end")
	}
	var none File
	if mem, _ := none.Load(0, 1, false); mem != nil {
		t.Fatal("bytes of no file")
	}
}

// A reader that goes on gets the rest of a block after a small beginning, and reads it once.
func TestAReaderThatGoesOnReadsEachByteOnce(t *testing.T) {
	c := New(8 << 20)
	f := testFile(t, c, 4<<20)
	for off := int64(300_000); off < 4<<20; {
		mem, hold := f.Load(off, 10_000, false)
		if hold == nil {
			t.Fatalf("nothing at %d", off)
		}
		mem = mem[:min(len(mem), 10_000)]
		check(t, mem, off)
		off += int64(len(mem))
		hold.Release()
	}
	if s := c.Stats(); s.Bytes > 4<<20 || s.Reads > 9 {
		t.Errorf("%d bytes in %d reads", s.Bytes, s.Reads)
	}
}

func TestBytesThatMayChangeAreNotHandedOut(t *testing.T) {
	c := New(4 << 20)
	f := testFile(t, c, 1<<20)
	f.written.Store(100_000)
	mem, hold := f.Load(0, BlockSize, false)
	if len(mem) != 100_000 {
		t.Fatalf("%d bytes of 100,000 that are written", len(mem))
	}
	hold.Release()
	if mem, _ := f.Load(100_000, 1, false); mem != nil {
		t.Fatal("bytes that are not written")
	}
	f.Written(200_000)
	f.Written(150_000) // an older look
	mem, hold = f.Load(100_000, 1, false)
	if len(mem) != 100_000 {
		t.Fatalf("%d bytes of 100,000 that were written since", len(mem))
	}
	check(t, mem, 100_000)
	hold.Release()
}

func TestAFileThatIsShorterThanItsOwnerThinks(t *testing.T) {
	c := New(4 << 20)
	f := testFile(t, c, 100_000)
	f.Written(3 << 20)
	mem, hold := f.Load(0, BlockSize, false)
	if len(mem) != 100_000 {
		t.Fatalf("%d bytes of a file of 100,000", len(mem))
	}
	hold.Release()
	for range 3 {
		for _, off := range []int64{100_000, BlockSize, 2 * BlockSize} {
			if mem, _ := f.Load(off, 10, false); mem != nil {
				t.Fatalf("bytes at %d of a file of 100,000", off)
			}
		}
	}
}

func TestMemoryIsBoundedAndNobodyWaitsForIt(t *testing.T) {
	c := New(2 << 20)
	f := testFile(t, c, 5<<20)
	_, one := f.Load(0, 1, false)
	_, two := f.Load(BlockSize, 1, false)
	if mem, _ := f.Load(2*BlockSize, 1, false); mem != nil {
		t.Fatal("memory beyond the budget")
	}
	one.Release()
	mem, three := f.Load(2*BlockSize, 1, false)
	check(t, mem, 2*BlockSize)
	if mem, _ := f.Cached(0); mem != nil {
		t.Fatal("found in memory that is another's")
	}
	two.Release()
	three.Release()
	if s := c.Stats(); s.Full != 1 || s.Resident != 2<<20 {
		t.Errorf("%+v", s)
	}
}

// What somebody has read ahead is not taken by somebody else's reading ahead, only by need.
func TestReadingAheadDoesNotDisplaceWhatWasReadAhead(t *testing.T) {
	c := New(1 << 20)
	f := testFile(t, c, 3<<20)
	_, hold := f.Load(0, BlockSize, true)
	hold.Release()
	if mem, _ := f.Load(BlockSize, BlockSize, true); mem != nil {
		t.Fatal("displaced")
	}
	if _, hold = f.Load(2*BlockSize, 1, false); hold == nil {
		t.Fatal("in the way of somebody who needs the memory")
	}
	hold.Release()
}

func TestWhatIsReadOftenIsLeftToThePageCache(t *testing.T) {
	c := New(1 << 20)
	f := testFile(t, c, 2<<20)
	for i := range 2 * directReads {
		_, hold := f.Load(int64(i%2)*BlockSize, BlockSize, false)
		if hold == nil {
			t.Fatalf("reading %d declined", i)
		}
		hold.Release()
	}
	if mem, _ := f.Load(0, BlockSize, false); mem != nil {
		t.Fatal("read again and again past the page cache")
	}
	if s := c.Stats(); s.Often != 1 {
		t.Errorf("%+v", s)
	}
}

func TestHalvesOfABlockReadApartAreOneReadingOfIt(t *testing.T) {
	c := New(1 << 20)
	f := testFile(t, c, 2<<20)
	for i := range directReads - 1 { // the halves overlap, so that it is not the full number
		for _, off := range []int64{0, BlockSize / 2} {
			_, hold := f.Load(off, BlockSize/2, false)
			if hold == nil {
				t.Fatalf("reading %d at %d declined", i, off)
			}
			hold.Release()
			_, hold = f.Load(BlockSize, 1, false) // takes the memory
			hold.Release()
		}
	}
}

func TestWhatWasReadForEverStaysWithThePageCache(t *testing.T) {
	var f File
	for range 1<<32/BlockSize + 1 {
		f.count(0, BlockSize)
	}
	if f.admit(0) {
		t.Error("a block is read past the page cache again after 4 GiB")
	}
}

func TestIdleMemoryIsGivenBack(t *testing.T) {
	c := New(4 << 20)
	f := testFile(t, c, 4<<20)
	_, held := f.Load(0, BlockSize, false)
	for i := range int64(3) {
		_, hold := f.Load((i+1)*BlockSize, BlockSize, false)
		hold.Release()
	}
	c.trim() // all of it is young
	if n := c.Stats().Resident; n != 4<<20 {
		t.Fatalf("%d bytes resident", n)
	}
	c.trim()
	if n := c.Stats().Resident; n != 1<<20 {
		t.Fatalf("%d bytes resident, want the block that is held", n)
	}
	held.Release()
	mem, hold := f.Load(BlockSize, BlockSize, false)
	check(t, mem, BlockSize)
	hold.Release()
}

func TestManyReadersOfManyFilesInLittleMemory(t *testing.T) {
	c := New(6 << 20)
	var files []*File
	for range 3 {
		files = append(files, testFile(t, c, 4<<20+999))
	}
	var some atomic.Int64
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewSource(int64(g)))
			for range 200 {
				f := files[r.Intn(len(files))]
				off := int64(r.Intn(4 << 20))
				mem, hold := f.Load(off, 1+r.Intn(300_000), r.Intn(2) == 0)
				if hold == nil {
					c.mu.Lock()
					clear(f.reads) // else all is left to the page cache soon
					c.mu.Unlock()
					continue
				}
				some.Add(1)
				for i := 0; i < len(mem); i += 1009 {
					if mem[i] != byteAt(off+int64(i)) {
						t.Errorf("byte %d at %d is wrong", i, off)
						break
					}
				}
				if r.Intn(2) == 0 {
					hold.Spent()
				} else {
					hold.Release()
				}
				if r.Intn(50) == 0 {
					c.trim()
				}
			}
		})
	}
	wg.Wait()
	if some.Load() == 0 {
		t.Error("nothing was read")
	}
	for _, b := range c.all {
		if b.pins != 0 || b.loading {
			t.Errorf("a block is held %d times, loading %v", b.pins, b.loading)
		}
	}
}
