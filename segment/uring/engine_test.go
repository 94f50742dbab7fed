package uring

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// engines runs a test on each engine of this build.
func engines(t *testing.T, f func(t *testing.T, e Engine)) {
	for _, kind := range []string{"ring", "pwritev2"} {
		e, _, err := New(kind, 4)
		if err != nil {
			t.Logf("%s: not here: %v", kind, err)
			continue
		}
		t.Run(kind, func(t *testing.T) { f(t, e) })
	}
}

// owned runs f on a goroutine of its own, as an engine's owner has to be.
func owned(t *testing.T, e Engine, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		if err := e.Start(); err != nil {
			done <- err
			return
		}
		f()
		e.Close()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func collect(t *testing.T, e Engine, n int) (done []*Op) {
	for len(done) < n {
		var err error
		if done, err = e.Wait(done); err != nil {
			t.Error(err)
			return done
		}
	}
	return done
}

func tempFile(t *testing.T) *os.File {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Many more operations than the ring has entries, so that it wraps, of mixed kinds: nothing of one operation must stay
// behind for the next.
func TestWritesReachTheFileWhileTheRingWraps(t *testing.T) {
	engines(t, func(t *testing.T, e Engine) {
		f := tempFile(t)
		want := make([]byte, 300*4096)
		owned(t, e, func() {
			r := rand.New(rand.NewPCG(1, 1))
			free := make([]*Op, 4)
			for i := range free {
				free[i] = &Op{}
			}
			for i := 0; i < 300; {
				for len(free) > 0 && i < 300 {
					op := free[0]
					free = free[1:]
					*op = Op{Fd: int(f.Fd()), Off: int64(i) * 4096, Durable: r.IntN(2) == 0}
					if r.IntN(5) == 0 {
						op.Kind = Datasync
					} else {
						block := want[i*4096 : (i+1)*4096]
						for j := range block {
							block[j] = byte(r.Uint32())
						}
						at := 1 + r.IntN(4094)
						op.Iov = []unix.Iovec{Iovec(block[:at]), Iovec(block[at:])}
						op.Bytes = 4096
						i++
					}
					e.Queue(op)
				}
				for _, op := range collect(t, e, 1) {
					if op.Err != nil {
						t.Error(op.Err)
					}
					free = append(free, op)
				}
			}
			collect(t, e, 4-len(free))
		})
		got, err := os.ReadFile(f.Name())
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("file differs, %v", err)
		}
	})
}

func TestFailureIsReportedOnItsOperation(t *testing.T) {
	engines(t, func(t *testing.T, e Engine) {
		f := tempFile(t)
		b := make([]byte, 100)
		owned(t, e, func() {
			good := &Op{Fd: int(f.Fd()), Iov: []unix.Iovec{Iovec(b)}, Bytes: 100}
			bad := &Op{Fd: 1 << 20, // no such descriptor
				Iov: []unix.Iovec{Iovec(b)}, Bytes: 100}
			e.Queue(bad)
			e.Queue(good)
			collect(t, e, 2)
			if good.Err != nil || !errors.Is(bad.Err, unix.EBADF) {
				t.Errorf("good %v, bad %v", good.Err, bad.Err)
			}
		})
	})
}

// A limit on the file size makes the kernel write less than it was asked for.
func TestShortWriteIsContinuedAndThenFails(t *testing.T) {
	op := &Op{Off: 0, Bytes: 20_000, Iov: []unix.Iovec{Iovec(make([]byte, 5000)), Iovec(make([]byte, 15_000))}}
	if op.advance(9000) {
		t.Fatal("finished after 9000 bytes")
	}
	if op.Off != 8192 || op.done != 8192 || len(op.Iov) != 1 || op.Iov[0].Len != 20_000-8192 {
		t.Errorf("continues at %d with %d bytes in %d iovecs", op.Off, op.Iov[0].Len, len(op.Iov))
	}
	if !op.advance(100) || !errors.Is(op.Err, unix.EIO) {
		t.Errorf("no progress: %v", op.Err)
	}
	op = &Op{Off: 4096, Bytes: 8192, Iov: []unix.Iovec{Iovec(make([]byte, 8192))}}
	if op.advance(4096) || !op.advance(4096) || op.Err != nil {
		t.Errorf("two halves: %v", op.Err)
	}
}

func TestWakeEndsWait(t *testing.T) {
	engines(t, func(t *testing.T, e Engine) {
		const rounds = 500
		var woken atomic.Int64
		go func() {
			for i := int64(0); i < rounds; {
				e.Wake()
				if w := woken.Load(); w > i {
					i = w
				}
				runtime.Gosched()
			}
		}()
		owned(t, e, func() {
			for woken.Load() < rounds {
				if done, err := e.Wait(nil); err != nil || len(done) > 0 {
					t.Error(len(done), err)
					return
				}
				woken.Add(1)
			}
		})
	})
}

// Buffers must survive collections while they are under way.
func TestBuffersSurviveCollection(t *testing.T) {
	engines(t, func(t *testing.T, e Engine) {
		f := tempFile(t)
		owned(t, e, func() {
			for i := range 100 {
				func() {
					b := bytes.Repeat([]byte{byte(i)}, 10_000)
					e.Queue(&Op{Fd: int(f.Fd()), Off: int64(i) * 10_000, Iov: []unix.Iovec{Iovec(b)}, Bytes: len(b)})
				}()
				if i%10 == 0 {
					runtime.GC()
				}
				collect(t, e, 1)
			}
		})
		got, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range got {
			if c != byte(i/10_000) {
				t.Fatalf("byte %d is %d", i, c)
			}
		}
	})
}

func TestChoice(t *testing.T) {
	if _, _, err := New("steam", 4); err == nil {
		t.Error("unknown engine accepted")
	}
	e, why, err := New("auto", 4)
	if err != nil || why == "" {
		t.Fatal(why, err)
	}
	if name := e.Name(); name != "ring" && name != "pwritev2" {
		t.Error(name)
	}
	fmt.Fprintln(os.Stderr, "auto:", e.Name(), why)
}

// Who has handed something in may come to ring when the owner has done it, and ended.
func TestWakeAfterCloseTouchesNothing(t *testing.T) {
	engines(t, func(t *testing.T, e Engine) {
		owned(t, e, func() {})
		var later []int // one of them has the number of the engine's doorbell
		for range 8 {
			fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fd)
			later = append(later, fd)
		}
		e.Wake()
		for _, fd := range later {
			if n, err := unix.Read(fd, make([]byte, 8)); err != unix.EAGAIN {
				t.Errorf("descriptor %d: %d bytes were written, %v", fd, n, err)
			}
		}
	})
}
