package server

import (
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Bells lets a goroutine that is about to answer many requests wake each event loop once, afterwards. Otherwise the first
// answer wakes a loop, which on a busy core takes the answering thread's place, finds one answer, and is woken again for
// the next. Hold and Release go in pairs; several goroutines may use them, but one at a time has the benefit.
type Bells struct {
	holder  atomic.Int32 // thread id; 0: nobody
	waiting []*loop      // to be rung by the holder; its thread only
}

// Hold puts off what the calling goroutine would ring until Release. It must not wait for anything in between: loops may
// wait for it.
func (b *Bells) Hold() {
	runtime.LockOSThread()
	b.holder.CompareAndSwap(0, thread())
}

// Release rings what was put off.
func (b *Bells) Release() {
	if b.mine() {
		for i, l := range b.waiting {
			l.sendBell()
			b.waiting[i] = nil
		}
		b.waiting = b.waiting[:0]
		b.holder.Store(0)
	}
	runtime.UnlockOSThread()
}

// putOff takes over the ring of l if the calling goroutine has said Hold.
func (b *Bells) putOff(l *loop) bool {
	if b == nil || !b.mine() {
		return false
	}
	b.waiting = append(b.waiting, l)
	return true
}

func (b *Bells) mine() bool {
	h := b.holder.Load()
	return h != 0 && h == thread()
}

func thread() int32 { return int32(unix.Gettid()) }
