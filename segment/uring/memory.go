package uring

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Iovec describes b to the kernel. b must stay where it is (mapped memory or a heap object that is kept
// reachable) until the operation is done; it must not be empty.
func Iovec(b []byte) unix.Iovec {
	return unix.Iovec{Base: &b[0], Len: uint64(len(b))}
}

func addBase(p *byte, n int) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(p), n)) }

// Bytes is the memory an iovec describes, for wrappers of an engine. Valid as long as that memory is.
func Bytes(v unix.Iovec) []byte { return unsafe.Slice(v.Base, v.Len) }
