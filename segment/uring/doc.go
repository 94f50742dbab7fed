// Package uring carries writes to files: many in flight, completions collected by the one goroutine that
// owns the engine.
//
// Two engines stand behind one interface. The ring (build tag uring, ring_linux.go) submits with one
// io_uring_enter per turn. The other (pwrite.go) calls pwritev2 from a few goroutines; it is there where io_uring is
// forbidden or not built in, and as the tests' oracle.
//
// Ownership: one goroutine calls Start, Queue, Wait and Close, in that order, and stays on its OS thread in
// between (Start locks it). Wake is for any goroutine. An Op belongs to the engine from Queue until Wait returns it:
// the engine keeps it reachable, and the memory its iovecs point to must neither move nor change nor be unmapped until
// then.
//
// A write counts as done when all its bytes were written: short writes are continued inside. A continuation starts at an
// aligned position, so that it is valid for files opened with O_DIRECT.
//
// giouring as published has bugs that corrupt data; the rules that avoid them are stated where they are kept, in
// ring_linux.go.
package uring
